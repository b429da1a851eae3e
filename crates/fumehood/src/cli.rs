//! The command line: from arguments to a question for [`Host`], and from its answer to text or JSON.

mod adopt;
mod args;
mod artifact;
mod call;
mod doctor;
mod editor;
mod fold;
mod interpreters;
mod interrupt;
mod json;
mod output;
mod passphrase;
mod pending;
mod policy;
mod progress;
mod render;
mod run;
mod setup;
mod terminal;
mod trust;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::panic::UnwindSafe;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::FromArgMatches as _;
use fumehood_core::{Class, Code, Shown};
use serde::Serialize;

use crate::fault::Fault;
use crate::host::{ByteRange, Host, HostOptions, SessionOptions, Strictness, WalkLimits};
use args::{Args, AuditCommand, CatArgs, CheckArgs, Command, Format, ListArgs, TrustArgs};
use output::Output;
use progress::Progress;

/// What serves an agent. Another face does, and no face knows another one: whoever starts the program names it.
pub type Serve = fn(&Host, SessionOptions) -> Result<(), Fault>;

/// Runs the program for the arguments and the environment of this process.
pub fn main(serve: Serve) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let parsed = args::command().try_get_matches_from(&arguments);
    let args = match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => return usage(&args::advised(error, &arguments), &arguments),
    };
    let format = args.format;
    match guarded(|| run(args, serve)) {
        Ok(code) => code,
        Err(fault) => output::fail(&fault, format),
    }
}

/// A panic is a fault like any other. Its own words could hold text of a skill; the place in our sources is what a report
/// needs.
fn guarded(run: impl FnOnce() -> Result<ExitCode, Fault> + UnwindSafe) -> Result<ExitCode, Fault> {
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    std::panic::set_hook(Box::new(move |panic| {
        if let (Some(location), Ok(mut place)) = (panic.location(), seen.lock()) {
            *place = location.to_string();
        }
    }));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let place = place.lock().map(|place| place.clone()).unwrap_or_default();
        let message = format!("fumehood met a state it does not expect, at {place}");
        Err(Fault::new(Code::Internal, message, "this is a bug; please report it with the skill"))
    })
}

