//! `trust`: what runs without a question, by a person at a terminal.

use std::process::ExitCode;

use super::args::TrustCommand;
use super::output::Output;
use super::{done, host, render, terminal};
use crate::fault::Fault;
use crate::host::{TrustRequest, WalkLimits};

pub(super) fn trust(command: TrustCommand, out: &Output) -> Result<ExitCode, Fault> {
    match command {
        TrustCommand::Add(args) => {
            let host = host(args.from.search.limits())?;
            let preview = host.preview_scope(&TrustRequest::from(*args))?;
            let vouched = terminal::confirm(&host, &render::scopes::question(&preview))?;
            let report = host.save_scope(&preview, vouched)?;
            done(out, &report, |text| render::scopes::saved(text, &report))
        }
        TrustCommand::List => {
            let report = host(WalkLimits::default())?.scopes()?;
            done(out, &report, |text| render::scopes::list(text, &report))
        }
        TrustCommand::Show(args) => {
            let report = host(WalkLimits::default())?.scope(&args.id)?;
            done(out, &report, |text| render::scopes::show(text, &report))
        }
        TrustCommand::Remove(args) => {
            let report = host(WalkLimits::default())?.remove_scope(&args.id)?;
            done(out, &report, |text| render::scopes::removed(text, &report))
        }
    }
}
