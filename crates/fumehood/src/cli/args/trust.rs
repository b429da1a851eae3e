//! What can be typed after `trust`.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use fumehood_core::AgentLabel;

use super::From;
use super::run::{seconds, workspace};
use super::serve::label;
use crate::host::TrustRequest;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum TrustCommand {
    /// Trust the checked tool of a skill, or one of its scripts, as the bytes are now. Asks at the terminal.
    ///
    /// Without SCRIPT it is the checked tool, which `fumehood call SKILL` calls; with it what `fumehood run SKILL SCRIPT` runs.
    ///
    /// Counts only while policy.toml has mode = "trusted"; saved in another mode it is a draft. Trust is no sandbox and none is
    /// taken away: what runs under it is confined as ever.
    #[command(after_help = ADD_EXAMPLES)]
    Add(Box<TrustAddArgs>),
    /// List what is trusted, and what changed since.
    List,
    /// Show one trust scope.
    Show(ScopeArgs),
    /// Take trust back, at once. Needs no terminal.
    Remove(ScopeArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct TrustAddArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    skill: String,
    /// A script that the skill or an overlay declares. Without it the checked tool is trusted, which its tool name, `call_SKILL`,
    /// means too.
    script: Option<String>,
    /// Where values of a path parameter may lead: there or below, and never to a name with a leading dot.
    ///
    /// A path parameter that is not named is asked about whenever it is given.
    #[arg(long = "path", value_name = "NAME=PLACE", value_parser = place)]
    paths: Vec<(String, PathBuf)>,
    /// The workspace that calls have; with ":rw" one that scripts may change. Calls without one are then asked about.
    #[arg(long, value_name = "DIR[:rw]", value_parser = clap::builder::PathBufValueParser::new().try_map(workspace))]
    workspace: Option<(PathBuf, bool)>,
    /// The agent whose calls are trusted, as `serve --as` names it; those of the command line if not given.
    #[arg(long = "as", value_name = "NAME", value_parser = label)]
    agent: Option<AgentLabel>,
    /// The most seconds that a call may ask for; for a checked tool no more than its execution.json says.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<u64>,
    #[command(flatten)]
    pub(in crate::cli) from: From,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ScopeArgs {
    /// The scope, as `trust list` shows it, or its receipt.
    pub(in crate::cli) id: String,
}

impl std::convert::From<TrustAddArgs> for TrustRequest {
    fn from(args: TrustAddArgs) -> Self {
        Self {
            skill: args.skill,
            roots: args.from.roots,
            script: args.script,
            paths: args.paths,
            workspace: args.workspace,
            timeout: args.timeout,
            agent: args.agent,
        }
    }
}

const ADD_EXAMPLES: &str = "Examples:
  fumehood trust add semver-sort
  fumehood trust add ./skills/text-report report --path file=.";

fn place(text: &str) -> Result<(String, PathBuf), &'static str> {
    match text.split_once('=') {
        Some((name, place)) if !name.is_empty() && !place.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(place)))
        }
        _ => Err("write it as NAME=PLACE"),
    }
}
