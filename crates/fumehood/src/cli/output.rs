//! Answers to standard output, faults to standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use fumehood_core::{Code, Shown};
use serde::Serialize;

use super::args::Format;
use super::{fold, json};
use crate::fault::Fault;

/// Where answers go and in which form.
pub(super) struct Output {
    format: Format,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes one answer, as JSON or as the text that `text` builds.
    pub(super) fn answer(
        &self,
        report: &impl Serialize,
        text: impl FnOnce(&mut String),
    ) -> Result<(), Fault> {
        if self.is_json() { json(report) } else { self.part(text) }
    }

    /// Writes a part of an answer that comes bit by bit; in JSON it comes as a whole at the end.
    pub(super) fn part(&self, text: impl FnOnce(&mut String)) -> Result<(), Fault> {
        if self.is_json() {
            return Ok(());
        }
        let mut buffer = String::new();
        text(&mut buffer);
        // As one write: a stream that strips as it goes makes one for each line.
        if AutoStream::choice(&io::stdout()) == ColorChoice::Never {
            buffer = strip_str(&buffer).to_string();
        }
        raw(fold::for_terminal(&buffer, fold::size_of(&io::stdout())).as_bytes())
    }

    /// Writes what came of something that ran, as JSON or as `show` does it, and says how to end: what ran and failed has an
    /// answer as well as a fault.
    pub(super) fn outcome<R: Serialize>(
        &self,
        report: &R,
        failure: Option<&Fault>,
        show: impl FnOnce(&R) -> Result<(), Fault>,
    ) -> Result<ExitCode, Fault> {
        if self.is_json() {
            json(report)?;
        } else {
            show(report)?;
        }
        match failure {
            // The answer said it already, in the form that was asked for.
            Some(fault) if self.is_json() => Ok(ExitCode::from(fault.class.exit_code())),
            Some(fault) => Err(fault.clone()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// Writes a value as JSON, whatever form was asked for.
pub(super) fn json(value: &impl Serialize) -> Result<(), Fault> {
    let bytes = json::to_vec(value)
        .map_err(|_| Fault::new(Code::Internal, "the answer has no JSON form", "please report this"))?;
    raw(&bytes)
}

/// Whether a person sees the answer directly.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes bytes to standard output as they are.
pub(super) fn raw(bytes: &[u8]) -> Result<(), Fault> {
    raw_while_read(bytes).map(drop)
}

/// As [`raw`]; says whether anybody is still there to read. A reader that has seen enough and closed the pipe is no
/// failure, and no reason to go on.
pub(super) fn raw_while_read(bytes: &[u8]) -> Result<bool, Fault> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Fault::new(
            Code::OutputFailed,
            format!("the answer could not be written: {error}"),
            "check the disk",
        )),
    }
}

/// Says something about an answer on standard error. In JSON it is in the answer itself.
pub(super) fn note(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr().lock(), "note: {}", Shown::block(text));
}

/// Says what belongs to an answer and not into it, on standard error. The words are ours.
pub(super) fn aside(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a fault and gives the exit code of its class.
pub(super) fn fail(fault: &Fault, format: Format) -> ExitCode {
    let mut stderr = AutoStream::auto(io::stderr().lock());
    // Nobody is left to tell if this fails.
    let _ = match format {
        Format::Json => {
            json::to_vec(fault).map_err(io::Error::from).and_then(|bytes| stderr.write_all(&bytes))
        }
        Format::Text => {
            let text = format!(
                "{ERROR}error{RESET}: {} [{}]\n  {}\n  ({})",
                Shown::block(&fault.message),
                fault.code,
                Shown::block(&fault.advice),
                fault.id
            );
            writeln!(stderr, "{}", fold::for_terminal(&text, fold::size_of(&io::stderr())))
        }
    };
    ExitCode::from(fault.class.exit_code())
}

/// Writes what is wrong with a command line.
pub(super) fn usage(text: &str) -> ExitCode {
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if this fails.
    let _ = write!(stderr, "{}", Shown::block(text));
    ExitCode::from(Code::Usage.class().exit_code())
}

/// Terminal styles; `AutoStream` takes them out where they do not belong.
pub(super) const ERROR: &str = "\u{1b}[1;31m";
pub(super) const WARNING: &str = "\u{1b}[1;33m";
pub(super) const GOOD: &str = "\u{1b}[32m";
pub(super) const BOLD: &str = "\u{1b}[1m";
pub(super) const DIM: &str = "\u{1b}[2m";
pub(super) const RESET: &str = "\u{1b}[0m";

/// Text without its colours: `ESC [ … m`, digits and separators between. All other control is left for [`Shown`] to show, and
/// so is an escape that the pieces left over make together.
pub(super) fn uncoloured(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(COLOUR) else { return Cow::Borrowed(text) };
    let (before, mut rest) = text.split_at(first);
    let mut plain = String::from(before);
    while let Some(at) = rest.find(COLOUR) {
        plain.push_str(&rest[..at]);
        let behind = &rest[at + COLOUR.len()..];
        let end = behind.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == ':'));
        let after = end.and_then(|end| behind[end..].strip_prefix('m'));
        if after.is_none() {
            plain.push_str(COLOUR);
        }
        rest = after.unwrap_or(behind);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

const COLOUR: &str = "\u{1b}[";

#[cfg(test)]
mod tests {
    use super::*;

    // EXE-57: a script's colours are no noise, and nothing else of a terminal's language goes through by way of them.
    #[test]
    fn colours_are_taken_out_and_everything_else_is_shown() {
        for (text, shown) in [
            ("plain\n", "plain\n"),
            ("\u{1b}[0;31mred\u{1b}[0m.\n", "red.\n"),
            ("\u{1b}[38:2::1:2:3mfine\u{1b}[m", "fine"),
            // Moves, titles, the clipboard; one that is cut off.
            ("a\u{1b}[2Jb\u{1b}]52;c;eA==\u{7}", "a\\u{1b}[2Jb\\u{1b}]52;c;eA==\\u{7}"),
            ("a\u{1b}[31", "a\\u{1b}[31"),
            ("\u{1b}", "\\u{1b}"),
            // One that comes to be when another is taken out.
            ("\u{1b}[\u{1b}[0m2J", "\\u{1b}[2J"),
            ("\u{1b}\u{1b}[0m[31mx", "\\u{1b}[31mx"),
        ] {
            assert_eq!(Shown::block(&uncoloured(text)).to_string(), shown, "{text:?}");
        }
    }
}
