//! How long it takes to list what runs left: a journal of 100,000 rows, a store of 10,000 artifacts.
//!
//! Makes both below the target folder and prints minimums and medians. Nothing here passes or fails.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes the files that it reads")]
#![expect(clippy::disallowed_types, reason = "a benchmark makes the files that it reads")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot make its files has nothing to say")]

use std::fs;
use std::hint::black_box;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fumehood::host::Asker;
use fumehood::{Host, HostOptions};
use fumehood_core::receipt::{ROW_CLOSED, ROW_OPEN};
use fumehood_store::{Artifacts, Flush, Home, Journal};

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join("record");
    let _ = fs::remove_dir_all(&folder);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let home = Home { config: folder.clone(), state: folder.clone() };
    write_rows(&home);
    write_artifacts(&home);
    let options =
        HostOptions { state_home: Some(folder.clone()), ..HostOptions::isolated("/nowhere".into()) };
    let host = Host::new(options);
    for limit in [20, 1000] {
        report(&format!("the newest {limit} runs"), || host.runs(limit, None).unwrap().runs.len());
    }
    report("the oldest 20 runs", || host.runs(20, Some(41)).unwrap().runs.len());
    report("following the chain", || usize::try_from(host.verify_journal(None).unwrap().rows).unwrap());
    report("its head", || host.journal_head().unwrap().head.len());
    report("a list of 10,000 artifacts", || host.artifacts(Asker::Person).unwrap().artifacts.len());
    fs::remove_dir_all(folder).unwrap();
}

/// Half of the rows are receipts as large as real ones; between the oldest and the newest lie 60,000 of another kind.
fn write_rows(home: &Home) {
    let journal = Journal::open(home).unwrap();
    let mechanisms = "namespaces and a filter of system calls, ".repeat(50);
    let append = |kind, json: &str| journal.append(kind, json, SystemTime::now(), Flush::Soon).unwrap();
    for number in 0..20_000_u32 {
        if number == 10_000 {
            for _ in 0..60_000 {
                append("decision", "{\"id\":\"ask_0\",\"decision\":\"deny\"}");
            }
        }
        let open = format!(
            "{{\"id\":\"rcpt_{number:032x}\",\"agent\":\"cli\",\"tool\":\"run_a_b\",\"skill\":null,\"started_unix_ms\":1,\
             \"outcome\":\"open\",\"closing\":null,\"mechanisms\":\"{mechanisms}\"}}"
        );
        append(ROW_OPEN, &open);
        let closed =
            open.replace("\"open\",\"closing\":null", "\"succeeded\",\"closing\":{\"elapsed_ms\":1}");
        append(ROW_CLOSED, &closed);
    }
}

fn write_artifacts(home: &Home) {
    let store = Artifacts::open(home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
    for number in 0..10_000 {
        let mut spool = store.create("cli", "run", SystemTime::now()).unwrap();
        spool.write(format!("artifact {number}\n").as_bytes()).unwrap();
        spool.finish().unwrap();
    }
}

fn report(what: &str, work: impl Fn() -> usize) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("{what}: {:.1} / {:.1} ms", millis(times[0]), millis(times[RUNS / 2]));
}

const RUNS: usize = 15;
