//! Every code that the running of tools can end with, and how it is reached: through the command line and through the
//! library, or where else.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fumehood::host::{Cancel, Over, Person, RunRequest};
use fumehood::report::{Answer, Question, RunReport};
use fumehood::{Fault, Host, HostOptions};
use fumehood_core::Code;
use fumehood_testkit::{Streams, World, skill};
use serde_json::{Value, json};

use super::{ASKED, approved, configure, flagged, scripted};
use crate::{program, repository_file, text};

/// The sections of the table of codes that this is about.
const SECTIONS: [&str; 5] = [
    "Tools and calls.",
    "Scripts of skills.",
    "Files and folders that a call is granted.",
    "Interpreters.",
    "Requests for approval.",
];

/// How a code is reached.
enum Reached {
    /// By these words after `run skills/tool`, in this world.
    Run { world: fn() -> World, words: &'static [&'static str], said: Said },
    /// Not by a run of a script: in this file of tests, or beside it in the crate that it names.
    Elsewhere(&'static str),
}

/// Who says yes, and what happens meanwhile.
#[derive(Clone, Copy)]
enum Said {
    Flag,
    /// There is nobody.
    Nobody,
    /// A person, after this.
    After(fn(&World) -> Option<Child>),
    /// The flag, and this happens while the script runs.
    While(fn(&World)),
}

