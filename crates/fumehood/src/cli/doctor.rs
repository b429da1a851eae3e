//! `doctor`: the examination, and the proof with one line for each attack as it goes.

use std::process::ExitCode;

use fumehood_core::Code;

use super::args::DoctorArgs;
use super::interrupt::Interrupt;
use super::output::Output;
use super::progress::Progress;
use super::render;
use crate::fault::Fault;
use crate::host::{Host, ProveStep};

pub(super) fn doctor(host: &Host, args: &DoctorArgs, out: &Output) -> Result<ExitCode, Fault> {
    if args.prove {
        return prove(host, out);
    }
    let report = host.doctor();
    out.answer(&report, |text| render::doctor::doctor(text, &report))?;
    Ok(exit(report.code()))
}

fn prove(host: &Host, out: &Output) -> Result<ExitCode, Fault> {
    let interrupt = Interrupt::watch()?;
    let mut progress = Progress::start();
    let mut total = 0;
    let report = host.prove(&|| interrupt.was_asked(), &mut |step| match step {
        ProveStep::Begins { level, attacks } => {
            total = attacks;
            out.part(|text| render::doctor::begin(text, level, attacks))
        }
        ProveStep::Tries { number, name } => {
            progress.attack(number, total, name);
            Ok(())
        }
        ProveStep::Tried(attack) => {
            progress.clear();
            out.part(|text| render::doctor::attack(text, attack))
        }
    })?;
    out.answer(&report, |text| render::doctor::summary(text, &report))?;
    Ok(exit(report.summary.code()))
}

/// What is wrong is told in the answer already; this tells programs.
fn exit(code: Option<Code>) -> ExitCode {
    ExitCode::from(code.map_or(0, |code| code.class().exit_code()))
}
