//! `policy`: reads what the person decided, and changes it for a person at a terminal.

use std::process::ExitCode;

use fumehood_core::{Class, Code};

use super::args::PolicyCommand;
use super::editor::Editor;
use super::output::Output;
use super::terminal::{self, Terminal};
use super::{done, host, render};
use crate::fault::Fault;
use crate::host::{Host, PolicyChange, PolicyEdit, RunRequest, WalkLimits};
use crate::report::{PolicyErrorOut, PolicySavedReport};

pub(super) fn policy(command: PolicyCommand, out: &Output) -> Result<ExitCode, Fault> {
    match command {
        PolicyCommand::Check => {
            let report = host(WalkLimits::default())?.check_policy()?;
            out.answer(&report, |text| render::policy::check(text, &report))?;
            Ok(passed(report.error.is_none()))
        }
        PolicyCommand::Explain(args) => {
            let host = host(args.from.search.limits())?;
            let report = host.explain_policy(&RunRequest::from(*args))?;
            done(out, &report, |text| render::policy::explain(text, &report))
        }
        PolicyCommand::Test => {
            let report = host(WalkLimits::default())?.test_policy()?;
            out.answer(&report, |text| render::policy::test(text, &report))?;
            Ok(passed(report.missed == 0))
        }
        PolicyCommand::Mode { mode } => {
            let host = host(WalkLimits::default())?;
            let report = match host.preview_policy_mode(mode)? {
                PolicyChange::Nothing(report) => report,
                PolicyChange::Malformed(error) => return Err(malformed(&error)),
                PolicyChange::Ask(preview) => {
                    let vouched = terminal::confirm(&host, &render::policy::question(&preview))?;
                    host.save_policy(&preview, vouched)?
                }
            };
            done(out, &report, |text| render::policy::saved(text, &report))
        }
        PolicyCommand::Edit => {
            let host = host(WalkLimits::default())?;
            let terminal = terminal::needed()?;
            let edit = host.begin_policy_edit()?;
            let report = match edited(&host, &terminal, &edit) {
                Ok(report) => report,
                Err(fault) => return Err(edit.given_up(fault)),
            };
            edit.remove();
            done(out, &report, |text| render::policy::saved(text, &report))
        }
    }
}

/// Has the draft edited until it is a policy and the person said yes to it, or gave it up.
fn edited(host: &Host, terminal: &Terminal, edit: &PolicyEdit) -> Result<PolicySavedReport, Fault> {
    let editor = Editor::of_the_person()?;
    loop {
        editor.open(terminal, edit.path())?;
        match host.preview_policy_edit(edit)? {
            PolicyChange::Nothing(report) => return Ok(report),
            PolicyChange::Malformed(error) => {
                let question = render::policy::malformed(&error, edit.path());
                if terminal::says_yes(&question, &|| editor.over()).is_err() {
                    return Err(malformed(&error));
                }
            }
            PolicyChange::Ask(preview) => {
                let question = render::policy::question(&preview);
                let vouched = terminal::confirm_unless(host, &question, &|| editor.over())?;
                return host.save_policy(&preview, vouched);
            }
        }
    }
}

fn malformed(error: &PolicyErrorOut) -> Fault {
    let message = format!("the draft is no policy: {}{}", render::policy::place(error), error.message);
    Fault::new(Code::PolicyInvalid, message, "policy.toml is as it was")
}

fn passed(is_good: bool) -> ExitCode {
    ExitCode::from(if is_good { 0 } else { Class::Invalid.exit_code() })
}
