//! The first help screen, commands in groups, what is used most first; and what to do about a command line that is wrong.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::CommandFactory as _;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Args;

/// The command line, with a first screen of its own.
pub(in crate::cli) fn command() -> clap::Command {
    let command = Args::command();
    let mut template = "{about-with-newline}{usage-heading} {usage}, or fumehood help COMMAND\n".to_owned();
    for (heading, names) in GROUPS {
        let _ = write!(template, "\n{heading}:\n");
        for name in *names {
            let of_one = || command.find_subcommand(name).and_then(clap::Command::get_about);
            let of_both = BOTH.iter().find(|(names, _)| names == name).map(|(_, about)| (*about).to_owned());
            let about = of_both.or_else(|| of_one().map(ToString::to_string)).unwrap_or_default();
            let _ = writeln!(template, "  {name:<14} {about}");
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

const GROUPS: &[(&str, &[&str])] = &[
    ("Read skills", &["check", "list", "show, cat", "diff"]),
    ("Run", &["run", "call", "adopt", "serve, setup"]),
    ("See what runs left", &["runs", "receipt", "artifact", "audit"]),
    ("Decide", &["pending", "approve, deny", "policy", "trust", "passphrase"]),
    ("Set up", &["trust-project", "interpreters", "doctor"]),
];

/// Commands that share a line, so that the first screen is one.
const BOTH: &[(&str, &str)] = &[
    ("approve, deny", "Answer one of them at the terminal: once all of it is shown, or no at once"),
    ("show, cat", "Show one skill: files, claims, scripts, findings, revision; print a file of it"),
    ("serve, setup", "Serve an agent over the Model Context Protocol; print the settings for that"),
];

/// The error with what to type instead, where we know more than what is in the way.
pub(in crate::cli) fn advised(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let is_typed = |name: &str| arguments.iter().skip(1).any(|argument| argument == name);
    // Not `trust show`, which is another command.
    let is_nested =
        || command().get_subcommands().any(|outer| outer.has_subcommands() && is_typed(outer.get_name()));
    let is_own = |name: &str| is_typed(name) && !is_nested();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument if is_typed("run") => {
            "a declared script takes --param NAME=VALUE, any other its arguments behind `--`; `fumehood show SKILL` says which is which"
        }
        ErrorKind::MissingRequiredArgument if is_typed("run") => {
            "`fumehood show SKILL` lists its scripts, and what to type for each"
        }
        ErrorKind::MissingRequiredArgument if is_typed("prune") => {
            "say what to remove: --older-than 30d, --keep-bytes 2G or ids; --dry-run shows what would go"
        }
        ErrorKind::MissingRequiredArgument if is_typed("receipt") => {
            "`fumehood runs` lists the ids of receipts"
        }
        ErrorKind::MissingRequiredArgument if is_typed("artifact") => {
            "`fumehood artifact list` lists the ids of artifacts"
        }
        ErrorKind::UnknownArgument if is_own("list") && is_typed("--root") => {
            "the folders to list stand behind `list` as they are: fumehood list DIR"
        }
        ErrorKind::MissingRequiredArgument if is_own("check") => {
            "`fumehood check .` checks every skill below this folder"
        }
        ErrorKind::MissingRequiredArgument if is_own("cat") => {
            "name the skill, then the file, which counts from the skill's folder; `fumehood show SKILL` lists the files"
        }
        ErrorKind::MissingRequiredArgument if is_own("show") || is_own("diff") => {
            "`fumehood list` lists the names of skills; a path goes as well"
        }
        _ => return error,
    };
    // A misspelt option has a better tip of its own.
    let is_misspelt = error.get(ContextKind::SuggestedArg).is_some();
    let tips = if is_misspelt { Vec::new() } else { vec![StyledStr::from(tip)] };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter()).flat_map(|names| names.split(", ")).collect();
        let all: Vec<_> = Args::command().get_subcommands().map(|one| one.get_name().to_owned()).collect();
        grouped.sort_unstable();
        let mut expected = all.clone();
        expected.sort_unstable();
        assert_eq!(grouped, expected);
        let help = command().render_help().to_string();
        let begins =
            |name: &str| help.contains(&format!("\n  {name} ")) || help.contains(&format!("\n  {name}, "));
        let is_there = |name: &String| begins(name) || help.contains(&format!(", {name} "));
        assert!(all.iter().all(is_there), "{help}");
        assert!(help.lines().count() <= 40 && help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }

    #[test]
    fn a_wrong_command_line_says_what_to_type() {
        for (typed, tip) in [
            ("run ./a go file.txt", "tip: a declared script takes --param"),
            ("run ./a go --file a", "tip: a declared script takes --param"),
            ("run ./a go --prama a=b", "tip: a similar argument exists: '--param'"),
            ("run ./a", "tip: `fumehood show SKILL` lists its scripts"),
            ("artifact prune", "tip: say what to remove"),
            ("artifact head", "tip: `fumehood artifact list`"),
            ("receipt", "tip: `fumehood runs`"),
            ("check", "tip: `fumehood check .`"),
            ("check --strit .", "tip: a similar argument exists: '--strict'"), // typos: ignore
            ("show", "tip: `fumehood list`"),
            ("diff", "tip: `fumehood list`"),
            ("cat ./a/SKILL.md", "tip: name the skill, then the file"),
            ("list --root a", "tip: the folders to list"),
        ] {
            let words: Vec<OsString> =
                ["fumehood"].into_iter().chain(typed.split(' ')).map(Into::into).collect();
            let error = command().try_get_matches_from(&words).unwrap_err();
            let text = advised(error, &words).render().to_string();
            assert!(text.contains(tip), "{text}");
        }
        for typed in ["trust show", "artifact list --root a"] {
            let words: Vec<OsString> =
                ["fumehood"].into_iter().chain(typed.split(' ')).map(Into::into).collect();
            let error = command().try_get_matches_from(&words).unwrap_err();
            let text = advised(error, &words).render().to_string();
            assert!(
                !text.contains("lists the names of skills") && !text.contains("folders to list"),
                "{text}"
            );
        }
    }
}
