//! What is large: bounded where it is shown, flat in memory where it is passed on, and stopped by Ctrl-C.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fumehood_testkit::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::raw;
use crate::recorded::{STATE, at, keep, keep_as};
use crate::{program, text, world};

/// The answer in JSON. Such large ones are more than fumehood's own reader of JSON takes, which checks shapes.
fn answered(world: &World, arguments: &[&str]) -> Value {
    world.json([&["artifact"], arguments].concat())
}

/// Line `n` has the number `n` in it.
fn numbered(lines: u64) -> String {
    let mut text = String::new();
    for n in 1..=lines {
        let _ = writeln!(text, "line {n}");
    }
    text
}

// What is left out of an answer is said, with where to go on; the pages join to the whole.
#[test]
fn an_answer_ends_and_says_where_to_go_on() {
    let world = world();
    let id = keep(&world, numbered(25_000));
    let (mut joined, mut next) = (String::new(), Some(1));
    while let Some(line) = next {
        let report = answered(&world, &["cat", &id, "--line", &format!("{line}..")]);
        let lines = report["lines"].as_array().unwrap();
        assert!(lines.len() <= 10_000);
        for line in lines {
            joined.extend([text(&line["text"]), "\n"]);
        }
        next = report["next_line"].as_u64();
    }
    assert_eq!(joined, numbered(25_000));
    assert_eq!(answered(&world, &["tail", &id, "-n", "10000"])["next_line"], Value::Null);
    let (screen, code) = world.call().on_terminal(["artifact", "cat", &id]);
    assert_eq!(code, Some(0));
    let note =
        format!("note: only 10000 lines are shown; go on with `fumehood artifact cat {id} --line 10001..`");
    assert!(screen.contains("\nline 10000\n") && screen.contains(&note), "{}", &screen[screen.len() - 300..]);
    let (screen, _) = world.call().on_terminal(["artifact", "head", &id, "-n", "10000"]);
    assert!(!screen.contains("note:"));

    let long = keep(&world, vec![b'a'; 3 << 20]);
    let report = answered(&world, &["head", &long]);
    let line = &report["lines"][0];
    assert_eq!((text(&line["text"]).len(), &line["length"]), (4096, &(3 << 20).into()));
    assert_eq!((&line["cut_before"], &line["cut_after"]), (&0.into(), &((3 << 20) - 4096).into()));
    let (screen, _) = world.call().on_terminal(["artifact", "head", &long]);
    assert!(screen.contains("[3141632 bytes at offset 4096]") && screen.len() < 5000, "{}", screen.len());
    let slice = answered(&world, &["slice", &long, "--offset", "1"]);
    assert_eq!((&slice["length"], &slice["next_offset"]), (&(1 << 20).into(), &((1 << 20) + 1).into()));
    let (screen, _) = world.call().on_terminal(["artifact", "slice", &long]);
    assert!(screen.contains("note: only 1048576 bytes are shown; go on with --offset 1048576"));
    // A pipe gets all of it.
    assert_eq!(raw(&world, &["head", &long]).len(), 3 << 20);
    assert_eq!(raw(&world, &["tail", &long]).len(), 3 << 20);
}

