//! `policy`: reads what the person decided, and changes it for a person at a terminal.

use std::process::ExitCode;

use fumehood_core::{Class, Code};

use super::args::{ExplainArgs, PolicyCommand};
use super::call;
use super::editor::Editor;
use super::output::Output;
use super::terminal::{self, Terminal};
use super::{done, host, render};
use crate::fault::Fault;
use crate::host::{CallRequest, Host, PolicyChange, PolicyEdit, WalkLimits};
use crate::report::{PolicyExplainReport, PolicySavedReport};

pub(super) fn policy(command: PolicyCommand, out: &Output) -> Result<ExitCode, Fault> {
    match command {
        PolicyCommand::Check => {
            let report = host(WalkLimits::default())?.check_policy()?;
            out.answer(&report, |text| render::policy::check(text, &report))?;
            Ok(passed(report.error.is_none()))
        }
        PolicyCommand::Explain(args) => {
            let report = explained(&host(args.options.from.search.limits())?, *args)?;
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
                PolicyChange::Malformed(error) => return Err(malformed(&error.message)),
                PolicyChange::Ask(preview) => {
                    let vouched = terminal::confirm(&host, &render::policy::question(&preview))?;
                    host.save_policy(&preview, vouched)?
                }
            };
            done(out, &report, |text| render::policy::saved(text, &report))
        }
        PolicyCommand::Edit => {
            let host = host(WalkLimits::default())?;
            let terminal = terminal::required()?;
            let edit = host.begin_policy_edit()?;
            let report = edited(&host, &terminal, &edit).map_err(|fault| edit.kept(fault))?;
            edit.remove();
            done(out, &report, |text| render::policy::saved(text, &report))
        }
    }
}

/// A script with what `run` takes, or the checked tool with what `call` takes.
fn explained(host: &Host, args: ExplainArgs) -> Result<PolicyExplainReport, Fault> {
    let ExplainArgs { skill, script, input, options } = args;
    let Some(input) = input else {
        return host.explain_policy(&options.request(skill, script.unwrap_or_default()));
    };
    let wrong = |message: &str| Fault::new(Code::ArgumentInvalid, message, "`fumehood call` takes the same");
    let workspace = match options.workspace {
        Some((_, true)) => return Err(wrong("a checked tool may read a workspace and never change it")),
        workspace => workspace.map(|(folder, _)| folder),
    };
    let timeout = options.timeout.map(u32::try_from).transpose();
    host.explain_policy_of_call(&CallRequest {
        skill,
        roots: options.from.roots,
        input: call::input(input)?,
        workspace,
        timeout_ms: timeout.map_err(|_| wrong("a timeout for a checked tool is in milliseconds"))?,
        approve: options.approve,
    })
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
                    return Err(malformed(&error.message));
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

fn malformed(message: &str) -> Fault {
    let message = format!("the draft is no policy: {message}");
    Fault::new(Code::PolicyInvalid, message, "policy.toml is as it was")
}

fn passed(is_good: bool) -> ExitCode {
    ExitCode::from(if is_good { 0 } else { Class::Invalid.exit_code() })
}
