//! What can be typed after `call`.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser as _};

use super::From;
use super::run::workspace;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CallArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(in crate::cli) skill: String,
    /// The arguments: a JSON object, @FILE to read it from a file, or - for standard input. At most 64 KiB.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(in crate::cli) input: std::ffi::OsString,
    /// A folder that the tool may read, at its own absolute path. Without this it sees no file of yours.
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(readable))]
    pub(in crate::cli) workspace: Option<PathBuf>,
    /// Milliseconds after which the tool is killed; no more than its execution.json says.
    #[arg(long, value_name = "MS")]
    pub(in crate::cli) timeout: Option<u32>,
    /// Approve exactly this revision instead of answering; only where fumehood.toml allows it.
    #[arg(long, value_name = "REVISION")]
    pub(in crate::cli) approve: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) from: From,
}

/// A checked tool answers, and changes nothing.
fn readable(path: PathBuf) -> Result<PathBuf, &'static str> {
    match workspace(path)? {
        (folder, false) => Ok(folder),
        (_, true) => Err("a checked tool only reads its workspace: write DIR"),
    }
}
