//! What can be typed after `policy`.

use super::RunArgs;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum PolicyCommand {
    /// Say what is wrong with policy.toml, and what you may not have meant.
    ///
    /// Exits with 2 if the file cannot be read as written, which means that nothing runs; warnings are no failure.
    Check,
    /// Say what would be decided about a call, and what each rule makes of it.
    ///
    /// Takes what `run` takes. The call is planned and neither asked about nor run. No argument's value is printed.
    Explain(Box<RunArgs>),
    /// Play the [[case]] tables of policy.toml.
    ///
    /// Exits with 2 if one does not come out as it expects.
    Test,
}
