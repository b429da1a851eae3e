//! `interpreters`: the list, and pinning one anew after a person said yes.

use std::process::ExitCode;

use super::args::{InterpretersArgs, InterpretersCommand};
use super::output::Output;
use super::{done, render, terminal};
use crate::fault::Fault;
use crate::host::{Host, Repin};

pub(super) fn interpreters(host: &Host, args: &InterpretersArgs, out: &Output) -> Result<ExitCode, Fault> {
    match &args.command {
        None | Some(InterpretersCommand::List) => {
            let report = host.interpreters()?;
            done(out, &report, |text| render::interpreters::list(text, &report))
        }
        Some(InterpretersCommand::Repin { key }) => {
            let report = match host.preview_repin(key)? {
                Repin::Nothing(report) => report,
                Repin::Ask(preview) => {
                    let vouched = terminal::confirm(host, &render::interpreters::question(&preview))?;
                    host.repin(&preview, vouched)?
                }
            };
            done(out, &report, |text| render::interpreters::answer(text, &report))
        }
    }
}