fn table() -> Vec<(&'static str, Reached)> {
    use Reached::Elsewhere;
    use Said::{After, Flag, Nobody, While};
    let run = |world, words, said| Reached::Run { world, words, said };
    vec![
        ("E_ID_INVALID", Elsewhere("crates/fumehood/tests/it/record.rs")),
        ("E_TOOL_INVALID", Elsewhere("crates/core/src/tool/tests.rs")),
        ("E_SKILL_TOOL_COLLISION", Elsewhere("crates/core/src/tool/tests.rs")),
        ("E_TOOL_UNKNOWN", Elsewhere("crates/gate/tests/it/approval.rs")),
        ("E_ARGUMENT_INVALID", run(reading, &["go", "--param", "none=x"], Flag)),
        ("E_TOOL_BUSY", Elsewhere("crates/runners/tests/it/module.rs")),
        ("E_TOOL_DENIED", Elsewhere("crates/gate/tests/it/approval.rs")),
        ("E_TOOL_GATE_UNAVAILABLE", Elsewhere("crates/gate/tests/it/faults.rs")),
        ("E_TOOL_SANDBOX_REQUIRED", Elsewhere("crates/fumehood/tests/it/run/failures.rs")),
        ("E_TOOL_TIMEOUT", Elsewhere("crates/gate/tests/it/model.rs")),
        ("E_SKILL_TOOL_FAILED", Elsewhere("crates/gate/tests/it/faults.rs")),
        ("E_SKILL_TOOL_BAD_RESPONSE", Elsewhere("crates/gate/tests/it/model.rs")),
        ("E_SKILL_SCRIPT_DENIED", run(plain, &["go"], Nobody)),
        ("E_SKILL_SCRIPT_GATE_UNAVAILABLE", run(plain, &["go"], After(journal_taken))),
        ("E_SKILL_SCRIPT_POLICY_WIDENED", run(narrow, &["go", "--param", "file=project/a.txt"], Flag)),
        ("E_SKILL_SCRIPT_TIMEOUT", run(endless, &["go", "--timeout", "1"], Flag)),
        ("E_SKILL_SCRIPT_OUTPUT_LIMIT", Elsewhere("crates/gate/tests/it/attempts.rs")),
        ("E_SKILL_SCRIPT_FAILED", run(failing, &["go"], Flag)),
        ("E_SKILL_WORKSPACE_FAILED", run(no_staging, &["go"], Flag)),
        ("E_WORKSPACE_REFUSED", run(linking, &["go.sh", "--out", "project"], Flag)),
        (
            "E_WORKSPACE_CONFLICT",
            run(waiting, &["go.sh", "--workspace", "ws:rw", "--read", "ready", "--", "PLACE"], While(meddle)),
        ),
        ("E_WORKSPACE_TOO_LARGE", Elsewhere("crates/store/src/transaction/tests/collect.rs")),
        ("E_PROCESSES_LEFT", Elsewhere("crates/gate/tests/it/attempts.rs")),
        ("E_FOLDER_NOT_FOUND", run(reading, &["go", "--workspace", "none", "--param", "file=a"], Flag)),
        ("E_NOT_A_FILE", run(reading, &["go", "--param", "file=project"], Flag)),
        (
            "E_PLACE_OUTSIDE",
            run(reading, &["go", "--workspace", "ws", "--param", "file=../project/a.txt"], Flag),
        ),
        ("E_PLACE_FORBIDDEN", run(reading, &["go", "--workspace", "home", "--param", "file=a"], Flag)),
        ("E_TARGET_PROTECTED", run(reading, &["go.sh", "--write", "project/.env", "--", "x"], Flag)),
        ("E_FILE_EXISTS", run(making, &["go", "--param", "file=project/a.txt"], Flag)),
        (
            "E_OUTPUT_NAME_CLASH",
            run(reading, &["go.sh", "--write", "project/a.txt", "--write", "ws/a.txt", "--", "x"], Flag),
        ),
        ("E_FILE_CHANGED", Elsewhere("crates/store/src/grant/tests.rs")),
        ("E_INTERPRETER_UNKNOWN", run(plain, &["go.sh", "--interpreter", "ruby", "--", "x"], Flag)),
        ("E_INTERPRETER_REFUSED", run(open_interpreter, &["go"], Flag)),
        ("E_INTERPRETER_CHANGED", run(other_pin, &["go"], Flag)),
        ("E_CONSENT_FULL", Elsewhere("crates/gate/tests/it/approval.rs")),
        ("E_CONSENT_UNKNOWN", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONSENT_PENDING", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONSENT_DECIDED", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONSENT_DENIED", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONSENT_EXPIRED", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONSENT_STALE", run(reading, &["go", "--param", "file=project/a.txt"], After(file_replaced))),
        ("E_CONSENT_CONSUMED", Elsewhere("crates/core/src/consent/tests.rs")),
        ("E_CONTROL_INVALID", Elsewhere("crates/fumehood/tests/it/control/peers.rs")),
        ("E_CONTROL_SILENT", Elsewhere("crates/fumehood/tests/it/control/peers.rs")),
        ("E_RUN_ENDED", Elsewhere("crates/gate/tests/it/approval.rs")),
    ]
}

#[test]
fn every_code_of_these_sections_has_an_entry() {
    let source = repository_file("crates/core/src/code.rs");
    let mut listed = BTreeSet::new();
    let mut inside = false;
    for line in source.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix("// ") {
            inside = SECTIONS.contains(&section);
        } else if inside && let Some(code) = line.split('"').nth(1).filter(|code| code.starts_with("E_")) {
            listed.insert(code.to_owned());
        }
    }
    assert!(listed.len() > 40, "{listed:?}");
    let entries: BTreeSet<_> = table().into_iter().map(|(code, _)| code.to_owned()).collect();
    assert_eq!(entries, listed);
    for (code, reached) in table() {
        let variant = Code::ALL.iter().find(|known| known.as_str() == code).unwrap();
        if let Reached::Elsewhere(place) = reached {
            let tests = repository_file(place);
            let named = [code.to_owned(), format!("Code::{variant:?}")];
            assert!(named.iter().any(|name| tests.contains(name)), "{code} is not in {place}");
        }
    }
}

#[test]
fn every_code_is_reached_by_the_command_line() {
    each(|world, words, said| {
        let _meanwhile = Meanwhile::of(world, said);
        let words = words_for(world, words);
        let bare =
            || ["run", "skills/tool"].into_iter().chain(words.iter().map(String::as_str)).map(str::to_owned);
        let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
        let flagged = || approved(world, &borrowed);
        let json =
            |arguments: Vec<String>| ["--format".to_owned(), "json".to_owned()].into_iter().chain(arguments);
        let answer = match said {
            Said::Flag | Said::While(_) => world.run(json(flagged())),
            Said::Nobody => world.run(json(bare().collect())),
            Said::After(act) => {
                let mut session = world.call().sit_down(json(bare().collect()), Streams::Pipes);
                session.see(ASKED);
                let taken = act(world);
                session.keys("y\n");
                let (_, answer) = session.leave();
                taken.into_iter().for_each(end);
                answer
            }
        };
        let fault = if answer.stdout.is_empty() {
            serde_json::from_slice(&answer.stderr).unwrap()
        } else {
            answer.json()["failure"].clone()
        };
        let code = Code::ALL.iter().find(|code| fault["code"] == code.as_str()).unwrap();
        assert_eq!(answer.code, Some(code.class().exit_code().into()), "{fault}");
        (text(&fault["code"]).to_owned(), fault)
    });
}

