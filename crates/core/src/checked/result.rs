//! What is told of a checked run.

use core::time::Duration;

use super::{Answer, CaptureError};
use crate::code::{Code, Coded as _};
use crate::digest::Revision;
use crate::id::ReceiptId;
use crate::json::Json;
use crate::limits::SCHEMA_ISSUES_MAX;
use crate::receipt::{Exit, Killed, Processes};
use crate::schema::{Issue, Issues};

/// The whole of what a caller gets of a checked run (CHK-144).
///
/// It says that the run succeeded only where all of it holds: exit code zero, nothing killed it, an [`Answer`], no process
/// left (CHK-111). It holds no environment, no argument and, but for the answer itself, no text of the program (CHK-145).
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedResult {
    facts: CheckedFacts,
    outcome: Result<Answer, Vec<Problem>>,
}

/// What the host saw of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedFacts {
    /// The skill's bytes.
    pub revision: Revision,
    /// What the runtime says about itself, if it was asked.
    pub runtime_version: Option<String>,
    /// From the start of the program to its end.
    pub elapsed: Duration,
    /// How it ended, if it could tell.
    pub exit: Option<Exit>,
    /// Why it was ended from outside, if it was.
    pub killed: Option<Killed>,
    /// Whether any process of it is left.
    pub processes: Processes,
    /// The record of the run, if there is one.
    pub receipt: Option<ReceiptId>,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The code.
    pub code: Code,
    /// Where in the arguments or in the answer: a JSON pointer. `None` if it is about no single value, and in a result where
    /// it has more than [`POINTER_BYTES_MAX`] bytes.
    pub pointer: Option<String>,
    /// The keyword of the schema that was not met, if it is about one.
    pub keyword: Option<&'static str>,
    /// One sentence of the host's, without its full stop.
    pub message: String,
}

/// Problems that a result holds, at most.
pub const PROBLEMS_MAX: usize = SCHEMA_ISSUES_MAX + 4;
/// Bytes of the place of a problem. Names of a schema can be as long as a manifest, and a place is made of many.
pub const POINTER_BYTES_MAX: usize = 4 << 10;
/// Bytes of a result as JSON, at most: an answer of 256 KiB whose numbers are written in a longer way than the program's, and
/// the rest.
pub const CHECKED_RESULT_BYTES_MAX: usize = 1 << 20;

impl CheckedResult {
    /// What became of a run whose output was read, or why it was not.
    ///
    /// An answer counts for nothing beside a fact that speaks against it; the fact then is the problem.
    pub fn of(facts: CheckedFacts, outcome: Result<Answer, Vec<Problem>>) -> Self {
        let against = against(&facts);
        let outcome = match (outcome, against) {
            (Ok(answer), None) => Ok(answer),
            (Ok(_), Some(problem)) => Err(vec![problem]),
            (Err(problems), None) if problems.is_empty() => {
                Err(vec![Problem::new(Code::Internal, "the run failed for no known reason")])
            }
            (Err(mut problems), _) => {
                problems.truncate(PROBLEMS_MAX);
                problems.iter_mut().for_each(Problem::bound);
                Err(problems)
            }
        };
        Self { facts, outcome }
    }

    /// Whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The answer.
    ///
    /// # Errors
    /// What went wrong: at least one problem, at most [`PROBLEMS_MAX`].
    pub fn outcome(&self) -> Result<&Answer, &[Problem]> {
        self.outcome.as_ref().map_err(Vec::as_slice)
    }

    /// What the host saw.
    pub fn facts(&self) -> &CheckedFacts {
        &self.facts
    }

