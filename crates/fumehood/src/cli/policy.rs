//! `policy`: reads what the person decided, and changes nothing.

use std::process::ExitCode;

use fumehood_core::{Class, Code};

use super::args::{ExplainArgs, PolicyCommand};
use super::call;
use super::output::Output;
use super::{done, host, render};
use crate::fault::Fault;
use crate::host::{CallRequest, Host, WalkLimits};
use crate::report::PolicyExplainReport;

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

fn passed(is_good: bool) -> ExitCode {
    ExitCode::from(if is_good { 0 } else { Class::Invalid.exit_code() })
}
