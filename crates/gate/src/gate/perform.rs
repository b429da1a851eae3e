//! The attempts of a call that may run, and its record.

use core::time::Duration;

use fumehood_core::code::Code;
use fumehood_core::receipt::{Captured, Closing, Opening, Processes, Receipt, Verdict};
use fumehood_core::tool::{Failure, Retry, Tier};
use fumehood_core::{EventKind, Now, ReceiptId, WallTime};

use super::course::Course;
use super::denial::stale;
use super::{Completed, Gate, undecided};
use crate::clearance::{About, Accepted, Attempt, Clearance, millis};
use crate::error::{Excerpt, GateError, Ran};
use crate::guard::caught;
use crate::ports::{Clock as _, Kept, Outage, Spool};
use crate::record;
use crate::runner::{RawOutput, RunError, Stream};

/// What one attempt gave, kept and judged.
struct Done {
    raw: RawOutput,
    kept: Option<Kept>,
    errors_kept: Option<Kept>,
    closing: Closing,
    message: Option<String>,
    elapsed: Duration,
}

impl Course<'_> {
    /// Runs the call, once and again as the table says, and closes its record. Without a record there is no success.
    pub(super) fn perform(&self, mut clearance: Clearance) -> Result<Completed, GateError> {
        // Nothing runs whose result has no room.
        let mut spool = Some(self.room()?);
        let opening = self.open(&clearance)?;
        let started = self.gate.ports.clock.now();
        let mut number = 0;
        loop {
            number += 1;
            let room = spool.take().map_or_else(|| self.room(), Ok);
            let done = match room.and_then(|room| self.may_begin(&clearance, number).map(|()| room)) {
                Ok(room) => self.attempt(&mut clearance, &opening, number, started, room),
                Err(error) => return self.not_begun(opening, number - 1, started, error),
            };
            match verdict(&opening, &done.closing) {
                Verdict::Succeeded => {
                    let completed = self.succeed(opening, done)?;
                    clearance.recorded();
                    return Ok(completed);
                }
                Verdict::Failed(failure, code) if self.is_tried_again(&done, failure, number) => {
                    self.failed(&done, failure, code, None);
                }
                Verdict::Failed(failure, code) => return self.fail(opening, done, failure, code),
            }
        }
    }

    /// As the table says, and never beside processes that an attempt may have left.
    fn is_tried_again(&self, done: &Done, failure: Failure, number: u32) -> bool {
        done.closing.processes != Processes::Unproven && self.spec().retry(failure, number) == Retry::Eligible
    }

    fn room(&self) -> Result<Box<dyn Spool>, GateError> {
        let Gate { agent, run, ports, .. } = self.gate;
        let spool = ports.results.begin(agent, *run);
        spool.map_err(|outage| GateError::new(Failure::Host, outage.code, outage.message))
    }

    /// Opens the record, on the disk before anything starts.
    fn open(&self, clearance: &Clearance) -> Result<Opening, GateError> {
        let Gate { agent, run, ports, state_folder, .. } = self.gate;
        let id = ports.entropy.bytes().map_err(|outage| undecided(self.spec(), &outage))?;
        let (spec, plan) = (self.spec(), clearance.plan());
        let mut limits = plan.limits;
        limits.wall = Some(plan.wall(spec.timeout()));
        let opening = Opening {
            id: ReceiptId::from_random(id),
            run: *run,
            call: self.id,
            agent: agent.clone(),
            tool: spec.name().clone(),
            tier: spec.tier(),
            skill: plan.skill.as_ref().map(crate::plan::PlannedSkill::identity),
            interpreter: plan.interpreter.clone(),
            workspace: plan.workspace.clone(),
            binding: clearance.binding(),
            arguments: clearance.call().invocation().sha256(),
            authority: clearance.authority().clone(),
            containment: plan.containment.clone(),
            limits,
            unsafe_controls: plan.unsafe_controls.clone(),
            state_folder: state_folder.clone(),
            started: ports.clock.wall(),
        };
        let written = record::open(&*ports.journal, &opening);
        written.map_err(|outage| undecided(self.spec(), &outage))?;
        Ok(opening)
    }

    /// Whatever changed since the yes or the last attempt: what may not run any more does not.
    fn may_begin(&self, clearance: &Clearance, number: u32) -> Result<(), GateError> {
        self.alive()?;
        if number > 1 {
            self.still_offered()?;
            let (binding, leave) = self.allowed(clearance.plan())?;
            if !clearance.stands_under(&leave) {
                return Err(self.not_allowed_any_more());
            }
            if binding != clearance.binding() {
                return Err(stale());
            }
        }
        Ok(())
    }

    fn attempt(
        &self,
        clearance: &mut Clearance,
        opening: &Opening,
        number: u32,
        started: Now,
        room: Box<dyn Spool>,
    ) -> Done {
        self.say(EventKind::ToolCalled { attempt: number });
        let clock = &self.gate.ports.clock;
        let began = clock.now();
        let raw = self.run(clearance, opening, number);
        let (kept, errors_kept, keeping) = self.keep(&raw, room);
        let mut done = Done {
            closing: closing(&raw, number, kept, errors_kept, clock.wall()),
            message: raw.error.as_ref().map(|error| error.message.clone()),
            raw,
            kept,
            errors_kept,
            elapsed: Duration::ZERO,
        };
        // A run that failed has failed as it did, kept or not.
        if let (Err(outage), Verdict::Succeeded) = (keeping, verdict(opening, &done.closing)) {
            done.failed(Failure::Host, outage.code, outage.message);
        }
        if verdict(opening, &done.closing) == Verdict::Succeeded {
            match self.apply(clearance, opening) {
                Ok(applied) => done.closing.applied = applied,
                Err(error) => done.failed(error.failure, error.code, error.message),
            }
        }
        let now = clock.now();
        done.elapsed = now.since(began);
        (done.closing.ended, done.closing.elapsed) = (clock.wall(), now.since(started));
        done
    }

    /// The only caller of any runner.
    fn run(&self, clearance: &mut Clearance, opening: &Opening, number: u32) -> RawOutput {
        let tier = self.spec().tier();
        let wall = clearance.plan().wall(self.spec().timeout());
        let say = |kind| self.say(kind);
        let (runner, call, plan, live) = clearance.parts();
        let about = self.about(opening);
        let attempt = Attempt { call, plan, about, number, wall, cancel: self.cancel, live, say: &say };
        runner.step(|runner| runner.run(attempt)).unwrap_or_else(|| {
            let error = RunError::of(Failure::Execution, tier, "the tool failed in a way it does not expect");
            let processes = match tier {
                Tier::Remote | Tier::Module => Processes::NoneStarted,
                // Whoever would have shown that none is left did not come back.
                Tier::Isolated | Tier::Script | Tier::Checked => Processes::Unproven,
            };
            RawOutput { processes, ..RawOutput::failed(error) }
        })
    }

    fn apply(
        &self,
        clearance: &mut Clearance,
        opening: &Opening,
    ) -> Result<Vec<fumehood_core::receipt::Applied>, RunError> {
        let accepted = Accepted { about: self.about(opening), cancel: self.cancel };
        let (runner, ..) = clearance.parts();
        runner.step(|runner| runner.apply(accepted)).unwrap_or_else(|| {
            let message = "applying the changes met a state it does not expect; look at the files";
            Err(RunError::new(Failure::Host, Code::Internal, message))
        })
    }

    fn about<'a>(&'a self, opening: &Opening) -> About<'a> {
        About { agent: &self.gate.agent, run: self.gate.run, id: self.id, receipt: opening.id }
    }

    /// Keeps both streams, of a failed run too: what it wrote is how somebody finds out why.
    fn keep(
        &self,
        raw: &RawOutput,
        room: Box<dyn Spool>,
    ) -> (Option<Kept>, Option<Kept>, Result<(), Outage>) {
        let output = put(room, &raw.output);
        let errors = if raw.errors.bytes.is_empty() {
            Ok(None)
        } else {
            let Gate { agent, run, ports, .. } = self.gate;
            ports.results.begin(agent, *run).and_then(|spool| put(spool, &raw.errors)).map(Some)
        };
        let result = output.as_ref().err().or(errors.as_ref().err()).cloned().map_or(Ok(()), Err);
        (output.ok(), errors.ok().flatten(), result)
    }

    /// A call that was cleared, and the next attempt of which may not begin. Its record says so; no event does, since each
    /// attempt that was called has its end already.
    fn not_begun(
        &self,
        opening: Opening,
        attempts: u32,
        started: Now,
        error: GateError,
    ) -> Result<Completed, GateError> {
        self.told(&error);
        let clock = &self.gate.ports.clock;
        let raw = RawOutput::failed(RunError::new(error.failure, error.code, error.message.clone()));
        let elapsed = clock.now().since(started);
        let closing = Closing { elapsed, ..closing(&raw, attempts, None, None, clock.wall()) };
        let done =
            Done { raw, kept: None, errors_kept: None, closing, message: None, elapsed: Duration::ZERO };
        let receipt = Receipt::close(opening, done.closing.clone());
        // It did not run, whether or not that can be written down.
        let _ = record::close(&*self.gate.ports.journal, &receipt);
        Err(self.failure(done, receipt.opening().id, error))
    }

    fn succeed(&self, opening: Opening, done: Done) -> Result<Completed, GateError> {
        let Some(kept) = done.kept else { return self.no_record(opening.id, done) };
        let receipt = Receipt::close(opening, done.closing.clone());
        if record::close(&*self.gate.ports.journal, &receipt).is_err() {
            return self.no_record(receipt.opening().id, done);
        }
        let id = receipt.opening().id;
        self.say(EventKind::ToolCompleted {
            attempt: done.closing.attempts,
            elapsed_ms: millis(done.elapsed),
            artifact: Some(kept.id),
            receipt: Some(id),
            fallback: done.closing.fallback,
        });
        Ok(Completed {
            call: self.id,
            receipt: id,
            kept,
            errors_kept: done.errors_kept,
            output: Excerpt(done.raw.output.bytes),
            dropped: done.raw.output.dropped,
            errors: Excerpt(done.raw.errors.bytes),
            errors_dropped: done.raw.errors.dropped,
            exit: done.raw.exit,
            applied: done.closing.applied,
            fallback: done.closing.fallback,
            elapsed: done.elapsed,
        })
    }

    /// It ran, and that cannot be written down: no receipt, no success.
    fn no_record(&self, receipt: ReceiptId, done: Done) -> Result<Completed, GateError> {
        let code = Code::StateUnavailable;
        // Behind a fallback stands an attempt that was told as failed.
        if !done.closing.fallback {
            self.failed(&done, Failure::Host, code, Some(receipt));
        }
        let message = match done.closing.applied.len() {
            0 => "the tool ran, and its record could not be closed",
            _ => "the tool ran and files were changed, and its record could not be closed",
        };
        Err(self.failure(done, receipt, GateError::new(Failure::Host, code, message)))
    }

    fn fail(
        &self,
        opening: Opening,
        mut done: Done,
        failure: Failure,
        code: Code,
    ) -> Result<Completed, GateError> {
        done.closing.failure = Some((failure, code));
        if let Some((answer, kept)) = self.fall_back(failure) {
            self.failed(&done, failure, code, Some(opening.id));
            return self.succeed(opening, stand_in(done, answer, kept));
        }
        let receipt = Receipt::close(opening, done.closing.clone());
        // The call has failed as it is; that its record stays open says the rest.
        let _ = record::close(&*self.gate.ports.journal, &receipt);
        self.failed(&done, failure, code, Some(receipt.opening().id));
        let message = done.message.clone().unwrap_or_else(|| sentence(&done.closing, code));
        Err(self.failure(done, receipt.opening().id, GateError::new(failure, code, message)))
    }

    /// What the host answers in the tool's place, kept; nothing where that fails, too.
    fn fall_back(&self, failure: Failure) -> Option<(Stream, Kept)> {
        let fallback = self.offer.fallback().filter(|_| self.spec().may_fall_back(failure))?;
        let answer = Stream { bytes: caught(|| fallback(failure))?.into(), dropped: 0 };
        let kept = self.room().ok().and_then(|room| put(room, &answer).ok())?;
        Some((answer, kept))
    }

    fn failed(&self, done: &Done, failure: Failure, code: Code, receipt: Option<ReceiptId>) {
        let (attempt, elapsed_ms) = (done.closing.attempts, millis(done.elapsed));
        self.say(EventKind::ToolFailed { attempt, elapsed_ms, failure, code, receipt });
    }

    fn failure(&self, done: Done, receipt: ReceiptId, error: GateError) -> GateError {
        let ran = Ran {
            receipt,
            artifact: done.kept.map(|kept| kept.id),
            errors_artifact: done.errors_kept.map(|kept| kept.id),
            exit: done.raw.exit,
            killed: done.raw.killed,
            processes: done.closing.processes,
            output: Excerpt(done.raw.output.bytes),
            dropped: done.raw.output.dropped,
            errors: Excerpt(done.raw.errors.bytes),
            errors_dropped: done.raw.errors.dropped,
            elapsed: done.elapsed,
        };
        GateError { ran: Some(Box::new(ran)), ..error.in_call(self.id) }
    }
}

