//! Answers to standard output, faults to standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use fumehood_core::{Code, Shown};
use serde::Serialize;

use super::args::Format;
use super::json;
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
        if self.is_json() {
            let bytes = json::to_vec(report).map_err(|_| {
                Fault::new(Code::Internal, "the answer has no JSON form", "please report this")
            })?;
            return raw(&bytes);
        }
        self.part(text)
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
        raw(buffer.as_bytes())
    }
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

/// Writes a fault and gives the exit code of its class.
pub(super) fn fail(fault: &Fault, format: Format) -> ExitCode {
    let mut stderr = AutoStream::auto(io::stderr().lock());
    // Nobody is left to tell if this fails.
    let _ = match format {
        Format::Json => {
            json::to_vec(fault).map_err(io::Error::from).and_then(|bytes| stderr.write_all(&bytes))
        }
        Format::Text => writeln!(
            stderr,
            "{ERROR}error{RESET}: {} [{}]\n  {}\n  ({})",
            Shown::block(&fault.message),
            fault.code,
            Shown::block(&fault.advice),
            fault.id
        ),
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
