//! Asking one script for help: a run like any other, of `--help`, with nothing granted.

use std::sync::Arc;

use fumehood_core::inspect::UndeclaredScript;
use fumehood_core::{Class, Code, adopt};
use fumehood_store::Settings;

use super::AdoptProgress;
use crate::fault::Fault;
use crate::host::run::{Captured, RunRequest};
use crate::host::{Cancel, Host, Person};
use crate::report::{HelpOut, RunReport};

/// What came of asking one script.
pub(super) enum Asked {
    /// It was not, or could not be.
    Not(HelpOut),
    /// It ran.
    Ran(HelpOut, Answered),
}

/// How a script took the question.
pub(super) enum Answered {
    /// It wrote this and ended well.
    Text(Vec<u8>),
    /// It ended with another code than zero.
    Failed,
    /// It had to be killed, died, or wrote more than is kept.
    Killed,
}

impl Host {
    /// Asks one script, if it looks as if it would answer. Only that the person has given up is an error.
    pub(super) fn ask_for_help(
        &self,
        skill: &Captured,
        settings: &Settings,
        script: &UndeclaredScript,
        person: &Arc<dyn Person>,
        cancel: &Cancel,
        tell: &AdoptProgress,
    ) -> Result<Asked, Fault> {
        let answers = skill.snapshot.get(&script.path).is_some_and(|file| adopt::answers_help(file.bytes()));
        if !answers || script.hint.interpreter.is_none() {
            return Ok(Asked::not());
        }
        let request = RunRequest {
            script: script.path.as_str().to_owned(),
            argv: Some(vec!["--help".to_owned()]),
            timeout: Some(settings.envelope.timeout_max().as_secs().min(SECONDS_MAX)),
            ..RunRequest::default()
        };
        let tell = Arc::clone(tell);
        let ran =
            self.run_captured(skill, &request, Some(Arc::clone(person)), cancel, Some(WHY), move |step| {
                tell(step);
            });
        match ran {
            Ok(report) if report.killed == Some("cancelled") => Err(cancelled()),
            Ok(report) => Ok(Asked::of(report)),
            Err(fault) if fault.class == Class::Cancelled || cancel.is_cancelled() => Err(fault),
            Err(fault) if fault.code == Code::ScriptDenied => Ok(Asked::Not(HelpOut::of("denied"))),
            Err(fault) => {
                Ok(Asked::Not(HelpOut { code: Some(fault.code.as_str()), ..HelpOut::of("refused") }))
            }
        }
    }
}

impl Asked {
    pub(super) fn not() -> Self {
        Self::Not(HelpOut::of("not_asked"))
    }

    fn of(report: RunReport) -> Self {
        let whole = report.output.dropped_bytes == 0 && report.errors.dropped_bytes == 0;
        let (status, answered) = match report.exit_code {
            _ if !whole || report.killed.is_some() || report.signal.is_some() => ("killed", Answered::Killed),
            Some(0) => ("answered", Answered::Text(report.output.content.bytes().to_vec())),
            _ => ("failed", Answered::Failed),
        };
        Self::Ran(HelpOut { receipt: Some(report.receipt), ..HelpOut::of(status) }, answered)
    }

    /// What it said, if it said it well.
    pub(super) fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Ran(_, Answered::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_killed(&self) -> bool {
        matches!(self, Self::Ran(_, Answered::Killed))
    }

    pub(super) fn out(&self) -> HelpOut {
        match self {
            Self::Not(out) | Self::Ran(out, _) => out.clone(),
        }
    }
}

fn cancelled() -> Fault {
    Fault::new(Code::Cancelled, "stopped before the draft was done", "no draft was kept")
}

const WHY: &str =
    "fumehood drafts what the script takes, and asks it for its help text; no file is given to it";
/// A script that needs longer to say what it takes is not one that says it.
const SECONDS_MAX: u64 = 10;
