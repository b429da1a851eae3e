//! Whether a launch costs more when the granted folder holds more.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fumehood_sandbox::{Access, Sandbox};

use crate::Bench;
use crate::contender::{self, Bind, TRUE};
use crate::measure::{self, BUBBLEWRAP, PLAIN, Row};

pub(crate) fn part(bench: &Bench) {
    println!("\n## A granted folder of 10 files, and one of 20,000");
    let sandbox = Sandbox::start().expect("this machine has a sandbox");
    let runs = bench.runs(200);
    let mut rows = Vec::new();
    for (group, access) in [("To read:", Access::Read), ("To write to:", Access::Write)] {
        rows.push(Row::new(group, PLAIN, runs, contender::plain(TRUE)));
        for (files, names) in [(10, ["full, 10 files", BUBBLEWRAP]), (20_000, ["full, 20,000 files", LARGE])]
        {
            let source = folder_of(files, bench.folder.path());
            let binds = [Bind { source, target: "/work", access }];
            let profile = contender::profile(TRUE, &binds);
            rows.push(Row::new(group, names[0], runs, contender::full(&sandbox, profile)));
            if contender::has_bubblewrap() {
                rows.push(Row::new(group, names[1], runs, contender::bubblewrap(TRUE, &binds)));
            }
        }
    }
    measure::print_tables(&measure::in_turns(rows, Duration::from_micros(1500)));
}

/// A hundred files in each folder, ten of them at most in the first.
fn folder_of(files: usize, parent: &Path) -> PathBuf {
    let folder = parent.join(format!("files-{files}"));
    for number in 0..files {
        let inner = folder.join((number / 100).to_string());
        std::fs::create_dir_all(&inner).expect("a folder in the temporary folder");
        std::fs::write(inner.join(number.to_string()), "text").expect("a file in the temporary folder");
    }
    folder
}

const LARGE: &str = "bubblewrap, 20,000 files";
