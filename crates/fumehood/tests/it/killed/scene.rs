//! A person's files, a skill that changes them, and what can be seen of both from outside.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::receipt::{ROW_CLOSED, ROW_OPEN};
use fumehood_store::{Home, Journal};
use fumehood_testkit::Opens;
use serde_json::Value;
use tempfile::TempDir;

use crate::program;

/// One person, on whose files one run after the other is killed.
pub(super) struct Scene {
    root: PathBuf,
    grants: Vec<String>,
    revision: String,
    _folder: TempDir,
}

/// What became of the person's files.
pub(super) enum Files {
    /// None of them was changed.
    Untouched,
    /// All of them are as the run wanted them.
    Complete,
    /// Neither: how they differ.
    Mixed(String),
}

/// What somebody could notice of a file: kind and mode, time unless it is a folder, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    modified: Option<(i64, i64)>,
    bytes: Vec<u8>,
}

impl Scene {
    /// Not below `/tmp`, where no workspace can be.
    pub(super) fn new(grants: &[&str]) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap();
        let config = root.join("home/.config/fumehood");
        fs::create_dir_all(&config).unwrap();
        for folder in [&config, config.parent().unwrap()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        write(&config.join("fumehood.toml"), "[approve]\nrevision_flag = true\n");
        write(&root.join("skill/SKILL.md"), "---\nname: skill\ndescription: Changes files.\n---\n");
        write(&root.join("skill/scripts/go.sh"), SCRIPT);
        // Under a name of its own, by which its processes are known. Copied by another process: a file that this one wrote
        // could be open in a child of another thread still, and then cannot be executed.
        let own = root.join("fumehood-of-this-test");
        assert!(Command::new("/bin/cp").arg(program()).arg(&own).status().unwrap().success());
        let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
        let mut scene = Self { root, grants, revision: String::new(), _folder: folder };
        let shown = scene.call(&["--format", "json", "show", "./skill"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["revision"].as_str().unwrap().clone_into(&mut scene.revision);
        scene.reset();
        scene
    }

    fn call(&self, arguments: &[&str]) -> Command {
        self.call_of(&self.root.join("fumehood-of-this-test"), arguments)
    }

    fn call_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", self.root.join("home")).current_dir(&self.root);
        command.stdin(Stdio::null());
        command
    }

    /// A run that nobody kills: it must do what it is for. Gives how long it took the second time.
    pub(super) fn time_of_a_run(&self) -> Duration {
        let mut took = Duration::ZERO;
        for _ in 0..2 {
            self.reset();
            let (before, began) = (self.head(), Instant::now());
            let output = self.run().output().unwrap();
            took = began.elapsed();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let changes = self.grants.iter().any(|grant| grant == "--workspace");
            assert!(matches!(self.files(), Files::Complete) == changes);
            assert_eq!((self.receipts(before), self.recorded_as_applied(before)), (1, changes));
            self.assert_clean();
        }
        took
    }

    fn run(&self) -> Command {
        let mut command = self.call(&["run", "./skill", "scripts/go.sh", "--approve", &self.revision]);
        let work = self.root.join("work");
        command.args(&self.grants).arg("--").arg(work);
        command
    }

    /// The host of a run, which somebody will kill.
    pub(super) fn start(&self) -> Child {
        self.run().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Waits until the host keeps what the script said, which it does when that is over; or until the host is.
    pub(super) fn await_end_of_script(&self, host: &mut Child) {
        let until = Instant::now() + PATIENCE;
        let kept = self.state("artifacts/kept");
        let before = names(&kept).len();
        let is_applying = || !names(&self.state("transactions/open")).is_empty();
        while names(&kept).len() == before && !is_applying() && host.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "the script never ended");
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// The host, its launcher and all that they started are gone, and so are all mounts.
    pub(super) fn assert_nothing_lives(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let living = self.processes();
            if living.is_empty() {
                break;
            }
            assert!(Instant::now() < until, "{living:?}");
            thread::sleep(Duration::from_millis(2));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.root.to_str().unwrap()), "{mounts}");
    }

    fn processes(&self) -> Vec<String> {
        let marker = self.root.to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let about = |process: &PathBuf| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let program = fs::read_link(process.join("exe")).unwrap_or_default();
            let folder = fs::read_link(process.join("cwd")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("{} {line} {} {}", process.display(), program.display(), folder.display())
        };
        processes.map(|process| about(&process)).filter(|about| about.contains(marker)).collect()
    }

    /// Notices if any script that was laid out and left is opened, as whoever executes it must.
    pub(super) fn watch_staged_files(&self) -> Vec<Opens> {
        let staged = tree(&self.state("staging"));
        let scripts = staged.into_iter().filter(|path| path.ends_with("scripts/go.sh"));
        scripts.map(|path| Opens::of(&path)).collect()
    }

    /// The next start of a host: it asks for the same run, and there is nobody who could say yes.
    pub(super) fn start_again(&self) {
        // It belongs to no terminal, whatever started the tests.
        let program = self.root.join("fumehood-of-this-test");
        let program = program.to_str().unwrap();
        let arguments = ["--wait", program, "--format", "json", "run", "./skill", "scripts/go.sh", "--", "x"];
        let output = self.call_of(Path::new("/usr/bin/setsid"), &arguments).output().unwrap();
        let fault: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(fault["code"], "E_SKILL_SCRIPT_DENIED", "{fault}");
    }

    /// No folder of a run, no transaction and no folder of ours is left.
    pub(super) fn assert_clean(&self) {
        assert_eq!(names(&self.state("staging")), ["lock"]);
        assert_eq!(names(&self.state("transactions/open")), Vec::<String>::new());
        assert_eq!(names(&self.state("artifacts/new")), Vec::<String>::new());
        let ours = tree(&self.root).into_iter().find(|path| path.to_string_lossy().contains("/.fumehood-"));
        assert_eq!(ours, None);
    }

