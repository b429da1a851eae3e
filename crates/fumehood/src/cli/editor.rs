//! The person's editor, for what they write themselves.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use fumehood_core::{Code, Shown};

use super::interrupt::Interrupt;
use super::terminal::Terminal;
use crate::fault::Fault;
use crate::host::Over;

/// A program with its first arguments. It is the person's own and runs as they do: in no sandbox, with their environment.
pub(super) struct Editor {
    words: Vec<OsString>,
    interrupt: Interrupt,
}

impl Editor {
    /// The one that `VISUAL` or `EDITOR` names, or `vi`. The words between spaces are a program and its first arguments; no
    /// shell looks at them.
    ///
    /// From here on Ctrl-C does not end this process: while the editor is open it is for the editor.
    pub(super) fn of_the_person() -> Result<Self, Fault> {
        let words = words(|name| std::env::var_os(name));
        Ok(Self { words, interrupt: Interrupt::watch()? })
    }

    /// Opens a file on this terminal and waits until the editor is left.
    pub(super) fn open(&self, terminal: &Terminal, file: &Path) -> Result<(), Fault> {
        let failed = |reason: String| {
            let editor = self.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
            let message = format!("the editor {} {reason}", Shown::inline(&editor));
            Fault::new(Code::EditorFailed, message, "name another one in VISUAL or EDITOR")
        };
        let Some((program, arguments)) = self.words.split_first() else {
            return Err(failed("has no name".to_owned()));
        };
        let ended = terminal.lend(|[keys, out, errors]| {
            let mut command = Command::new(program);
            command.args(arguments).arg(file).stdin(keys).stdout(out).stderr(errors).status()
        });
        self.interrupt.forget();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("ended with a failure: {status}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(failed("could not be started: there is no such program".to_owned()))
            }
            Err(error) => Err(failed(format!("could not be started: {}", error.kind()))),
        }
    }

    /// Whether somebody asked this process to end since the editor was left.
    pub(super) fn over(&self) -> Option<Over> {
        self.interrupt.was_asked().then_some(Over::Cancelled)
    }
}

fn words(variable: impl Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    let split = |value: OsString| {
        let words =
            value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        words.map(|word| OsStr::from_bytes(word).to_owned()).collect::<Vec<_>>()
    };
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(variable).map(split);
    let mut named = named.filter(|words| !words.is_empty());
    named.next().unwrap_or_else(|| vec!["vi".into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_a_program_and_its_first_arguments() {
        let words = |visual: Option<&str>, editor: Option<&str>| {
            words(|name| (if name == "VISUAL" { visual } else { editor }).map(OsString::from))
        };
        assert_eq!(words(None, None), ["vi"]);
        assert_eq!(words(None, Some("nano")), ["nano"]);
        assert_eq!(words(Some("code  --wait "), Some("nano")), ["code", "--wait"]);
        assert_eq!(words(Some(" "), Some("nano")), ["nano"]);
        // What a shell would act on is a word like any other.
        assert_eq!(words(Some("ed;rm $HOME"), None), ["ed;rm", "$HOME"]);
    }
}
