//! What can be typed after `passphrase`.

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum PassphraseCommand {
    /// Require a passphrase for each yes at the terminal. Asks for the old one first.
    ///
    /// Only its hash is kept, in fumehood.toml. --approve is refused from then on.
    Set,
    /// Require none any more. Asks for it once more.
    Remove,
}
