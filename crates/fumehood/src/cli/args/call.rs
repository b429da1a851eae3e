//! What can be typed after `call`.

use super::From;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CallArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(in crate::cli) skill: String,
    /// The arguments: a JSON object, @FILE to read it from a file, or - for standard input. At most 64 KiB.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(in crate::cli) input: std::ffi::OsString,
    /// A folder that the tool may read, at its own absolute path. Without this it sees no file of yours.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) workspace: Option<std::path::PathBuf>,
    /// Milliseconds after which the tool is killed; no more than its execution.json says.
    #[arg(long, value_name = "MS")]
    pub(in crate::cli) timeout: Option<u32>,
    /// Approve exactly this revision instead of answering; only where fumehood.toml allows it.
    #[arg(long, value_name = "REVISION")]
    pub(in crate::cli) approve: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) from: From,
}