impl Done {
    fn failed(&mut self, failure: Failure, code: Code, message: String) {
        (self.closing.failure, self.message) = (Some((failure, code)), Some(message));
    }
}

fn verdict(opening: &Opening, closing: &Closing) -> Verdict {
    fumehood_core::receipt::verdict(opening, closing)
}

/// The record keeps that the tool failed and what it wrote to standard error, and says that a fallback stands in. Whoever
/// called gets the fallback and nothing of the failure (XSF-45).
fn stand_in(mut done: Done, answer: Stream, kept: Kept) -> Done {
    (done.closing.artifact, done.closing.fallback) = (Some(kept.id), true);
    done.closing.output = Captured { kept_bytes: kept.bytes, dropped_bytes: 0 };
    done.raw = RawOutput { output: answer, errors: Stream::default(), exit: None, ..done.raw };
    (done.kept, done.errors_kept) = (Some(kept), None);
    done
}

fn put(mut spool: Box<dyn Spool>, stream: &Stream) -> Result<Kept, Outage> {
    spool.write(&stream.bytes)?;
    spool.finish()
}

fn closing(
    raw: &RawOutput,
    attempts: u32,
    kept: Option<Kept>,
    errors_kept: Option<Kept>,
    ended: WallTime,
) -> Closing {
    let captured = |stream: &Stream, kept: Option<Kept>| Captured {
        kept_bytes: kept.map_or(0, |kept| kept.bytes),
        dropped_bytes: stream.dropped,
    };
    Closing {
        attempts,
        failure: raw.error.as_ref().map(|error| (error.failure, error.code)),
        exit: raw.exit,
        killed: raw.killed,
        output: captured(&raw.output, kept),
        errors: captured(&raw.errors, errors_kept),
        artifact: kept.map(|kept| kept.id),
        errors_artifact: errors_kept.map(|kept| kept.id),
        applied: Vec::new(),
        processes: match raw.processes {
            // A program that ended was started.
            Processes::NoneStarted if raw.exit.is_some() || raw.killed.is_some() => Processes::Unproven,
            processes => processes,
        },
        fallback: false,
        ended,
        elapsed: Duration::ZERO,
    }
}

/// What to say about a failure that nobody explained.
fn sentence(closing: &Closing, code: Code) -> String {
    use fumehood_core::receipt::{Exit, Killed};
    match (closing.killed, closing.exit) {
        (Some(Killed::Deadline), _) => "the script did not end in time and was killed".to_owned(),
        (Some(Killed::Output), _) => "the script wrote more than it may and was killed".to_owned(),
        (Some(Killed::Cancelled), _) => "the call was cancelled, and the script was killed".to_owned(),
        (Some(Killed::Content), _) => "what the script wrote cannot be taken, and it was killed".to_owned(),
        (None, Some(Exit::Code(exit))) => format!("the script ended with exit code {exit}"),
        (None, Some(Exit::Signal(signal))) => format!("the script was ended by signal {signal}"),
        (None, None) => code.sentence().trim_end_matches('.').to_owned(),
    }
}
