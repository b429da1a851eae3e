//! Who says yes to a run.

use std::sync::Arc;

use fumehood_core::consent::Surface;
use fumehood_core::{Code, Revision};
use fumehood_store::Settings;

use super::Captured;
use crate::fault::Fault;
use crate::host::{Over, Person};
use crate::report::{Answer, Question};

/// Who answers: the person, or the flag that names what the person approved.
pub(super) fn of(
    approve: Option<&str>,
    skill: &Captured,
    settings: &Settings,
    person: Option<Arc<dyn Person>>,
) -> Result<(Option<Arc<dyn Person>>, Surface), Fault> {
    let Some(approved) = approve else { return Ok((person, Surface::Terminal)) };
    if !settings.approve_by_revision_flag {
        let message = "--approve is not allowed here";
        return Err(Fault::new(
            Code::ApproveFlagOff,
            message,
            "answer at the terminal; or, if scripts of yours must run unattended, set revision_flag = true under [approve] in fumehood.toml",
        ));
    }
    if settings.passphrase.is_some() {
        let message = "--approve does not count where a passphrase is required";
        return Err(Fault::new(
            Code::PassphraseRequired,
            message,
            "answer at the terminal; or require none, with `fumehood passphrase remove`",
        ));
    }
    let revision = skill.snapshot.revision();
    if approved.strip_prefix("sha256:").unwrap_or(approved) != revision.sha256().to_string() {
        let message = "the revision that --approve names is not the skill's";
        return Err(Fault::new(
            Code::ApproveMismatch,
            message,
            format!("the skill is {revision}; look at what changed before you name it"),
        ));
    }
    Ok((Some(Arc::new(Flag { revision })), Surface::Flag))
}

/// Says yes to exactly the revision that was named on the command line.
struct Flag {
    revision: Revision,
}

impl Person for Flag {
    fn ask(&self, question: &Question, _: &dyn Fn() -> Option<Over>) -> Answer {
        if question.skill.revision == self.revision.to_string() { Answer::Once } else { Answer::No }
    }
}
