//! One stream of a checked program, piece by piece, and the value that it is read as.

use core::fmt;

use crate::code::{Code, Coded};
use crate::json::{Json, JsonError, JsonErrorKind};
use crate::schema::{Expected, Issue, Issues, Schema};
use crate::wiped::Wiped;

/// What a program writes to one stream: strict UTF-8 of at most so many bytes.
///
/// Room for all of it is taken at once, so the bytes are never copied elsewhere. The first error is final, no matter what
/// follows: nothing is added after it, and no answer comes of what is held. It is overwritten when it is dropped (CHK-124,
/// CHK-126), within the limits of [`Wiped`].
///
/// ```
/// use fumehood_core::Schema;
/// use fumehood_core::checked::Capture;
/// use fumehood_core::json::Json;
/// let schema = Schema::compile(&Json::parse(br#"{"type": "string"}"#, 99).unwrap()).unwrap();
/// let mut capture = Capture::new(16);
/// // A character may arrive in pieces.
/// capture.push(b"\"\xc3").unwrap();
/// capture.push(b"\xa4\"\n").unwrap();
/// assert_eq!(capture.answer(&schema).unwrap().value().as_str(), Some("ä"));
/// ```
pub struct Capture {
    pub(super) held: Wiped,
    /// How many of them are whole characters. At most three bytes are beyond.
    pub(super) whole: usize,
    bytes_max: u32,
    error: Option<CaptureError>,
}

/// One JSON value that a program wrote, as its output schema asks for.
///
/// The value is as the program wrote it: nothing was coerced, filled in or taken out (CHK-114). It is untrusted text all the
/// same. Its texts are overwritten when it is dropped. `Debug` prints nothing of it.
#[derive(Clone, PartialEq)]
pub struct Answer(Json);

/// Why what a program wrote is no answer. Holds nothing that it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// More bytes than it may write.
    TooLarge {
        /// How many it may.
        bytes_max: u32,
    },
    /// Not UTF-8, or the end of it in the middle of a character.
    Encoding,
    /// Not exactly one JSON value within the bounds.
    Json(JsonError),
    /// Not what the output schema asks for. Its pointers hold only names that the schema declares.
    Schema(Issues),
}

impl Capture {
    /// A stream of at most so many bytes.
    pub fn new(bytes_max: u32) -> Self {
        let capacity = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { held: Wiped::with_capacity(capacity), whole: 0, bytes_max, error: None }
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// [`CaptureError`]; the same one for every piece after.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), CaptureError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        // The place may be larger than was asked for.
        let room = (self.bytes_max as usize).saturating_sub(self.held.len());
        if piece.len() > room || !self.held.push(piece) {
            return Err(self.failed(CaptureError::TooLarge { bytes_max: self.bytes_max }));
        }
        match core::str::from_utf8(&self.held[self.whole..]) {
            Ok(_) => self.whole = self.held.len(),
            // A character whose rest may still come.
            Err(error) if error.error_len().is_none() => self.whole += error.valid_up_to(),
            Err(_) => return Err(self.failed(CaptureError::Encoding)),
        }
        Ok(())
    }

    /// The first error, if there was one.
    pub fn error(&self) -> Option<&CaptureError> {
        self.error.as_ref()
    }

    /// The end of a stream that may say anything.
    ///
    /// # Errors
    /// [`CaptureError`]: the first, or [`CaptureError::Encoding`] if the last character is not whole.
    pub fn finish(&self) -> Result<(), CaptureError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None if self.whole < self.held.len() => Err(CaptureError::Encoding),
            None => Ok(()),
        }
    }

    /// The end of a stream that must be one JSON value, with nothing but white space around it.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn answer(&self, schema: &Schema) -> Result<Answer, CaptureError> {
        self.finish()?;
        Answer::read(&self.held, self.bytes_max, schema)
    }

    /// What was taken up to the first error, for the record of the run.
    pub fn into_bytes(self) -> Wiped {
        self.held
    }

    fn failed(&mut self, error: CaptureError) -> CaptureError {
        self.error = Some(error.clone());
        error
    }
}

impl Answer {
    /// Reads what [`Capture::answer`] reads, from bytes that are at hand as a whole.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn read(bytes: &[u8], bytes_max: u32, schema: &Schema) -> Result<Self, CaptureError> {
        if bytes.len() > bytes_max as usize {
            return Err(CaptureError::TooLarge { bytes_max });
        }
        let value = Json::parse(bytes, bytes.len()).map_err(|error| match error.kind {
            JsonErrorKind::Encoding => CaptureError::Encoding,
            _ => CaptureError::Json(error),
        })?;
        let answer = Self(value);
        schema.validate(&answer.0).map_err(|issues| CaptureError::Schema(issues.map(declared_only)))?;
        Ok(answer)
    }

    /// What it answered.
    pub fn value(&self) -> &Json {
        &self.0
    }

    /// The same, owned.
    pub fn into_value(mut self) -> Json {
        core::mem::replace(&mut self.0, Json::Null)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

/// A property that the schema does not declare has a name of the program's choice: the issue is about the object that has it.
fn declared_only(issue: Issue) -> Issue {
    match issue.expected {
        Expected::Absent => {
            let end = issue.pointer.rfind('/').unwrap_or(0);
            Issue { pointer: issue.pointer[..end].to_owned(), ..issue }
        }
        _ => issue,
    }
}

impl Coded for CaptureError {
    fn code(&self) -> Code {
        match self {
            Self::TooLarge { .. } => Code::ScriptOutputLimit,
            Self::Encoding | Self::Json(_) | Self::Schema(_) => Code::ToolBadResponse,
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes_max } => write!(f, "it is larger than {bytes_max} bytes"),
            Self::Encoding => f.write_str("it is not UTF-8"),
            Self::Json(error) => write!(f, "it is not one JSON value: {error}"),
            Self::Schema(issues) => write!(f, "it is not what the skill declares: {issues}"),
        }
    }
}

impl core::error::Error for CaptureError {}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capture({} of {} bytes)", self.held.len(), self.bytes_max)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({})", self.0.type_name())
    }
}