#[test]
fn every_code_is_reached_by_the_library() {
    each(|world, words, said| {
        let _meanwhile = Meanwhile::of(world, said);
        let words = words_for(world, words);
        let mut request = parse(world, &words);
        let ended = match said {
            Said::Flag | Said::While(_) => {
                request.approve = Some(super::revision(world, "skills/tool"));
                run(world, &request)
            }
            Said::Nobody => host(world).run(&request, None, &Cancel::new(), |_| {}),
            Said::After(act) => {
                let person = Arc::new(Acting { world: Arc::clone(world), act });
                run_asking(world, &request, person)
            }
        };
        let fault = match ended {
            Ok(report) => report.failure.unwrap(),
            Err(fault) => fault,
        };
        (fault.code.as_str().to_owned(), serde_json::to_value(&fault).unwrap())
    });
}

/// Runs all cases at once, each in its world, and compares what `reach` gives.
fn each(reach: impl Fn(&Arc<World>, &[&str], Said) -> (String, Value) + Sync) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let reach = &reach;
        let runs = table().into_iter().filter_map(|(code, reached)| match reached {
            Reached::Run { world, words, said } => Some((code, world, words, said)),
            Reached::Elsewhere(_) => None,
        });
        let handles: Vec<_> = runs
            .map(|(code, world, words, said)| {
                scope.spawn(move || {
                    let (reached, fault) = reach(&Arc::new(world()), words, said);
                    (reached != code).then(|| format!("{code}: {fault}"))
                })
            })
            .collect();
        handles.into_iter().filter_map(|handle| handle.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn words_for(world: &World, words: &[&str]) -> Vec<String> {
    words.iter().map(|word| if *word == "PLACE" { world.text("ready") } else { (*word).to_owned() }).collect()
}

/// What happens while the script runs.
struct Meanwhile(Option<std::thread::JoinHandle<()>>);

impl Meanwhile {
    fn of(world: &Arc<World>, said: Said) -> Self {
        let Said::While(act) = said else { return Self(None) };
        let world = Arc::clone(world);
        Self(Some(std::thread::spawn(move || act(&world))))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// A person who does something before saying yes.
struct Acting {
    world: Arc<World>,
    act: fn(&World) -> Option<Child>,
}

impl Person for Acting {
    fn ask(&self, _: &Question, _: &dyn Fn() -> Option<Over>) -> Answer {
        if let Some(taken) = (self.act)(&self.world) {
            // It ends by itself when nobody holds the other end of its input any more, after what follows the answer.
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(8));
                end(taken);
            });
        }
        Answer::Once
    }
}

/// A host of the person of a world, who is in its folder.
pub(super) fn host(world: &World) -> Host {
    Host::new(HostOptions {
        home: Some(world.path("home")),
        helper: Some(PathBuf::from(program())),
        ..HostOptions::isolated(world.path(""))
    })
}

/// A request to run a script of `skills/tool`, approved.
pub(super) fn request(world: &World, script: &str) -> RunRequest {
    RunRequest {
        skill: "skills/tool".to_owned(),
        script: script.to_owned(),
        approve: Some(super::revision(world, "skills/tool")),
        ..RunRequest::default()
    }
}

pub(super) fn run(world: &World, request: &RunRequest) -> Result<RunReport, Fault> {
    host(world).run(request, None, &Cancel::new(), |_| {})
}

pub(super) fn run_asking(
    world: &World,
    request: &RunRequest,
    person: Arc<dyn Person>,
) -> Result<RunReport, Fault> {
    host(world).run(request, Some(person), &Cancel::new(), |_| {})
}

