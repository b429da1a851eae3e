//! `policy`: reads what the person decided, and changes nothing.

use std::process::ExitCode;

use fumehood_core::Class;

use super::args::PolicyCommand;
use super::output::Output;
use super::{done, host, render};
use crate::fault::Fault;
use crate::host::{RunRequest, WalkLimits};

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
    }
}

fn passed(is_good: bool) -> ExitCode {
    ExitCode::from(if is_good { 0 } else { Class::Invalid.exit_code() })
}
