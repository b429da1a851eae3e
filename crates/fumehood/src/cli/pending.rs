//! `pending`, `approve` and `deny`: what other processes ask for, answered by the person at this terminal.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use fumehood_core::Code;

use super::output::{self, Output};
use super::run::DEAD_TIME;
use super::terminal::{self, Reply};
use super::{done, host, render};
use crate::fault::Fault;
use crate::host::{OpenRequest, Passphrase, WalkLimits};
use crate::report::Answer;

pub(super) fn pending(out: &Output) -> Result<ExitCode, Fault> {
    let report = host(WalkLimits::default())?.pending()?;
    let silent = report.silent_processes;
    let code = done(out, &report, |text| render::pending::list(text, &report, now(), output::is_terminal()))?;
    if silent > 0 && !out.is_json() {
        output::note(&format!("{silent} of the processes that hold requests did not answer; try again"));
    }
    Ok(code)
}

pub(super) fn approve(id: &str, out: &Output) -> Result<ExitCode, Fault> {
    let terminal = terminal::required()?;
    let host = host(WalkLimits::default())?;
    let request = host.open_request(id)?;
    host.can_vouch()?;
    let question = render::question::question(request.question(), Some(now()));
    let prompt = render::question::prompt();
    let reply = terminal.ask(&question, &prompt, DEAD_TIME, &|| request.over());
    match reply.map_err(|_| terminal::no_terminal())? {
        Reply::Over(over) => Err(OpenRequest::fault(over)),
        reply if terminal::is_yes(&reply) => {
            let over = || request.over();
            let passphrase = host.typed_passphrase(|| {
                let typed = terminal.passphrase(terminal::PASSPHRASE, &over);
                typed.map_err(|_| terminal::no_terminal())
            })?;
            decide(&request, Answer::Once, passphrase, out)
        }
        Reply::Line(_) => {
            request.decide(Answer::No, None)?;
            let message = "the answer was not yes, so the request is denied";
            Err(Fault::new(Code::NotConfirmed, message, "whoever asked is told so; nothing ran"))
        }
    }
}

pub(super) fn deny(id: &str, out: &Output) -> Result<ExitCode, Fault> {
    // A program that could deny could keep a person from ever being asked.
    terminal::required()?;
    decide(&host(WalkLimits::default())?.open_request(id)?, Answer::No, None, out)
}

fn decide(
    request: &OpenRequest,
    answer: Answer,
    passphrase: Option<Passphrase>,
    out: &Output,
) -> Result<ExitCode, Fault> {
    let report = request.decide(answer, passphrase)?;
    done(out, &report, |text| render::pending::decided(text, &report, now()))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
