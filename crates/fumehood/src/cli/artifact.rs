//! `artifact`: as it is into a pipe or file, made visible on a terminal, bounded in JSON.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use fumehood_core::{Class, Code};

use super::args::{ArtifactCommand, GrepArgs, IdArgs, PruneArgs, SliceArgs};
use super::interrupt::Interrupt;
use super::output::{self, Output};
use super::{done, render};
use crate::fault::Fault;
use crate::host::{ArtifactPrune, ArtifactSearch, Asker, ByteRange, Case, Host, LineRange, Part};
use crate::report::{ArtifactGrepReport, ArtifactSizeReport};

pub(super) fn artifact(host: &Host, command: ArtifactCommand, out: &Output) -> Result<ExitCode, Fault> {
    match command {
        ArtifactCommand::List => {
            let report = host.artifacts(Asker::Person)?;
            done(out, &report, |text| render::artifact::list(text, &report))
        }
        ArtifactCommand::Head(args) => lines(host, &args.id, LineRange::Head(args.lines), out),
        ArtifactCommand::Tail(args) => lines(host, &args.id, LineRange::Tail(args.lines), out),
        ArtifactCommand::Cat(args) => {
            let (first, last) = args.line.unwrap_or((1, None));
            lines(host, &args.id, LineRange::Numbers(first, last), out)
        }
        ArtifactCommand::Grep(args) => grep(host, &args, out),
        ArtifactCommand::Slice(args) => slice(host, &args, out),
        ArtifactCommand::ByteLength(args) => size(host, &args, out, |report| report.byte_length),
        ArtifactCommand::LineCount(args) => size(host, &args, out, |report| report.line_count),
        ArtifactCommand::EstimateTokens(args) => size(host, &args, out, |report| report.estimated_tokens),
        ArtifactCommand::Prune(args) => prune(host, args, out),
    }
}

/// Whether the answer is one to look at, and not the bytes themselves.
fn is_shown(out: &Output) -> bool {
    out.is_json() || output::is_terminal()
}

fn lines(host: &Host, id: &str, range: LineRange, out: &Output) -> Result<ExitCode, Fault> {
    if !is_shown(out) {
        return raw(host, id, Part::Lines(range));
    }
    let report = host.artifact_lines(Asker::Person, id, range)?;
    out.answer(&report, |text| render::artifact::lines(text, &report))?;
    if let Some(next) = report.next_line.filter(|_| !out.is_json()) {
        output::note(&format!(
            "only {} lines are shown; go on with `fumehood artifact cat {} --line {next}..`, or send all of it to a \
             file or pipe",
            report.lines.len(),
            report.id
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn slice(host: &Host, args: &SliceArgs, out: &Output) -> Result<ExitCode, Fault> {
    let range = ByteRange { offset: args.offset, length: args.length };
    if !is_shown(out) {
        return raw(host, &args.id, Part::Bytes(range));
    }
    let report = host.artifact_slice(Asker::Person, &args.id, range)?;
    out.answer(&report, |text| render::artifact::slice(text, &report))?;
    if let Some(next) = report.next_offset.filter(|_| !out.is_json()) {
        output::note(&format!(
            "only {} bytes are shown; go on with --offset {next}, or send all of it to a file or pipe",
            report.length
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// However large it is, and whatever it waits for: nothing is left to put away.
fn raw(host: &Host, id: &str, part: Part) -> Result<ExitCode, Fault> {
    Interrupt::end_at_once()?;
    host.read_artifact(Asker::Person, id, part, &mut output::raw_while_read)?;
    Ok(ExitCode::SUCCESS)
}

fn size(
    host: &Host,
    args: &IdArgs,
    out: &Output,
    number: impl Fn(&ArtifactSizeReport) -> u64,
) -> Result<ExitCode, Fault> {
    let report = host.artifact_size(Asker::Person, &args.id)?;
    done(out, &report, |text| render::artifact::number(text, number(&report)))
}

fn grep(host: &Host, args: &GrepArgs, out: &Output) -> Result<ExitCode, Fault> {
    let interrupt = Interrupt::watch()?;
    let shown = is_shown(out);
    let search = ArtifactSearch {
        pattern: &args.pattern,
        fixed: args.fixed,
        case: if args.ignore_case { Case::Either } else { Case::Exact },
        from: args.from,
        context: args.context,
        hits_max: usize::try_from(args.max).unwrap_or(usize::MAX),
        // Room for a whole screen of context around a match; a program can use more of a line than a person.
        line_bytes: if shown { 4 << 10 } else { 64 << 10 },
        deadline: Instant::now() + Duration::from_secs(args.deadline),
    };
    let report = host.search_artifact(Asker::Person, &args.id, &search, &mut || !interrupt.was_asked())?;
    // What was found is still printed, but nobody has to wait for a reader.
    Interrupt::end_at_once()?;
    if shown {
        out.answer(&report, |text| render::artifact::grep(text, &report))?;
    } else {
        output::raw(&render::artifact::grep_raw(&report, args.line_number))?;
    }
    if !out.is_json() {
        said(&report, args.deadline);
    }
    let cancelled = report.stopped == Some("cancelled");
    Ok(ExitCode::from(if cancelled { Class::Cancelled.exit_code() } else { 0 }))
}

/// What a search did not find or show, and how to get at it.
fn said(report: &ArtifactGrepReport, deadline: u64) {
    let stopped = match report.stopped {
        _ if report.lines_cut => "the lines do not all fit".to_owned(),
        Some("hits") => format!("stopped after {} matching lines", report.hits.len()),
        Some("deadline") => format!("stopped after {deadline} seconds"),
        Some(_) => "stopped by Ctrl-C".to_owned(),
        None => String::new(),
    };
    if let Some(next) = report.next_offset {
        output::note(&format!("{stopped}; go on with --from {next}"));
    } else if report.hits.is_empty() {
        output::note("no line matches");
    }
    if report.pieces > 0 {
        output::note(
            "a line above 64 KiB was searched in pieces: '^' and '$' match at their ends, and a match above 4 KiB may \
             be missed",
        );
    }
    let cut = report.lines.iter().filter(|line| line.line.cut_before + line.line.cut_after > 0);
    match cut.count() {
        0 => {}
        cut => output::note(&format!(
            "{cut} of the lines are only shown in part; `fumehood artifact cat --line` has them whole"
        )),
    }
}

fn prune(host: &Host, args: PruneArgs, out: &Output) -> Result<ExitCode, Fault> {
    let PruneArgs { ids, older_than, keep_bytes, dry_run } = args;
    let rule = ArtifactPrune { older_than, keep_bytes, ids };
    let report = host.prune_artifacts(&rule, SystemTime::now(), dry_run)?;
    out.answer(&report, |text| render::artifact::prune(text, &report))?;
    // The rest was done, and is in the answer.
    let code = if report.missing.is_empty() { 0 } else { Code::ArtifactNotFound.class().exit_code() };
    Ok(ExitCode::from(code))
}