#[test]
fn a_search_that_stops_says_so_and_goes_on() {
    let world = world();
    let id = keep(&world, numbered(25_000));
    // As many hits as were asked for; what was found in turns is what is there.
    let (mut found, mut from) = (Vec::new(), Some(0));
    while let Some(at) = from {
        let report = answered(&world, &["grep", &id, "7$", "-m", "1000", "--from", &at.to_string()]);
        found.extend(report["hits"].as_array().unwrap().iter().map(|hit| hit["line"].as_u64().unwrap()));
        from = report["next_offset"].as_u64();
        assert_eq!(report["stopped"], if from.is_some() { "hits".into() } else { Value::Null });
    }
    let expected: Vec<u64> = (1..=25_000).filter(|n| n % 10 == 7).collect();
    assert_eq!(found, expected);
    let answer = world.run(["artifact", "grep", &id, "7$", "--max", "2"]);
    assert_eq!(answer.text(), "line 7\nline 17\n");
    assert!(
        answer.errors().starts_with("note: stopped after 2 matching lines; go on with --from "),
        "{}",
        answer.errors()
    );
    let answer = world.run(["artifact", "grep", &id, "nothing of the kind"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), ""));
    assert_eq!(answer.errors(), "note: no line matches\n");

    // More lines than fit: the hits are all told, and the rest of the lines comes when it is asked for.
    let answer = ["grep", &id, "7$", "-m", "2000", "-C", "10"];
    let report = answered(&world, &answer);
    assert_eq!((report["lines"].as_array().unwrap().len(), &report["lines_cut"]), (10_000, &true.into()));
    let next = report["next_offset"].as_u64().unwrap();
    let shown = report["lines"].as_array().unwrap().iter().filter(|line| line["matches"] == true).count();
    assert_eq!(next, report["hits"][shown]["line_offset"].as_u64().unwrap());
    let report = answered(&world, &[&answer[..], &["--from", &next.to_string()]].concat());
    assert_eq!(report["hits"][0]["line_offset"], next);

    // Gaps between what is shown, as grep has them.
    let (screen, _) = world.call().on_terminal(["artifact", "grep", &id, "^line (5|9)$", "-C1"]);
    let plain = screen.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, "4-line 4\n5:line 5\n6-line 6\n--\n8-line 8\n9:line 9\n10-line 10\n");
}

#[test]
fn a_long_line_is_searched_in_pieces_and_shown_in_part() {
    let world = world();
    let mut line = vec![b'.'; 1 << 20];
    line[700_000..700_006].copy_from_slice(b"needle");
    let id = keep(&world, &line);
    let answer = world.run(["artifact", "grep", &id, "needle"]);
    assert_eq!((answer.code, answer.stdout.len()), (Some(0), (64 << 10) + 1));
    assert!(answer.stdout.windows(6).any(|part| part == b"needle"));
    for part in ["searched in pieces", "1 of the lines are only shown in part"] {
        assert!(answer.errors().contains(part), "{}", answer.errors());
    }
    let report = answered(&world, &["grep", &id, "needle"]);
    assert!(text(&report["lines"][0]["text"]).contains("needle"));
    assert!(report["pieces"].as_u64().unwrap() > 10);
    let cut = |key: &str| report["lines"][0][key].as_u64().unwrap();
    assert_eq!(cut("cut_before") + cut("cut_after") + 4096, 1 << 20);
}

