//! What can be typed after `adopt`.

use super::From;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AdoptArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(in crate::cli) skill: String,
    /// Show the draft in full and write it into fumehood.toml. Asks at the terminal.
    #[arg(long, conflicts_with = "no_help")]
    pub(in crate::cli) accept: bool,
    /// Read the sources only, and run nothing.
    #[arg(long)]
    pub(in crate::cli) no_help: bool,
    #[command(flatten)]
    pub(in crate::cli) from: From,
}
