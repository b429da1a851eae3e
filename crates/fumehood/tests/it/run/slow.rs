//! What takes seconds by its nature: deadlines, and a person who stops something.

use std::time::{Duration, Instant};

use fumehood_testkit::{Streams, World};
use serde_json::{Value, json};

use super::{approved, assert_clean, flagged, receipt, reported, scripted};
use crate::text;

/// A script that leaves its work to processes which would go on for a while, and says when they are there. Each has the
/// path of the world in its arguments, and none of the outside can be mistaken for it.
fn lingering() -> World {
    let params = json!([{"name": "mark", "type": "string"}]);
    let wait = "trap '' TERM INT; (trap '' TERM INT; while :; do sleep 1; done) & echo started; while :; do sleep 1; done";
    flagged(&scripted(&params, &format!("sh -c \"{wait}\" \"$1\" & sh -c \"{wait}\" \"$1\" & wait\n")))
}

fn mark(world: &World) -> String {
    format!("mark={}", world.text("mark"))
}

fn lingers(world: &World) -> bool {
    let mark = world.text("mark");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    arguments.any(|bytes| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.contains(&mark) && !text.contains("mark=")
    })
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

// EXE-65: the whole tree is killed, and what it wrote until then is kept.
#[test]
fn a_deadline_kills_the_tree() {
    let world = lingering();
    let (code, report) = reported(&world, &["go", "--param", &mark(&world), "--timeout", "1"]);
    assert_eq!((code, &report["failure"]["code"]), (Some(1), &"E_SKILL_SCRIPT_TIMEOUT".into()));
    assert_eq!(
        (&report["killed"], text(&report["output"]["text"])),
        (&"deadline".into(), "started\nstarted\n")
    );
    assert!(!lingers(&world));
    let receipt = receipt(&world);
    assert_eq!(
        (&receipt["closing"]["killed"], &receipt["closing"]["processes_left"]),
        (&"deadline".into(), &"proven_gone".into())
    );
    assert!(report["elapsed_ms"].as_u64().unwrap() >= 1000);
    assert_clean(&world);
}

// The person sees that it goes on, stops it, and is told that nothing is left.
#[test]
fn a_person_sees_a_long_run_and_stops_it() {
    let world = lingering();
    let arguments = approved(&world, &["go", "--param", &mark(&world)]);
    let mut session = world.call().sit_down(&arguments, Streams::Terminal);
    session.see("running for 2 s, Ctrl-C ends it");
    assert!(lingers(&world));
    session.keys("\u{3}");
    let (shown, answer) = session.leave();
    assert_eq!(answer.code, Some(130), "{shown}");
    assert!(shown.contains("stopping: everything that the script started is killed\n"), "{shown:?}");
    assert!(shown.contains("[E_CANCELLED]") && shown.contains("nothing of it is left"), "{shown:?}");
    assert!(!lingers(&world));
    let receipt = receipt(&world);
    assert_eq!((&receipt["outcome"], &receipt["closing"]["killed"]), (&"failed".into(), &"cancelled".into()));
    assert_eq!(
        (&receipt["closing"]["code"], &receipt["closing"]["exit_code"]),
        (&"E_CANCELLED".into(), &Value::Null)
    );
    assert_clean(&world);
}

// A program that is told to end does the same, and says so in its answer.
#[test]
fn a_signal_stops_a_run_that_nobody_watches() {
    let world = lingering();
    let arguments = approved(&world, &["go", "--param", &mark(&world), "--format", "json"]);
    let session = world.call().sit_down(&arguments, Streams::Pipes);
    wait_until("it never ran", || lingers(&world));
    let pid = rustix::process::Pid::from_raw(i32::try_from(session.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (shown, answer) = session.leave();
    assert_eq!((answer.code, shown.as_str()), (Some(130), ""), "{}", answer.errors());
    let report = crate::schemas::assert_valid("run", &answer.stdout);
    assert_eq!((&report["failure"]["code"], &report["killed"]), (&"E_CANCELLED".into(), &"cancelled".into()));
    assert!(!lingers(&world));
}