/// Runs in less address space than the artifact has bytes.
fn in_little_room(world: &World, script: &str, arguments: &[&str]) -> fumehood_testkit::Answer {
    let script = format!("ulimit -v 163840; {script}");
    let own: [&'static str; 2] = ["-c", Box::leak(script.into_boxed_str())];
    world.call().patiently().run_behind("/bin/bash", own, arguments)
}

// Flat in memory, whatever the size: 200 MiB go through 160 MiB of addresses.
#[test]
fn a_large_artifact_needs_little_memory() {
    let world = world();
    let block = numbered(1 << 17).into_bytes();
    let block = &block[..1 << 20];
    let id = keep_as(&world, "cli", "run", at(1), std::iter::repeat_n(block, 200));
    let count = "exec \"$0\" \"$@\" | wc -c";
    let bytes = |arguments: &[&str]| {
        let answer = in_little_room(&world, count, &[&["artifact"], arguments].concat());
        assert_eq!(answer.errors(), "", "{arguments:?}");
        answer.text().trim().parse::<usize>().unwrap()
    };
    assert_eq!(bytes(&["cat", &id]), 200 << 20);
    assert_eq!(bytes(&["head", &id, "--lines", "100000000"]), 200 << 20);
    assert_eq!(bytes(&["tail", &id, "--lines", "100000000"]), 200 << 20);
    assert_eq!(bytes(&["slice", &id, "--offset", "1"]), (200 << 20) - 1);
    assert!(bytes(&["cat", &id, "--format", "json"]) < 8 << 20);
    assert_eq!(bytes(&["grep", &id, "^line 7$", "--deadline", "600"]), 200 * "line 7\n".len());
    // The room is as little as that: 200 MiB at once do not fit.
    let control = in_little_room(&world, "exec dd if=/dev/zero of=/dev/null bs=200M count=1", &[]);
    assert_ne!(control.code, Some(0));
}

/// Starts the program on an artifact, waits until Ctrl-C would not simply kill it, sends that, and gives its exit code.
fn interrupted(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(program())
        .env_clear()
        .env("HOME", world.path("home"))
        .arg("artifact")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let status = format!("/proc/{}/status", child.id());
    let patience = Instant::now() + Duration::from_mins(1);
    // The signal is caught a moment before anything is done about it. That is over once the next one is caught as well (SIGTERM,
    // 15), or once a reader that catches no other one (SIGINT is 2) waits for its pipe.
    let is_ready = |status: &str| {
        catches(status, 15) || catches(status, 2) && status.lines().any(|line| line.starts_with("State:\tS"))
    };
    while !is_ready(&std::fs::read_to_string(&status).unwrap()) {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none(), "{arguments:?}");
        std::thread::yield_now();
    }
    kill_process(pid, Signal::INT).unwrap();
    // What it wrote is not read before it has ended.
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(Instant::now() < patience, "{arguments:?} goes on");
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = child.wait_with_output().unwrap();
    (code, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn catches(status: &str, signal: u32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (signal - 1)) != 0
}

#[test]
fn ctrl_c_ends_a_search_and_a_reader_that_nobody_reads() {
    let world = world();
    // Text and pattern that are made for each other: minutes in all, a second or so for each look at the flag.
    let mut state = 1_u64;
    let content: Vec<u8> = (0..4 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 { b'a' } else { b'b' }
        })
        .collect();
    let id = keep(&world, &content);
    let (code, errors) = interrupted(&world, &["grep", &id, "a[ab]{2000}[cd]", "--deadline", "600"]);
    assert_eq!(code, Some(130), "{errors}");
    assert!(errors.contains("note: stopped by Ctrl-C; go on with --from "), "{errors}");
    // It waits for a pipe that is full.
    let (code, errors) = interrupted(&world, &["cat", &id]);
    assert_eq!((code, errors.as_str()), (Some(130), ""));
    // And a deadline ends one without anybody's help.
    let answer = world.run(["artifact", "grep", &id, "a[ab]{2000}[cd]", "--deadline", "1"]);
    assert_eq!(answer.code, Some(0));
    assert!(
        answer.errors().starts_with("note: stopped after 1 seconds; go on with --from "),
        "{}",
        answer.errors()
    );
}

// A reader that has enough ends it: there are hours of it left.
#[test]
fn nothing_is_read_for_a_reader_that_has_gone() {
    let world = world();
    let id = keep(&world, b"x\n");
    let folder = format!("{STATE}/artifacts/kept/{id}");
    let size = 1_u64 << 40;
    let content = std::fs::File::options().write(true).open(world.path(format!("{folder}/content"))).unwrap();
    content.set_len(size).unwrap();
    let about = String::from_utf8(world.read(&format!("{folder}/about.toml"))).unwrap();
    let changed = about.replace("bytes = 2\n", &format!("bytes = {size}\n"));
    assert_ne!(changed, about);
    world.write(&format!("{folder}/about.toml"), changed);
    assert_eq!(raw(&world, &["byte-length", &id]), format!("{size}\n").as_bytes());
    let script = "\"$0\" \"$@\" | head -c 1; echo \"${PIPESTATUS[0]}\"";
    for arguments in [&["artifact", "cat", &id][..], &["artifact", "slice", &id]] {
        let answer = world.call().run_behind("/bin/bash", ["-c", script], arguments);
        assert_eq!((answer.text().as_str(), answer.errors().as_str()), ("x0\n", ""));
    }
}