/// The same request as the words make on the command line.
fn parse(world: &World, words: &[String]) -> RunRequest {
    let mut request = RunRequest { approve: None, ..request(world, &words[0]) };
    let mut words = words[1..].iter().cloned();
    while let Some(word) = words.next() {
        if word == "--" {
            request.argv = Some(words.by_ref().collect());
            break;
        }
        let value = words.next().unwrap();
        match word.as_str() {
            "--param" => {
                let (name, value) = value.split_once('=').unwrap();
                request.params.push((name.to_owned(), value.to_owned()));
            }
            "--read" => request.read.push(value),
            "--write" => request.write.push(value),
            "--out" => request.out = Some(value.into()),
            "--timeout" => request.timeout = Some(value.parse().unwrap()),
            "--interpreter" => request.interpreter = Some(value),
            "--workspace" => {
                let folder = value.strip_suffix(":rw");
                request.workspace = Some((folder.unwrap_or(&value).into(), folder.is_some()));
            }
            other => panic!("{other}"),
        }
    }
    request
}

fn plain() -> World {
    flagged(&scripted(&json!([]), "true\n"))
}

fn failing() -> World {
    flagged(&scripted(&json!([]), "exit 1\n"))
}

fn endless() -> World {
    flagged(&scripted(&json!([]), "while :; do sleep 1; done\n"))
}

fn with_files(access: &str) -> World {
    let world = flagged(&scripted(&json!([{"name": "file", "type": "path", "access": access}]), "true\n"));
    for below in ["project/a.txt", "project/.env", "ws/a.txt"] {
        world.write(below, "");
    }
    world
}

fn reading() -> World {
    with_files("read")
}

fn making() -> World {
    with_files("create")
}

const NO_ROOTS: &str = "[envelope]\nread_roots = []\nwrite_roots = []\ninterpreter_read_paths = []\n";

fn narrow() -> World {
    let world = reading();
    configure(&world, NO_ROOTS);
    world
}

fn no_staging() -> World {
    let world = plain();
    world.write(&format!("{}/staging", crate::recorded::STATE), "");
    world.mode(crate::recorded::STATE, 0o700);
    world
}

fn linking() -> World {
    flagged(&skill("tool").file("go.sh", "ln -s /etc/passwd /out/x\n"))
}

fn open_interpreter() -> World {
    let world = plain();
    let open = world.write("open/sh", "#!/bin/sh\n");
    world.mode("open/sh", 0o755);
    world.mode("open", 0o777);
    configure(&world, &format!("[interpreters.sh]\npath = \"{}\"\n", open.display()));
    world
}

fn other_pin() -> World {
    let world = plain();
    crate::interpreters::pinned_before(&world);
    world
}

/// Changes what it finds in the workspace, once somebody else has.
fn waiting() -> World {
    let script = "until grep -q go \"$1\"; do sleep 0.05; done\necho mine >\"${1%/ready}/ws/a.txt\"\n";
    let world = flagged(&skill("tool").file("go.sh", script));
    world.write("ws/a.txt", "old\n");
    world.write("ready", "");
    world
}

fn meddle(world: &World) {
    let ready = world.text("ready");
    let patience = Instant::now() + Duration::from_mins(1);
    let is_script = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.contains("/skill/go.sh") && text.contains(&ready)
    };
    loop {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut arguments = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        if arguments.any(is_script) {
            break;
        }
        assert!(Instant::now() < patience, "the script never ran");
        std::thread::sleep(Duration::from_millis(5));
    }
    world.write("ws/a.txt", "theirs\n");
    world.write("ready", "go\n");
}

fn file_replaced(world: &World) -> Option<Child> {
    world.write("project/b.txt", "other\n");
    world.rename("project/b.txt", "project/a.txt");
    None
}

/// Somebody else writes to the journal, and does not come to an end.
#[expect(clippy::unnecessary_wraps, reason = "as all that happens before a yes")]
fn journal_taken(world: &World) -> Option<Child> {
    let take = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
         c.execute('BEGIN IMMEDIATE')\nprint('taken', flush=True)\nsys.stdin.read()\n";
    let journal = world.path(crate::recorded::STATE).join("journal.sqlite");
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", take])
        .arg(journal)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "taken\n");
    Some(child)
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
