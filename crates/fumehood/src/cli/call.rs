//! `call`: takes JSON from where the person says, asks at the terminal, and hands on the answer.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::ExitCode;

use fumehood_core::limits::INVOCATION_BYTES_MAX;
use fumehood_core::{Code, Shown};

use super::args::CallArgs;
use super::output::{self, DIM, Output, RESET};
use super::run::attended;
use crate::fault::Fault;
use crate::host::{CallInput, CallRequest, Host};
use crate::report::CallReport;

pub(super) fn call(host: &Host, args: CallArgs, out: &Output) -> Result<ExitCode, Fault> {
    let request = CallRequest {
        skill: args.skill,
        roots: args.from.roots,
        input: input(args.input)?,
        workspace: args.workspace,
        timeout_ms: args.timeout,
        approve: args.approve,
    };
    let ended = attended(|person, cancel, tell| host.call(&request, person, cancel, move |step| tell(step)))?;
    let report = ended?;
    out.outcome(&report, report.failure.as_ref(), show)
}

/// Where the arguments are, and what they are if they are here.
pub(super) fn input(typed: OsString) -> Result<CallInput, Fault> {
    if typed == "-" {
        let mut bytes = Vec::new();
        // One byte more than may be, so that too much of it is refused and not cut.
        let most = INVOCATION_BYTES_MAX as u64 + 1;
        let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
        read.map_err(|error| {
            let message = format!("standard input cannot be read: {}", error.kind());
            Fault::new(Code::FileUnreadable, message, "name a file with @FILE instead")
        })?;
        return Ok(CallInput::Json(bytes));
    }
    Ok(match typed.as_bytes().strip_prefix(b"@") {
        Some(path) => CallInput::File(OsStr::from_bytes(path).into()),
        None => CallInput::Json(typed.into_vec()),
    })
}

/// The answer alone on standard output, in a form that no terminal acts on; the rest on standard error.
fn show(report: &CallReport) -> Result<(), Fault> {
    if let Some(answer) = report.output() {
        output::json(answer)?;
    }
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if this fails.
    let _ = if stderr.is_terminal() {
        let text = String::from_utf8_lossy(&report.errors);
        let mut shown = Shown::block(&output::uncoloured(&text)).to_string();
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        stderr.write_all(shown.as_bytes())
    } else {
        stderr.write_all(&report.errors)
    };
    drop(stderr);
    if io::stderr().is_terminal() {
        let facts = report.result.facts();
        let receipt = facts.receipt.map_or_else(|| "none".to_owned(), |receipt| receipt.to_string());
        let mut stderr = anstream::AutoStream::auto(io::stderr().lock());
        let _ = writeln!(stderr, "{DIM}{} ms · receipt {receipt}{RESET}", facts.elapsed.as_millis());
    }
    Ok(())
}
