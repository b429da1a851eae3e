//! What can be typed after `serve` and `setup`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::TypedValueParser as _;
use fumehood_core::AgentLabel;

use super::From;
use super::run::workspace;
use crate::fault::Fault;
use crate::host::{Host, SessionOptions, WalkLimits};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ServeArgs {
    /// What the agent is called in questions, receipts and rules: a-z, 0-9, '_', '.' and '-'; not cli, as the command line is called.
    #[arg(long = "as", value_name = "NAME", default_value = "mcp", value_parser = label)]
    agent: AgentLabel,
    /// A folder that scripts may read; with ":rw" also change, all of it after success or nothing.
    #[arg(long, value_name = "DIR[:rw]", value_parser = clap::builder::PathBufValueParser::new().try_map(workspace))]
    workspace: Option<(PathBuf, bool)>,
    #[command(flatten)]
    from: From,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SetupArgs {
    /// The agent.
    #[arg(value_enum)]
    pub(in crate::cli) client: Client,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
}

impl ServeArgs {
    /// The host, and whose run it is.
    pub(in crate::cli) fn opened(
        self,
        host: impl FnOnce(WalkLimits) -> Result<Host, Fault>,
    ) -> Result<(Host, SessionOptions), Fault> {
        let host = host(self.from.search.limits())?;
        Ok((host, SessionOptions { agent: self.agent, roots: self.from.roots, workspace: self.workspace }))
    }
}

pub(super) fn label(text: &str) -> Result<AgentLabel, String> {
    AgentLabel::parse(text).map_err(|error| format!("{error}; write a-z, 0-9, '_', '.' and '-'"))
}
