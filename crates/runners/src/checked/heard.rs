//! What a program writes, judged while it comes.

use std::ops::ControlFlow;

use fumehood_core::Schema;
use fumehood_core::checked::{CHECKED_ERRORS_BYTES_MAX, Capture, CaptureError};
use fumehood_core::code::Coded as _;
use fumehood_core::receipt::Killed;
use fumehood_core::tool::Failure;
use fumehood_gate::{RawOutput, RunError, Stream};
use fumehood_sandbox::Channel;

/// Both streams of a run. Nobody else holds what is in them; it is overwritten when the record has it and the caller is done.
pub(super) struct Heard {
    output: Capture,
    errors: Capture,
}

impl Heard {
    /// Takes the room for all of it.
    pub(super) fn new(output_bytes_max: u32) -> Self {
        Self { output: Capture::new(output_bytes_max), errors: Capture::new(CHECKED_ERRORS_BYTES_MAX) }
    }

    /// Takes a piece, and breaks off once no answer can come of the run any more (CHK-110, CHK-123).
    pub(super) fn take(&mut self, channel: Channel, piece: &[u8]) -> ControlFlow<()> {
        let capture = match channel {
            Channel::Output => &mut self.output,
            Channel::Errors => &mut self.errors,
        };
        if capture.push(piece).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// What a program wrote counts only if nothing else is wrong with its run, and the first thing that was wrong is what is
    /// told (CHK-099, CHK-111, CHK-126).
    pub(super) fn judge(self, raw: RawOutput, schema: &Schema) -> RawOutput {
        let error = match raw.killed {
            Some(Killed::Content) => self.first_error(),
            Some(_) => raw.error,
            None => raw.error.or_else(|| self.read(schema).err()),
        };
        let stream = |capture: Capture, counted: &Stream| Stream {
            bytes: capture.into_bytes(),
            dropped: counted.dropped,
        };
        let output = stream(self.output, &raw.output);
        let errors = stream(self.errors, &raw.errors);
        RawOutput { output, errors, error, ..raw }
    }

    /// Why it broke off. It did so once, so there is one.
    fn first_error(&self) -> Option<RunError> {
        let of = |capture: &Capture, what: &str| capture.error().map(|error| bad(what, error));
        of(&self.errors, ERRORS).or_else(|| of(&self.output, OUTPUT))
    }

    /// The end of both streams: whole characters, and one value that fits.
    fn read(&self, schema: &Schema) -> Result<(), RunError> {
        self.errors.finish().map_err(|error| bad(ERRORS, &error))?;
        self.output.answer(schema).map(drop).map_err(|error| bad(OUTPUT, &error))
    }
}

fn bad(what: &str, error: &CaptureError) -> RunError {
    RunError::new(Failure::BadResponse, error.code(), format!("{what}: {error}"))
}

const OUTPUT: &str = "standard output is no answer";
const ERRORS: &str = "standard error cannot be taken";
