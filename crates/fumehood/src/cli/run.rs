//! `run`: asks at the terminal, waits, and hands on what the script wrote.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::Shown;

use super::args::RunArgs;
use super::interrupt::Interrupt;
use super::output::{self, DIM, GOOD, Output, RESET, WARNING};
use super::render;
use super::terminal::{self, Terminal};
use crate::fault::Fault;
use crate::host::{Cancel, Host, Person, RunRequest, RunStep};
use crate::report::{Answer, AppliedFile, Question, RunReport, Written};

pub(super) fn run(host: &Host, args: RunArgs, out: &Output) -> Result<ExitCode, Fault> {
    let interrupt = Arc::new(Interrupt::watch()?);
    let cancel = Cancel::new();
    let is_done = Arc::new(AtomicBool::new(false));
    let watch = watch(Arc::clone(&interrupt), cancel.clone(), Arc::clone(&is_done));
    // Who cannot be asked cannot say yes.
    let person = Terminal::open().map(|terminal| Arc::new(AtTerminal { terminal }) as Arc<dyn Person>);
    let clock = Arc::new(Clock::default());
    let told = Arc::clone(&clock);
    let ended = host.run(&RunRequest::from(args), person, &cancel, move |step| told.hear(step));
    is_done.store(true, Ordering::Release);
    let _ = watch.join();
    clock.clear();
    let report = ended?;
    if out.is_json() {
        out.answer(&report, |_| {})?;
    } else {
        show(&report)?;
    }
    match report.failure {
        // The answer said it already, in the form that was asked for.
        Some(fault) if out.is_json() => Ok(ExitCode::from(fault.class.exit_code())),
        Some(fault) => Err(fault),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Passes Ctrl-C on, and shows how long it takes once it takes long.
fn watch(interrupt: Arc<Interrupt>, cancel: Cancel, is_done: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !is_done.load(Ordering::Acquire) {
            if interrupt.was_asked() && !cancel.is_cancelled() {
                cancel.cancel();
                if io::stderr().is_terminal() {
                    let _ =
                        writeln!(io::stderr(), "\rstopping: everything that the script started is killed");
                }
            }
            thread::sleep(LOOK_UP);
        }
    })
}

/// The person at the controlling terminal.
struct AtTerminal {
    terminal: Terminal,
}

impl Person for AtTerminal {
    fn ask(&self, question: &Question, is_over: &dyn Fn() -> bool) -> Answer {
        let asked = self.terminal.ask(&render::question::question(question), DEAD_TIME, is_over);
        if asked.is_ok_and(|answer| terminal::is_yes(&answer)) { Answer::Once } else { Answer::No }
    }
}

/// Shows on a terminal that the script runs, once that takes longer than a moment.
#[derive(Default)]
struct Clock {
    shown: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Clock {
    fn hear(&self, step: RunStep) {
        match step {
            RunStep::Started if io::stderr().is_terminal() => {
                let (shown, is_over, began) =
                    (Arc::clone(&self.shown), Arc::clone(&self.is_over), Instant::now());
                thread::spawn(move || tick(&shown, &is_over, began));
            }
            RunStep::Started => {}
            RunStep::Ended => self.is_over.store(true, Ordering::Release),
        }
    }

    fn clear(&self) {
        self.is_over.store(true, Ordering::Release);
        if self.shown.swap(false, Ordering::AcqRel) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn tick(shown: &AtomicBool, is_over: &AtomicBool, began: Instant) {
    while !is_over.load(Ordering::Acquire) {
        if began.elapsed() >= QUIET {
            shown.store(true, Ordering::Release);
            let seconds = began.elapsed().as_secs();
            let _ = write!(io::stderr(), "\rrunning for {seconds} s, Ctrl-C ends it …\u{1b}[K");
        }
        thread::sleep(Duration::from_millis(250));
    }
}

/// What the script wrote goes where its own streams would, then what there is to say about it.
fn show(report: &RunReport) -> Result<(), Fault> {
    if output::is_terminal() {
        output::raw(visible(&report.output).as_bytes())?;
    } else {
        output::raw(report.output.content.bytes())?;
    }
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if this fails.
    let _ = if stderr.is_terminal() {
        stderr.write_all(visible(&report.errors).as_bytes())
    } else {
        stderr.write_all(report.errors.content.bytes())
    };
    drop(stderr);
    let mut stderr = anstream::AutoStream::auto(io::stderr().lock());
    for (name, stream) in [("standard output", &report.output), ("standard error", &report.errors)] {
        if stream.dropped_bytes > 0 {
            let (kept, dropped) = (stream.bytes, stream.dropped_bytes);
            let _ = writeln!(
                stderr,
                "{WARNING}cut{RESET}: {dropped} bytes of {name} beyond the first {kept} were dropped"
            );
        }
    }
    for file in &report.files_applied {
        let _ = writeln!(stderr, "{GOOD}{}{RESET} {}", file.change, place(file));
    }
    if io::stderr().is_terminal() {
        let artifact = report.output.artifact.as_deref().unwrap_or("none");
        let _ = writeln!(
            stderr,
            "{DIM}{} ms · output {artifact} · receipt {}{RESET}",
            report.elapsed_ms, report.receipt
        );
    }
    Ok(())
}

fn place(file: &AppliedFile) -> String {
    Shown::inline(&file.path).at_most(usize::MAX).to_string()
}

/// Output as a person may see it, its last line ended.
fn visible(stream: &Written) -> String {
    let text = String::from_utf8_lossy(stream.content.bytes());
    let mut shown = Shown::block(&output::uncoloured(&text)).to_string();
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown
}

const LOOK_UP: Duration = Duration::from_millis(20);
/// Keys that were pressed before anybody could have read the question are no answer to it.
const DEAD_TIME: Duration = Duration::from_millis(600);
/// A script that is quicker than this needs no clock.
const QUIET: Duration = Duration::from_secs(2);
