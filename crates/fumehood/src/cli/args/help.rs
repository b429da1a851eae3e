//! The first help screen: commands in groups, what is used most first.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::Args;

/// The command line, with a first screen of its own.
pub(in crate::cli) fn command() -> clap::Command {
    let command = Args::command();
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        let _ = write!(template, "\n{heading}:\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {name:<14} {about}");
        }
    }
    template.push_str("  help           Print this, or what a command does: fumehood help COMMAND\n");
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

const GROUPS: &[(&str, &[&str])] = &[
    ("Read skills", &["check", "list", "show", "cat", "diff"]),
    ("Run", &["run", "adopt"]),
    ("See what runs left", &["runs", "receipt", "artifact", "audit"]),
    ("Set up", &["trust-project", "interpreters", "doctor"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let all: Vec<_> = Args::command().get_subcommands().map(|one| one.get_name().to_owned()).collect();
        grouped.sort_unstable();
        let mut expected = all.clone();
        expected.sort_unstable();
        assert_eq!(grouped, expected);
        let help = command().render_help().to_string();
        assert!(all.iter().all(|name| help.contains(&format!("\n  {name} "))), "{help}");
        assert!(help.lines().count() <= 40 && help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
