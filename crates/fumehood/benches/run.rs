//! How long `fumehood run` takes beside a plain start of the same script, and where the time goes.
//!
//! The script is one `exit 0` of the shell. All rows are run in turns, so that what else the machine does falls on all
//! alike; printed are minimum and median of each. Nothing here passes or fails. Its state is a folder of its own below
//! `/var/tmp`. The program asks for approval by the flag that names the revision, which its settings allow.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes the files that it runs")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::fs;
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use fumehood::{Host, HostOptions};
use fumehood_sandbox::{Access, Limits, OnExcess, Profile, Sandbox};
use fumehood_store::{
    Artifacts, DiskFolder, Flush, Folder as _, Home, Journal, Staging, Surroundings, Transactions,
};

fn main() {
    fumehood::helper::dispatch();
    // On a disk, and in no project: the state may not lie in one.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let bench = Bench::new(&folder.path().canonicalize().unwrap());
    let steps: [(&str, &dyn Fn()); 13] = [
        ("plain start of the shell and the script", &|| bench.plain()),
        ("`fumehood run --approve`, the whole program", &|| bench.program()),
        ("the program that only says its version", &says_its_version),
        ("reading the skill: capture, twice every byte", &|| bench.capture()),
        ("sandbox: start of the launcher, probe, end", &|| drop(Sandbox::start().unwrap())),
        ("sandbox: start, run the script, end", &|| bench.sandboxed()),
        ("sandbox: run the script, launcher running", &|| bench.confined()),
        ("state: open journal", &|| drop(Journal::open(&bench.home).unwrap())),
        ("state: open artifacts", &|| drop(bench.artifacts())),
        ("state: open staging and transactions", &|| bench.open_runs()),
        ("record: one row on the disk for good", &|| bench.row(Flush::Now)),
        ("record: one row soon", &|| bench.row(Flush::Soon)),
        ("files: lay out the snapshot, verify, remove", &|| bench.stage()),
    ];
    let mut times: Vec<Vec<Duration>> = steps.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for index in 0..steps.len() {
            // Another order each time: what one step leaves behind falls on another neighbour.
            let index = (index * 5 + round) % steps.len();
            let began = Instant::now();
            steps[index].1();
            times[index].push(began.elapsed());
        }
    }
    println!("| step | min ms | median ms |\n|---|---|---|");
    for ((name, _), mut times) in steps.iter().zip(times) {
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!("| {name} | {:.2} | {:.2} |", ms(times[0]), ms(times[times.len() / 2]));
    }
}

struct Bench {
    skill: PathBuf,
    fumehood_home: PathBuf,
    revision: String,
    home: Home,
    journal: Journal,
    staging: Staging,
    sandbox: Sandbox,
}

impl Bench {
    fn new(folder: &Path) -> Self {
        let skill = folder.join("skills/quick");
        write(
            &skill.join("SKILL.md"),
            "---\nname: quick\ndescription: Does nothing, quickly.\n---\nRun `scripts/quick.sh`.\n",
        );
        write(&skill.join("scripts/quick.sh"), "exit 0\n");
        let fumehood_home = folder.join("home");
        fs::create_dir_all(&fumehood_home).unwrap();
        fs::set_permissions(&fumehood_home, fs::Permissions::from_mode(0o700)).unwrap();
        let surroundings = Surroundings {
            home: None,
            fumehood_home: Some(fumehood_home.clone()),
            current: folder.join("skills"),
        };
        let home = Home::find(&surroundings).unwrap();
        home.make_state().unwrap();
        write(&home.config.join("fumehood.toml"), "[approve]\nrevision_flag = true\n");
        let host = Host::new(HostOptions::isolated(folder.join("skills")));
        let revision = host.show(skill.to_str().unwrap(), &[]).unwrap().revision.unwrap();
        let (journal, staging) = (Journal::open(&home).unwrap(), Staging::open(&home).unwrap());
        Self { skill, fumehood_home, revision, home, journal, staging, sandbox: Sandbox::start().unwrap() }
    }

    fn plain(&self) {
        let mut command = Command::new("/usr/bin/sh");
        let command = command.arg(self.skill.join("scripts/quick.sh")).stdin(Stdio::null());
        assert!(command.output().unwrap().status.success());
    }

    fn program(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fumehood"));
        command.env_clear().env("FUMEHOOD_HOME", &self.fumehood_home).stdin(Stdio::null());
        command.current_dir(&self.skill);
        command.arg("run").arg(&self.skill).args(["scripts/quick.sh", "--approve", &self.revision]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn capture(&self) {
        black_box(DiskFolder::open(&self.skill).unwrap().capture().unwrap().revision());
    }

    fn profile(&self) -> Profile {
        let limits = Limits {
            cpu_seconds: 10,
            memory_bytes_per_process: 1 << 28,
            processes: 16,
            file_bytes: 1 << 20,
            open_files: 64,
            temporary_bytes: 1 << 20,
            temporary_files: 64,
        };
        Profile::builder("/usr/bin/sh", limits, Duration::from_secs(10))
            .argument("/skill/scripts/quick.sh")
            .grant(&self.skill, "/skill", Access::Read)
            .output(1 << 16, OnExcess::Truncate)
            .build()
            .unwrap()
    }

    fn sandboxed(&self) {
        let sandbox = Sandbox::start().unwrap();
        black_box(sandbox.spawn(&self.profile()).unwrap().wait(&|| false).unwrap());
    }

    fn confined(&self) {
        black_box(self.sandbox.spawn(&self.profile()).unwrap().wait(&|| false).unwrap());
    }

    fn artifacts(&self) -> Artifacts {
        Artifacts::open(&self.home, Artifacts::BYTES_MAX_DEFAULT).unwrap()
    }

    fn open_runs(&self) {
        drop(Staging::open(&self.home).unwrap());
        let transactions = Transactions::open(&self.home).unwrap();
        assert!(transactions.recover().unwrap().is_empty());
    }

    fn row(&self, flush: Flush) {
        self.journal.append("bench", "{}", SystemTime::now(), flush).unwrap();
    }

    fn stage(&self) {
        let snapshot = DiskFolder::open(&self.skill).unwrap().capture().unwrap();
        let staged = self.staging.lay_out(&snapshot).unwrap();
        black_box(staged.verify().unwrap());
        staged.remove().unwrap();
    }
}

fn says_its_version() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fumehood"));
    assert!(command.arg("--version").stdin(Stdio::null()).output().unwrap().status.success());
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const ROUNDS: usize = 60;