    pub(super) fn assert_journal_verifies(&self) {
        assert_eq!(self.journal().verify(None).unwrap().broken, None);
    }

    fn journal(&self) -> Journal {
        Journal::open(&Home { config: self.root.join("home/.config/fumehood"), state: self.state("") })
            .unwrap()
    }

    /// How many rows there are.
    pub(super) fn head(&self) -> u64 {
        self.journal().verify(None).unwrap().rows
    }

    /// Rows since then, newest first.
    fn rows(&self, since: u64) -> Vec<(String, Value)> {
        let rows = self.journal().newest(None, None, 100).unwrap();
        let new = rows.into_iter().filter(|row| row.seq > since);
        new.map(|row| (row.kind.clone(), serde_json::from_str(&row.json).unwrap())).collect()
    }

    /// How many runs were begun since then.
    pub(super) fn receipts(&self, since: u64) -> usize {
        self.rows(since).iter().filter(|(kind, _)| kind == ROW_OPEN).count()
    }

    /// Whether a row since then says that files were changed.
    pub(super) fn recorded_as_applied(&self, since: u64) -> bool {
        let says = |(kind, row): &(String, Value)| match kind.as_str() {
            kind if kind == ROW_CLOSED => {
                row["closing"]["files_applied"].as_array().is_some_and(|all| !all.is_empty())
            }
            "transaction.recovered" => row["outcome"] == "applied",
            _ => false,
        };
        self.rows(since).iter().any(says)
    }

    /// The person's files as they were before any run. Only what is not as it was is written.
    pub(super) fn reset(&self) {
        for folder in ["work", "files", "results"] {
            let folder = self.root.join(folder);
            if folder.exists() {
                fs::remove_dir_all(&folder).unwrap();
            }
            fs::create_dir(&folder).unwrap();
        }
        for (path, bytes) in BEFORE {
            write(&self.root.join(path), bytes);
        }
        for path in tree(&self.root).iter().filter(|path| path.is_file() && self.is_persons(path)) {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
        }
    }

    fn is_persons(&self, path: &Path) -> bool {
        ["work", "files", "results"].iter().any(|folder| path.starts_with(self.root.join(folder)))
    }

    fn seen(&self) -> BTreeMap<PathBuf, Seen> {
        let see = |path: PathBuf| {
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let modified = meta.is_file().then(|| (meta.mtime(), meta.mtime_nsec()));
            let below = path.strip_prefix(&self.root).unwrap().to_path_buf();
            (below, Seen { mode: meta.mode(), modified, bytes })
        };
        tree(&self.root).into_iter().filter(|path| self.is_persons(path)).map(see).collect()
    }

    /// What became of them.
    pub(super) fn files(&self) -> Files {
        let seen = self.seen();
        let bytes: BTreeMap<_, _> = seen
            .iter()
            .map(|(path, seen)| (path.to_str().unwrap(), String::from_utf8_lossy(&seen.bytes)))
            .collect();
        let is = |expected: &[(&str, &str)]| {
            let files: BTreeMap<_, _> = bytes
                .iter()
                .filter(|(path, _)| self.root.join(path).is_file())
                .map(|(path, bytes)| (*path, bytes.as_ref()))
                .collect();
            files == expected.iter().copied().collect()
        };
        let old = |(_, seen): &(&PathBuf, &Seen)| seen.modified.is_none_or(|time| time == (1_700_000_000, 0));
        let folders = bytes.keys().filter(|path| self.root.join(path).is_dir()).count();
        let modes = seen.values().all(|seen| matches!(seen.mode, 0o100_644 | 0o040_755));
        match () {
            () if !modes => Files::Mixed(format!("{seen:?}")),
            () if is(BEFORE) && folders == 6 && seen.iter().all(|one| old(&one)) => Files::Untouched,
            () if is(AFTER) && folders == 6 => Files::Complete,
            () => Files::Mixed(format!("{bytes:?}")),
        }
    }

    fn state(&self, below: &str) -> PathBuf {
        self.root.join("home/.local/share/fumehood").join(below)
    }

    /// A few hundred microseconds, at random.
    pub(super) fn jitter() -> Duration {
        Duration::from_micros(RandomState::new().build_hasher().finish() % 1000)
    }
}

/// Everything below a folder that does not vanish while it is looked at.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], tree(&path)].concat() } else { vec![path] })
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn write(path: &Path, bytes: &str) {
    let folder = path.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

/// Without the grants it only speaks.
const SCRIPT: &str = "\
set -e
echo said
test -d \"$1\" || exit 0
cd \"$1\"
echo after > old
rm gone
rm -r full
echo new > new
mkdir made
echo x > made/x
mv sub/deep sub/renamed
echo after > /out/report
echo made > /out/new
mkdir /out/d
echo rest > /out/d/rest
";
const BEFORE: &[(&str, &str)] = &[
    ("work/keep", "kept\n"),
    ("work/old", "before\n"),
    ("work/gone", "going\n"),
    ("work/full/in/a", "a\n"),
    ("work/sub/deep", "deep\n"),
    ("files/report", "before\n"),
];
const AFTER: &[(&str, &str)] = &[
    ("work/keep", "kept\n"),
    ("work/old", "after\n"),
    ("work/new", "new\n"),
    ("work/made/x", "x\n"),
    ("work/sub/renamed", "deep\n"),
    ("files/report", "after\n"),
    ("files/new", "made\n"),
    ("results/d/rest", "rest\n"),
];
const PATIENCE: Duration = Duration::from_secs(30);
