//! `run`: asks at the terminal, waits, and hands on what the script wrote.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::Shown;

use super::args::RunArgs;
use super::fold::{self, Size};
use super::interrupt::Interrupt;
use super::output::{self, DIM, GOOD, Output, RESET, WARNING};
use super::render;
use super::terminal::{self, Terminal};
use crate::fault::Fault;
use crate::host::{Cancel, Host, Over, Passphrase, Person, RunRequest, RunStep};
use crate::report::{Answer, Question, RunReport, Written};

pub(super) fn run(host: &Host, args: RunArgs, out: &Output) -> Result<ExitCode, Fault> {
    let ended = attended(|person, cancel, tell| {
        host.run(&RunRequest::from(args), person, cancel, move |step| tell(step))
    })?;
    let report = ended?;
    out.outcome(&report, report.failure.as_ref(), show)
}

/// Does what asks the person at the terminal and then takes its time: Ctrl-C ends it, and a clock shows how long it takes.
pub(super) fn attended<T>(
    act: impl FnOnce(Option<Arc<dyn Person>>, &Cancel, Arc<dyn Fn(RunStep) + Send + Sync>) -> T,
) -> Result<T, Fault> {
    let interrupt = Interrupt::watch()?;
    let cancel = Cancel::new();
    let course = Arc::new(Course::default());
    let watch = watch(interrupt, cancel.clone(), Arc::clone(&course));
    // Who cannot be asked cannot say yes.
    let person = Terminal::open().map(|terminal| Arc::new(AtTerminal { terminal, asking: Mutex::default() }));
    let asked = person.clone().map(|person| person as Arc<dyn Person>);
    let told = Arc::clone(&course);
    let ended = act(asked, &cancel, Arc::new(move |step| told.hear(step)));
    course.close();
    watch.thread().unpark();
    let _ = watch.join();
    if let Some(person) = person {
        person.settle();
    }
    Ok(ended)
}

/// Passes Ctrl-C on, and shows how long the script takes once it takes long.
fn watch(interrupt: Interrupt, cancel: Cancel, course: Arc<Course>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !course.is_closed() {
            if interrupt.was_asked() && !cancel.is_cancelled() {
                cancel.cancel();
                course.stopping();
            }
            course.tick();
            thread::park_timeout(LOOK_UP);
        }
    })
}

/// The person at the controlling terminal.
struct AtTerminal {
    terminal: Terminal,
    /// Held while a question is on it.
    asking: Mutex<()>,
}

impl AtTerminal {
    /// Waits until nothing more will be said on the terminal.
    fn settle(&self) {
        drop(self.asking.lock());
    }
}

impl Person for AtTerminal {
    fn ask(&self, question: &Question, over: &dyn Fn() -> Option<Over>) -> Answer {
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, prompt) = (render::question::question(question, None), render::question::prompt());
        let reply = self.terminal.ask(&text, &prompt, DEAD_TIME, over);
        if reply.is_ok_and(|reply| terminal::is_yes(&reply)) { Answer::Once } else { Answer::No }
    }

    fn passphrase(&self, over: &dyn Fn() -> Option<Over>) -> Option<Passphrase> {
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        self.terminal.passphrase(terminal::PASSPHRASE, over).ok().flatten()
    }
}

/// How far the run is, and what a terminal shows of it.
#[derive(Default)]
struct Course(Mutex<Stage>);

#[derive(Default)]
struct Stage {
    began: Option<Instant>,
    is_closed: bool,
    /// The seconds that are on the terminal, in a line that is not ended.
    shown: Option<u64>,
}

impl Course {
    fn hear(&self, step: RunStep) {
        let mut stage = self.stage();
        match step {
            RunStep::Started => stage.began = Some(Instant::now()),
            RunStep::Ended => stage.quiet(),
            RunStep::Staging => {}
        }
    }

    fn close(&self) {
        let mut stage = self.stage();
        stage.is_closed = true;
        stage.quiet();
    }

    fn is_closed(&self) -> bool {
        self.stage().is_closed
    }

    /// Said at once, since it can take a second: what does not end when asked is killed.
    fn stopping(&self) {
        let mut stage = self.stage();
        if stage.began.take().is_some() && io::stderr().is_terminal() {
            stage.shown = None;
            let _ = writeln!(io::stderr(), "\r{ERASE}stopping: everything that the script started is killed");
        }
    }

    fn tick(&self) {
        let mut stage = self.stage();
        let Some(began) = stage.began.filter(|began| began.elapsed() >= QUIET) else { return };
        let seconds = began.elapsed().as_secs();
        if stage.shown != Some(seconds) && io::stderr().is_terminal() {
            stage.shown = Some(seconds);
            let _ = write!(io::stderr(), "\rrunning for {seconds} s, Ctrl-C ends it …{ERASE}");
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    fn quiet(&mut self) {
        self.began = None;
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r{ERASE}");
        }
    }
}

/// What the script wrote goes where its own streams would, then what there is to say about it.
fn show(report: &RunReport) -> Result<(), Fault> {
    match fold::size_of(&io::stdout()) {
        Some(size) => output::raw(visible(&report.output, size).as_bytes())?,
        None => output::raw(report.output.content.bytes())?,
    }
    let size = fold::size_of(&io::stderr());
    // Nobody is left to tell if this fails.
    let _ = match size {
        Some(size) => io::stderr().write_all(visible(&report.errors, size).as_bytes()),
        None => io::stderr().write_all(report.errors.content.bytes()),
    };
    let mut stderr = anstream::AutoStream::auto(io::stderr().lock());
    for (name, stream) in [("standard output", &report.output), ("standard error", &report.errors)] {
        if stream.dropped_bytes > 0 {
            let (kept, dropped) = (stream.bytes, stream.dropped_bytes);
            let _ = writeln!(
                stderr,
                "{WARNING}cut{RESET}: {dropped} bytes of {name} beyond the first {kept} were dropped; [envelope] output_bytes_max is the most"
            );
        }
    }
    for file in &report.files_applied {
        let line = format!("{GOOD}{}{RESET} {}", file.change, render::quoted(&file.path));
        let _ = writeln!(stderr, "{}", fold::for_terminal(&line, size));
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

/// Output as a person may see it: nothing of it can be taken for what fumehood says.
fn visible(stream: &Written, size: Size) -> String {
    let text = String::from_utf8_lossy(stream.content.bytes());
    fold::ruled(&Shown::block(&output::uncoloured(&text)).to_string(), size)
}

const LOOK_UP: Duration = Duration::from_millis(20);
/// Keys that were pressed before anybody could have read the question are no answer to it.
pub(super) const DEAD_TIME: Duration = Duration::from_millis(600);
/// A script that is quicker than this needs no clock.
const QUIET: Duration = Duration::from_secs(2);
/// What is right of the cursor is erased.
const ERASE: &str = "\u{1b}[K";
