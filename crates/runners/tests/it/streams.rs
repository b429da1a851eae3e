//! Output as a weapon: how much, how fast, and what it says.

use std::fs;
use std::time::{Duration, Instant};

use fumehood_core::code::Code;
use fumehood_core::receipt::{Exit, Killed};

use crate::world::{World, errors, failed, output};

/// Bytes of this process that are in memory, at most so far.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kibibytes = line.split_whitespace().nth(1).unwrap();
    kibibytes.parse::<u64>().unwrap() << 10
}

// EXE-52: cut while it is read, counted, and memory stays flat: this process may grow by less than one hundredth of it.
#[test]
fn ten_gibibytes_of_output_are_cut_counted_and_need_no_memory() {
    let world = World::new();
    let before = most_memory();
    let script = "head -c 10737418240 /dev/zero; echo done >&2";
    let ended = world.shell(script).seconds(300).run();
    let completed = ended.as_ref().unwrap_or_else(|error| panic!("{}: {}", error.code, error.message));
    assert_eq!(completed.output.0.len(), 1 << 20);
    assert_eq!(completed.dropped, (10 << 30) - (1 << 20));
    assert_eq!((completed.kept.bytes, errors(&ended).as_str()), (1 << 20, "done\n"));
    let grown = most_memory().saturating_sub(before);
    // Other tests of this process run beside it.
    assert!(grown < 100 << 20, "{grown} bytes more");
    world.assert_clean();
}

// EXE-65: a flood has no more time than anything else.
#[test]
fn a_flood_without_end_is_over_in_time() {
    let world = World::new();
    let began = Instant::now();
    let ended = world.shell("yes flood & yes flood >&2 & exec yes more").seconds(1).run();
    assert_eq!(failed(&ended), Code::ScriptTimeout);
    let ran = ended.unwrap_err().ran.unwrap();
    assert_eq!(
        (ran.killed, ran.output.0.len(), ran.errors.0.len()),
        (Some(Killed::Deadline), 1 << 20, 1 << 20)
    );
    assert!(ran.dropped > 0 && ran.errors_dropped > 0);
    assert!(ran.artifact.is_some() && ran.errors_artifact.is_some());
    // A second, the grace of one more, and a machine that has other things to do.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    world.assert_clean();
}

// The two streams are counted apart (X-05), and one that is closed or full does not hold up the other.
#[test]
fn streams_do_not_wait_for_each_other() {
    for (script, out, err) in [
        ("exec >&-; head -c 2000000 /dev/zero >&2", 0, 2_000_000),
        ("exec 2>&-; head -c 2000000 /dev/zero", 2_000_000, 0),
        ("exec >&- 2>&-; sleep 0.2", 0, 0),
        ("head -c 2000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait", 2_000_000, 2_000_000),
        ("printf a; printf b >&2; exec >&-; sleep 0.1; printf c >&2", 1, 2),
    ] {
        let world = World::new();
        let completed = world.shell(script).run().unwrap();
        let count = |kept: usize, dropped: u64| kept as u64 + dropped;
        assert_eq!(count(completed.output.0.len(), completed.dropped), out, "{script}");
        assert_eq!(count(completed.errors.0.len(), completed.errors_dropped), err, "{script}");
        assert_eq!(completed.exit, Some(Exit::Code(0)), "{script}");
    }
}

// The cap is exact, on both sides.
#[test]
fn the_cap_is_kept_to_the_byte() {
    for (bytes, dropped) in [(999, 0), (1000, 0), (1001, 1)] {
        let world = World::new();
        let job = world.shell("head -c \"$1\" /dev/zero; head -c \"$1\" /dev/zero >&2");
        let job = job.argv(&[&bytes.to_string()]).enveloped(|parts| parts.output_bytes_max = 1000);
        let completed = job.run().unwrap();
        assert_eq!((completed.dropped, completed.errors_dropped), (dropped, dropped), "{bytes}");
        assert_eq!(completed.kept.bytes, bytes - dropped);
    }
}

// What a script says is kept byte for byte as a result, and nowhere else: no row of the journal has any of it.
#[test]
fn what_it_says_is_a_result_and_no_part_of_the_record() {
    let forged = [
        r#"{"schema_version":1,"id":"rcpt_00000000000000000000000000000000","outcome":"succeeded","tool":"forged-marker"}"#,
        "Run it once? [y/N] y forged-marker",
        "\x1b[2J\x1b]52;c;Zm9yZ2VkLW1hcmtlcg==\x07forged-marker",
        "\u{202e}rekram-degrof forged-marker\u{2066}",
        "receipt.closed\n\0forged-marker",
    ];
    let world = World::new();
    let bytes = [forged.join("\n").into_bytes(), b"\xff\xfe\xc3\x28 forged-marker\r\n".to_vec()].concat();
    let mut job = world.shell("cat say; cat say >&2; exit 1");
    job.files.push(("say", bytes.clone()));
    let ended = job.run();
    let code = failed(&ended);
    assert_eq!(code, Code::ScriptFailed);
    let error = ended.unwrap_err();
    let ran = error.ran.unwrap();
    assert!(ran.output.0 == bytes && ran.errors.0 == bytes);
    assert_eq!(error.message, "the script ended with exit code 1");
    let rows = world.journal.newest(None, None, 100).unwrap();
    assert!(rows.len() >= 3, "{rows:?}");
    for row in &rows {
        assert!(!row.json.contains("forged-marker") && !row.kind.contains("forged"), "{}", row.json);
    }
    let journal = fs::read(world.at("state/journal.sqlite")).unwrap();
    assert!(!journal.windows(13).any(|part| part == b"forged-marker"));
    world.assert_clean();
    // The artifact is what it said.
    let kept = world.at(format!("state/artifacts/kept/{}/content", ran.artifact.unwrap()));
    assert_eq!(fs::read(kept).unwrap(), bytes);
}

// A process that is left and goes on writing neither delays the end nor adds to it.
#[test]
fn who_is_left_says_no_more() {
    let world = World::new();
    let began = Instant::now();
    let script = "(trap '' TERM HUP; while :; do echo late; sleep 0.01; done) & echo first; exit 0";
    let said = output(&world.shell(script).run());
    assert!(said.lines().any(|line| line == "first"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(20));
    world.assert_clean();
}
