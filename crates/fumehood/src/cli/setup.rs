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
    output::raw(text(args.client, &program)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(client: Client, program: &Path) -> Result<String, Fault> {
    let path = program.to_str().filter(|path| Shown::inline(path).at_most(usize::MAX).to_string() == *path);
    let path = path.ok_or_else(|| {
        let message = "the path of this program has characters that settings cannot hold safely";
        Fault::new(Code::PathRejected, message, "put the program into a folder with a plain name")
    })?;
    // A string of JSON is one of TOML too.
    let quoted = serde_json::Value::from(path);
    let shell = super::render::quoted(path);
    let settings = match client {
        Client::ClaudeCode => format!(
            "Let Claude Code add it, for all projects of yours:\n\n  \
             claude mcp add --scope user fumehood -- {shell} serve --as claude-code\n\n\
             Or put this into .mcp.json of one project:\n\n\
             {{\n  \"mcpServers\": {{\n    \"fumehood\": {{\n      \"command\": {quoted},\n      \"args\": [\"serve\", \"--as\", \"claude-code\"]\n    }}\n  }}\n}}\n",
        ),
        Client::Codex => format!(
            "Put this into ~/.codex/config.toml:\n\n\
             [mcp_servers.fumehood]\ncommand = {quoted}\nargs = [\"serve\", \"--as\", \"codex\"]\n# A person may need longer to read a question than a tool may take.\ntool_timeout_sec = 330\n",
        ),
    };
    Ok(format!("{settings}\n{AFTERWARDS}"))
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
        let claude = text(Client::ClaudeCode, path).unwrap();
        let json = &claude[claude.find('{').unwrap()..=claude.rfind('}').unwrap()];
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["mcpServers"]["fumehood"]["command"], "/opt/a b/fumehood");
        assert!(
            claude.contains("claude mcp add --scope user fumehood -- '/opt/a b/fumehood' serve"),
            "{claude}"
        );
        let codex = text(Client::Codex, path).unwrap();
        assert!(codex.contains("command = \"/opt/a b/fumehood\"\nargs = [\"serve\""), "{codex}");
        assert!(text(Client::Codex, Path::new("/a\n/b")).is_err());
    }
}
