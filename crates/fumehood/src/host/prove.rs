//! `doctor --prove`: every attack of the list, tried on this machine.

use fumehood_core::Code;
use fumehood_sandbox::prove::{Proof, Verdict, attacks, prove_one};

use super::Host;
use super::doctor::refusal;
use crate::fault::Fault;
use crate::report::{AttackReport, ProofSummary, ProveReport, SCHEMA_VERSION};

/// What a proof tells while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum ProveStep<'r> {
    /// The sandbox is there.
    Begins {
        /// Its level.
        level: &'static str,
        /// How many attacks there are.
        attacks: usize,
    },
    /// An attack begins.
    Tries {
        /// Which one, from 1.
        number: usize,
        /// Its name.
        name: &'static str,
    },
    /// It is over.
    Tried(&'r AttackReport),
}

impl Host {
    /// Tries every attack on this machine, one after the other; takes about half a minute. What does not hold is part of
    /// the answer: see [`ProofSummary::code`].
    ///
    /// `is_cancelled` is asked after each attack. An error of `tell` ends it.
    ///
    /// # Errors
    /// `E_SANDBOX_UNAVAILABLE` without a sandbox, `E_CANCELLED`, whatever `tell` returns.
    ///
    /// # Authority
    /// Runs code of fumehood's own that attacks, in the sandbox and outside: makes folders under the temporary folder and
    /// removes them, starts processes, listens on loopback. The program must call
    /// [`helper::dispatch`](crate::helper::dispatch) as its first line.
    pub fn prove(
        &self,
        is_cancelled: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(ProveStep<'_>) -> Result<(), Fault>,
    ) -> Result<ProveReport, Fault> {
        let sandbox = self.sandbox().map_err(|error| {
            let refusal = refusal(&error);
            let message = format!(
                "this machine cannot confine a program, so there is nothing to prove: {}",
                refusal.message
            );
            Fault::new(Code::SandboxUnavailable, message, refusal.remedy)
        })?;
        // The link is resolved here: for the attackers it would be another program's.
        let program = std::env::current_exe().map_err(|error| {
            let message = format!("fumehood cannot find its own program: {error}");
            Fault::new(Code::SandboxUnavailable, message, "see that /proc is mounted")
        })?;
        let level = sandbox.enforcement().level().as_str();
        let (all, mut summary) = (attacks(), ProofSummary::default());
        let mut tried = Vec::with_capacity(all.len());
        tell(ProveStep::Begins { level, attacks: all.len() })?;
        for (position, attack) in all.iter().enumerate() {
            tell(ProveStep::Tries { number: position + 1, name: attack.name })?;
            let attack = report(prove_one(&sandbox, &program, attack));
            // An interrupt reaches attackers too, so what was just seen is no verdict.
            if is_cancelled() {
                let message = format!("stopped after {position} of {} attacks", all.len());
                return Err(Fault::new(Code::Cancelled, message, "run it again to the end for a verdict"));
            }
            summary.count(&attack);
            tell(ProveStep::Tried(&attack))?;
            tried.push(attack);
        }
        let code = summary.code().map(Code::as_str);
        Ok(ProveReport { schema_version: SCHEMA_VERSION, level, code, summary, attacks: tried })
    }
}

fn report(Proof { attack, verdict, .. }: Proof) -> AttackReport {
    let (verdict, detail) = match verdict {
        Verdict::Held => ("held", None),
        Verdict::Broken(why) => ("broken", Some(why)),
        Verdict::NotRun(why) => ("not_run", Some(why)),
    };
    AttackReport { name: attack.name, what: attack.what, seen: attack.seen, met: attack.met, verdict, detail }
}
