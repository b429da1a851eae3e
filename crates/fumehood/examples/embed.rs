//! A program of its own that lists skills, asks at its terminal and runs one script:
//! `cargo run -p fumehood --example embed -- skills ./skills/text-report report file=README.md`

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use fumehood::host::{Cancel, Over, Person, RunRequest};
use fumehood::report::{Answer, Question};
use fumehood::{Fault, Host, HostOptions, Shown};

/// Somebody who reads standard error and answers on standard input.
struct Console;

impl Person for Console {
    fn ask(&self, question: &Question, over: &dyn Fn() -> Option<Over>) -> Answer {
        // What an author or a caller wrote could act on a terminal, so it is shown and not printed.
        let file =
            |file: &fumehood::report::FileAsked| format!("{} {}", file.usage, Shown::inline(&file.host));
        let files: Vec<_> = question.files.iter().map(file).collect();
        let command = Shown::inline(&question.argv.join(" ")).to_string();
        eprint!("{command}\n{}\nrevision {}\nRun it once? [y/N] ", files.join("\n"), question.skill.revision);
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        // An answer that comes too late would not count anyway.
        if read.is_ok() && line.trim() == "y" && over().is_none() { Answer::Once } else { Answer::No }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<(), Fault> {
    let current = std::env::current_dir().unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let host = Host::new(HostOptions { home, ..HostOptions::isolated(current) });
    let root = words.next().unwrap_or_default();
    for skill in host.list(&[PathBuf::from(root)], &mut |_| {})?.skills {
        eprintln!("{}", Shown::inline(&skill.name));
    }
    let (skill, script) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let params = words
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
    let request = RunRequest { skill, script, params: params.collect(), ..RunRequest::default() };
    let report = host.run(&request, Some(Arc::new(Console)), &Cancel::new(), |_| {})?;
    // A pipe that is closed is no failure of the script's.
    let _ = io::stdout().write_all(report.output.content.bytes());
    report.failure.map_or(Ok(()), Err)
}

fn main() -> ExitCode {
    // Before anything else: as the sandbox's launcher, this program is started once more.
    fumehood::helper::dispatch();
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}\n{}", fault.advice);
            ExitCode::from(fault.class.exit_code())
        }
    }
}