    /// The result as JSON, at most [`CHECKED_RESULT_BYTES_MAX`] bytes as text. Every field is always there.
    ///
    /// `schema_version`, `status` (`succeeded` or `failed`), `revision`, `runtime_version`, `elapsed_ms`, `exit_code`, `signal`,
    /// `killed`, `output`, `errors` (each `code`, `pointer`, `keyword`, `message`), `processes`, `receipt`. `output` is null
    /// where there is none, and can be null where it is the answer: `status` tells.
    pub fn to_json(&self) -> Json {
        let CheckedFacts { revision, runtime_version, elapsed, exit, killed, processes, receipt } =
            &self.facts;
        let (status, output, errors) = match &self.outcome {
            Ok(answer) => ("succeeded", answer.value().clone(), Vec::new()),
            Err(problems) => ("failed", Json::Null, problems.iter().map(Problem::to_json).collect()),
        };
        let number = |number: Option<u8>| number.map_or(Json::Null, |n| Json::Number(u64::from(n).into()));
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        object([
            ("schema_version", Json::Number(1_u64.into())),
            ("status", text(status)),
            ("revision", text(&revision.to_string())),
            ("runtime_version", optional(runtime_version.as_deref())),
            ("elapsed_ms", Json::Number(elapsed.into())),
            ("exit_code", number(exit.and_then(Exit::code))),
            ("signal", number(exit.and_then(Exit::signal))),
            ("killed", optional(killed.map(Killed::as_str))),
            ("output", output),
            ("errors", Json::Array(errors)),
            ("processes", text(processes.as_str())),
            ("receipt", optional(receipt.map(|receipt| receipt.to_string()).as_deref())),
        ])
    }
}

/// What keeps a run with an answer from having succeeded.
fn against(facts: &CheckedFacts) -> Option<Problem> {
    let (code, message) = match (facts.processes, facts.killed, facts.exit) {
        (Processes::Unproven, ..) => {
            (Code::ProcessesLeft, "it could not be shown that no process of the run is left")
        }
        (_, Some(Killed::Deadline), _) => {
            (Code::ScriptTimeout, "the program did not end in time and was killed")
        }
        (_, Some(Killed::Output), _) => {
            (Code::ScriptOutputLimit, "the program wrote more than it may and was killed")
        }
        (_, Some(Killed::Cancelled), _) => {
            (Code::Cancelled, "the call was cancelled, and the program was killed")
        }
        (_, Some(Killed::Content), _) => {
            (Code::ToolBadResponse, "what the program wrote is no answer, and it was killed")
        }
        (Processes::ProvenGone, None, Some(Exit::Code(0))) => return None,
        _ => (Code::ScriptFailed, "the program did not end with exit code zero"),
    };
    Some(Problem::new(code, message))
}

/// What is wrong with an answer or with arguments, one problem for each place.
pub fn problems_of(issues: &Issues) -> Vec<Problem> {
    let problem = |issue: &Issue| Problem {
        code: Code::SchemaMismatch,
        pointer: Some(issue.pointer.clone()),
        keyword: Some(issue.keyword()),
        message: format!("the value must {}", issue.expected),
    };
    let mut problems: Vec<_> = issues.as_slice().iter().map(problem).collect();
    if issues.is_cut() {
        problems.push(Problem::new(Code::SchemaMismatch, "there are more places than are listed"));
    }
    problems
}

impl CaptureError {
    /// The error as problems: one, and one more for each place that does not fit.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Self::TooLarge { .. } | Self::Encoding => {
                vec![Problem::new(self.code(), format!("what the program wrote is no answer: {self}"))]
            }
            Self::Json(error) => {
                let message = "standard output is not one JSON value";
                vec![Problem::new(self.code(), message), Problem::new(error.code(), error.to_string())]
            }
            Self::Schema(issues) => {
                let message = "standard output is not what the skill declares";
                [vec![Problem::new(self.code(), message)], problems_of(issues)].concat()
            }
        }
    }
}

impl Problem {
    /// A problem of no single value.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, pointer: None, keyword: None, message: message.into() }
    }

    /// A place that is too long to be told is left out as a whole: the front of it would be another place.
    fn bound(&mut self) {
        self.pointer.take_if(|pointer| pointer.len() > POINTER_BYTES_MAX);
    }

    fn to_json(&self) -> Json {
        object([
            ("code", text(self.code.as_str())),
            ("pointer", optional(self.pointer.as_deref())),
            ("keyword", optional(self.keyword)),
            ("message", text(&self.message)),
        ])
    }
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}

fn optional(value: Option<&str>) -> Json {
    value.map_or(Json::Null, text)
}
