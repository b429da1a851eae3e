//! What can be typed after `policy`.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use fumehood_core::policy::Mode;

use super::run::RunOptions;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum PolicyCommand {
    /// Say what is wrong with policy.toml, and what you may not have meant.
    ///
    /// Exits with 2 if the file cannot be read as written, which means that nothing runs; warnings are no failure.
    Check,
    /// Say what would be decided about a call, and what each rule makes of it.
    ///
    /// Takes what `run` takes, or SKILL with --input what `call` takes. The call is planned and neither asked about nor run. No argument's value is printed.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Box<ExplainArgs>),
    /// Play the [[case]] tables of policy.toml.
    ///
    /// Exits with 2 if one does not come out as it expects.
    Test,
    /// Change the mode in policy.toml, and nothing else in it. Asks at the terminal.
    Mode {
        /// "ask", "blocked" (nothing runs), "trusted" (trust scopes count) or "workflow" (nothing runs yet).
        #[arg(value_parser = modes())]
        mode: Mode,
    },
    /// Edit policy.toml in your editor. Shows what differs and asks before it counts.
    ///
    /// A copy is opened with $VISUAL, $EDITOR or vi; the first word is the program, and no shell looks at it. What comes back
    /// must be a policy; its cases are played. The file stays as it was until you say yes.
    Edit,
}

fn modes() -> impl clap::builder::TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::as_str)).map(|word| {
        let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == word);
        mode.unwrap_or_default()
    })
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ExplainArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(in crate::cli) skill: String,
    /// A script that the skill declares, by its name, or a file of the skill, by its path. With --input there is none.
    #[arg(required_unless_present = "input")]
    pub(in crate::cli) script: Option<String>,
    /// The arguments of the checked tool, as `call` takes them: JSON, @FILE, or - for standard input.
    ///
    /// Then --timeout is in milliseconds, as it is there.
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true,
        conflicts_with_all = ["script", "params", "read", "write", "in_workspace", "out", "interpreter", "argv"]
    )]
    pub(in crate::cli) input: Option<OsString>,
    #[command(flatten)]
    pub(in crate::cli) options: RunOptions,
}

const EXPLAIN_EXAMPLES: &str = "Examples:
  fumehood policy explain ./skills/text-report report --param file=README.md
  fumehood policy explain semver-sort --input @versions.json";
