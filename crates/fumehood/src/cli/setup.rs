//! `setup`: what to put into the settings of an agent.

use std::path::Path;
use std::process::ExitCode;

use fumehood_core::{Code, Shown};

use super::args::{Client, SetupArgs};
use super::output;
use crate::fault::Fault;

pub(super) fn setup(args: &SetupArgs) -> Result<ExitCode, Fault> {
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("where this program is cannot be told: {error}");
        Fault::new(Code::Internal, message, "write its path yourself")
    })?;
    let settings = Settings::of(args.client, &program)?;
    // The words stand apart from what is to be pasted: a shell can take that, or a file have it appended.
    output::aside(&settings.before);
    output::raw(settings.pasted.as_bytes())?;
    output::aside(&settings.after);
    Ok(ExitCode::SUCCESS)
}

/// What goes into the settings of an agent, and what is said around it.
struct Settings {
    before: String,
    pasted: String,
    after: String,
}

impl Settings {
    fn of(client: Client, program: &Path) -> Result<Self, Fault> {
        let path =
            program.to_str().filter(|path| Shown::inline(path).at_most(usize::MAX).to_string() == *path);
        let path = path.ok_or_else(|| {
            let message = "the path of this program has characters that settings cannot hold safely";
            Fault::new(Code::PathRejected, message, "put the program into a folder with a plain name")
        })?;
        // A string of JSON is one of TOML too.
        let quoted = serde_json::Value::from(path);
        let shell = super::render::quoted(path);
        Ok(match client {
            Client::ClaudeCode => Self {
                before: "Let Claude Code add it, for all projects of yours:\n\n".to_owned(),
                pasted: format!("claude mcp add --scope user fumehood -- {shell} serve --as claude-code\n"),
                after: format!(
                    "\nOr put this into .mcp.json of one project:\n\n\
                     {{\n  \"mcpServers\": {{\n    \"fumehood\": {{\n      \"command\": {quoted},\n      \"args\": [\"serve\", \"--as\", \"claude-code\"]\n    }}\n  }}\n}}\n\n{AFTERWARDS}"
                ),
            },
            Client::Codex => Self {
                before: "Put this into ~/.codex/config.toml:\n\n".to_owned(),
                pasted: format!(
                    "[mcp_servers.fumehood]\ncommand = {quoted}\nargs = [\"serve\", \"--as\", \"codex\"]\n# A person may need longer to read a question than a tool may take.\ntool_timeout_sec = 330\n"
                ),
                after: format!("\n{AFTERWARDS}"),
            },
        })
    }
}

const AFTERWARDS: &str = "Then start the agent anew and ask it which skills it has: they are those of `fumehood list`.\n\
    Before a script runs, the agent's window asks you. Where it cannot ask, `fumehood pending` lists what waits, and\n\
    `fumehood approve ID` answers it.\n\
    A script sees the files that its arguments name; `--workspace DIR` behind serve lets it read a folder, `DIR:rw` change it.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_pasted() {
        let path = Path::new("/opt/a b/fumehood");
        let claude = Settings::of(Client::ClaudeCode, path).unwrap();
        let command = "claude mcp add --scope user fumehood -- '/opt/a b/fumehood' serve --as claude-code\n";
        assert_eq!(claude.pasted, command);
        let json = &claude.after[claude.after.find('{').unwrap()..=claude.after.rfind('}').unwrap()];
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["mcpServers"]["fumehood"]["command"], "/opt/a b/fumehood");
        let codex = Settings::of(Client::Codex, path).unwrap().pasted;
        let lines: Vec<_> = codex.lines().collect();
        assert_eq!(
            lines,
            [
                "[mcp_servers.fumehood]",
                "command = \"/opt/a b/fumehood\"",
                "args = [\"serve\", \"--as\", \"codex\"]",
                "# A person may need longer to read a question than a tool may take.",
                "tool_timeout_sec = 330",
            ]
        );
        assert!(Settings::of(Client::Codex, Path::new("/a\n/b")).is_err());
    }
}