fn run(args: Args, serve: Serve) -> Result<ExitCode, Fault> {
    let Args { format, command } = args;
    let out = Output::new(format);
    match command {
        Command::Check(args) => check(&args, &out),
        Command::List(args) => list(&args, &out),
        Command::Show(args) => {
            let report = host(args.from.search.limits())?.show(&args.skill, &args.from.roots)?;
            let run = args
                .from
                .roots
                .iter()
                .map(|root| format!(" --root {}", render::quoted(&root.to_string_lossy())));
            let run = format!("fumehood run{} {}", run.collect::<String>(), render::quoted(&args.skill));
            done(&out, &report, |text| render::show::show(text, &report, &run))
        }
        Command::Cat(args) => cat(&args, &out),
        Command::Diff(args) => {
            let host = host(args.from.search.limits())?;
            let report = match &args.other {
                Some(other) => host.diff(&args.skill, other, &args.from.roots)?,
                None => host.diff_since_approved(&args.skill, &args.from.roots)?,
            };
            done(&out, &report, |text| render::diff::diff(text, &report))
        }
        Command::Run(args) => run::run(&host(args.options.from.search.limits())?, args, &out),
        Command::Call(args) => call::call(&host(args.from.search.limits())?, args, &out),
        Command::Serve(args) => {
            let (host, options) = args.opened(host)?;
            if std::io::stdin().is_terminal() {
                output::note(
                    "this waits for an agent, not for a person; `fumehood setup` prints what to put into its settings",
                );
            }
            serve(&host, options)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Setup(args) => setup::setup(&args),
        Command::Adopt(args) => adopt::adopt(&host(args.from.search.limits())?, args, &out),
        Command::Pending => pending::pending(&out),
        Command::Approve(args) => pending::approve(&args.id, &out),
        Command::Deny(args) => pending::deny(&args.id, &out),
        Command::Runs(args) => {
            let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
            let report = host(WalkLimits::default())?.runs(limit, args.before)?;
            done(&out, &report, |text| render::record::runs(text, &report))
        }
        Command::Receipt(args) => {
            let report = host(WalkLimits::default())?.receipt(&args.id)?;
            done(&out, &report, |text| render::receipt::receipt(text, &report))
        }
        Command::Artifact(command) => artifact::artifact(&host(WalkLimits::default())?, command, &out),
        Command::Audit(command) => audit(&command, &out),
        Command::Policy(command) => policy::policy(command, &out),
        Command::Trust(command) => trust::trust(command, &out),
        Command::Passphrase(command) => passphrase::passphrase(&command, &out),
        Command::TrustProject(args) => trust_project(&args, &out),
        Command::Interpreters(args) => interpreters::interpreters(&host(WalkLimits::default())?, &args, &out),
        Command::Doctor(args) => doctor::doctor(&host(WalkLimits::default())?, &args, &out),
    }
}

fn check(args: &CheckArgs, out: &Output) -> Result<ExitCode, Fault> {
    let mut progress = Progress::start();
    let report = host(args.search.limits())?.check(&args.paths, &mut |count| progress.skills(count))?;
    progress.clear();
    out.answer(&report, |text| render::check::check(text, &report, args.notes, args.quiet))?;
    let strictness = if args.strict { Strictness::Conformant } else { Strictness::Loadable };
    Ok(ExitCode::from(if report.passes(strictness) { 0 } else { Class::Invalid.exit_code() }))
}

fn list(args: &ListArgs, out: &Output) -> Result<ExitCode, Fault> {
    let mut progress = Progress::start();
    let report = host(args.search.limits())?.list(&args.roots, &mut |count| progress.skills(count))?;
    progress.clear();
    done(out, &report, |text| render::list::list(text, &report))
}

fn cat(args: &CatArgs, out: &Output) -> Result<ExitCode, Fault> {
    let host = host(args.from.search.limits())?;
    let range = ByteRange { offset: args.offset, length: args.length };
    // A terminal gets text that cannot move its cursor; everything else gets the bytes.
    if out.is_json() || output::is_terminal() {
        let report = host.cat(&args.skill, &args.from.roots, &args.file, range)?;
        if report.content.text().is_none() && !out.is_json() {
            let message = format!("{} bytes that are no text", report.length);
            return Err(Fault::new(
                Code::Usage,
                message,
                "send them to a file with '>', or use --format json",
            ));
        }
        return done(out, &report, |text| render::cat(text, &report));
    }
    host.read_file(&args.skill, &args.from.roots, &args.file, range, &mut output::raw)?;
    Ok(ExitCode::SUCCESS)
}

fn trust_project(args: &TrustArgs, out: &Output) -> Result<ExitCode, Fault> {
    let host = host(args.search.limits())?;
    let report = if args.remove {
        host.forget_project(&args.dir)?
    } else {
        let preview = host.preview_project(&args.dir)?;
        let vouched = terminal::confirm(&host, &render::trust::question(&preview))?;
        host.trust_project(&preview, vouched)?
    };
    done(out, &report, |text| render::trust::answer(text, &report))
}

fn audit(command: &AuditCommand, out: &Output) -> Result<ExitCode, Fault> {
    let host = host(WalkLimits::default())?;
    match command {
        AuditCommand::Verify(args) => {
            let report = host.verify_journal(args.head.as_ref())?;
            done(out, &report, |text| render::record::verified(text, &report))
        }
        AuditCommand::Head => {
            let report = host.journal_head()?;
            done(out, &report, |text| render::record::head(text, &report))
        }
    }
}

fn done(out: &Output, report: &impl Serialize, text: impl FnOnce(&mut String)) -> Result<ExitCode, Fault> {
    out.answer(report, text)?;
    Ok(ExitCode::SUCCESS)
}

fn host(limits: WalkLimits) -> Result<Host, Fault> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(Into::into);
    let current = std::env::current_dir().map_err(|error| {
        Fault::new(
            Code::SourceUnreadable,
            format!("the current folder cannot be read: {error}"),
            "change to another folder",
        )
    })?;
    Ok(Host::new(HostOptions {
        home: variable("HOME"),
        state_home: variable("FUMEHOOD_HOME"),
        current,
        sources: Vec::new(),
        limits,
        helper: None,
    }))
}

/// Help and version are answers; everything else is a fault in the format that was asked for.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--format=json")
        || arguments.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    if !error.use_stderr() {
        // Nothing can be done about a terminal that is gone.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    if !wants_json {
        // It repeats arguments, and a file's name becomes one through the shell's `*`.
        return output::usage(&text);
    }
    let sentence: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let sentence = sentence.join(" ");
    let sentence = sentence.trim_start_matches("error: ");
    let message = Shown::inline(sentence).to_string();
    let tip = text.lines().map(str::trim).find_map(|line| line.strip_prefix("tip: "));
    let advice = match tip {
        Some(tip) => format!("{}; see `fumehood help`", Shown::inline(tip)),
        None => "see `fumehood help`".to_owned(),
    };
    output::fail(&Fault::new(Code::Usage, message, advice), Format::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_without_its_words() {
        let fault = guarded(|| panic!("text of a skill")).unwrap_err();
        // The hook belongs to the whole process, and other tests want theirs.
        let _ = std::panic::take_hook();
        assert_eq!((fault.code, fault.class.exit_code()), (Code::Internal, 70));
        assert!(fault.message.contains("cli.rs:") && !fault.message.contains("text of"), "{fault}");
    }
}
