//! Machines that lack something: what each is found to be, that it holds what it promises, and that nothing runs where
//! nothing can be promised.
//!
//! The whole sandbox, host's side included, runs behind what takes the feature away.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use fumehood_sandbox::helper::MACHINE_ARGUMENT;
use fumehood_sandbox::prove::{Attack, Verdict, attacks, machines, prove_one};
use fumehood_sandbox::{Level, Obstacle, Sandbox, SandboxError, Step};
use rustix::io::Errno;

use crate::program;

/// What is expected of every machine; the only place that says so. The documentation's table is made from it.
const TABLE: &[(&str, Expected)] = &[
    ("plain", Is(Level::Full, None)),
    ("no-landlock", Is(Level::Namespaces, NO_LANDLOCK)),
    ("landlock-off", Is(Level::Namespaces, NO_LANDLOCK)),
    ("landlock-2", Is(Level::Namespaces, NO_LANDLOCK)),
    ("landlock-3", Is(Level::Full, None)),
    // The C library starts programs by clone3, and takes no other way after this answer.
    ("container", NoLauncher(Errno::PERM)),
    ("docker", Is(Level::Kernel, Some(FORBIDDEN))),
    ("docker-with-landlock-5", Refused(FORBIDDEN)),
    ("docker-without-landlock", Refused(FORBIDDEN)),
    ("clone3-unknown", Is(Level::Full, None)),
    ("no-seccomp", Refused(Why(Step::Seccomp, Errno::NOSYS, &["CONFIG_SECCOMP_FILTER"]))),
    ("no-seccomp-filter", Refused(Why(Step::Seccomp, Errno::INVAL, &["CONFIG_SECCOMP_FILTER"]))),
    // Root's children would have to be another user, whom this namespace does not know; and the user that root of the
    // machine is here has no limit of processes.
    ("user-namespaces-off", Split { root: &Refused(OFF), user: &Is(Level::Kernel, Some(OFF)) }),
    ("user-namespaces-off-for-root", Refused(OFF)),
    ("user-of-a-rootless-container", Split { root: &Refused(ROOT_OUTSIDE), user: &Is(Level::Full, None) }),
    ("rootless-container", Split { root: &Refused(ROOT_OUTSIDE), user: &Is(Level::Full, None) }),
    ("masked-proc", Is(Level::Kernel, Some(MASKED))),
    ("masked-proc-for-a-user", Split { root: &Refused(MASKED), user: &Is(Level::Kernel, Some(MASKED)) }),
    (
        "apparmor",
        Is(Level::Kernel, Some(Why(Step::Propagation, Errno::PERM, &["AppArmor profile", "userns"]))),
    ),
    ("old-mounts", Refused(Why(Step::Propagation, Errno::NOSYS, &["Linux 5.12"]))),
    ("no-mount-attributes", Refused(Why(Step::Propagation, Errno::NOSYS, &["Linux 5.12", "gVisor"]))),
    ("hangs-in-launcher", Hangs),
    ("hangs-in-child", Hangs),
    ("hangs-in-clone", LauncherHangs),
];
const NO_LANDLOCK: Option<Why> = Some(Why(Step::Landlock, Errno::NOSYS, &["Linux 6.2", "lsm"]));
const FORBIDDEN: Why =
    Why(Step::LauncherNamespace, Errno::PERM, &["container", "clone and unshare", "AppArmor profile"]);
const OFF: Why = Why(Step::LauncherNamespace, Errno::NOSPC, &["user.max_user_namespaces"]);
const MASKED: Why = Why(Step::Proc, Errno::PERM, &["systempaths=unconfined"]);
const ROOT_OUTSIDE: Why = Why(Step::ProcessLimit, Errno::PERM, &["another user"]);

#[derive(Clone, Copy, Debug)]
enum Expected {
    /// A level; and the obstacle to a stronger one.
    Is(Level, Option<Why>),
    /// No sandbox.
    Refused(Why),
    /// No sandbox, because no program can be started at all.
    NoLauncher(Errno),
    /// No sandbox, in bounded time.
    Hangs,
    /// As that, where the host must not be on the machine too.
    LauncherHangs,
    /// It matters whether the machine's root plays it or an ordinary user.
    Split { root: &'static Expected, user: &'static Expected },
}
use Expected::{Hangs, Is, LauncherHangs, NoLauncher, Refused, Split};

impl Expected {
    fn here(self) -> Self {
        match self {
            Split { root, .. } if rustix::process::geteuid().is_root() => *root,
            Split { user, .. } => *user,
            plain => plain,
        }
    }

    /// What is found, and what can be done about it.
    fn cells(self) -> (String, String) {
        match self {
            Is(level, None) => (format!("`{level}`"), "–".to_owned()),
            Is(level, Some(why)) => (format!("`{level}`"), why.obstacle().remedy().to_owned()),
            Refused(why) => (format!("refused: {}", why.obstacle()), why.obstacle().remedy().to_owned()),
            NoLauncher(errno) => (
                format!("refused: no program can be started: {errno}"),
                "allow clone3 in the outer filter, or have it answer ENOSYS".to_owned(),
            ),
            Hangs | LauncherHangs => ("refused: no answer in time".to_owned(), "see what hangs".to_owned()),
            Split { root, user } => {
                let ((root, by_root), (user, by_user)) = (root.cells(), user.cells());
                let remedy = if by_user == "–" { by_root } else { by_user };
                (format!("{user} for an ordinary user; {root} for the machine's root"), remedy)
            }
        }
    }
}

/// A step that fails, the kernel's answer, and words of the remedy.
#[derive(Clone, Copy, Debug)]
struct Why(Step, Errno, &'static [&'static str]);

impl Why {
    fn obstacle(self) -> Obstacle {
        Obstacle { step: self.0, errno: self.1.raw_os_error() }
    }
}

#[test]
fn the_table_has_every_machine() {
    let names: BTreeSet<&str> = machines().iter().map(|machine| machine.name).collect();
    let rows: BTreeSet<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, rows);
    assert_eq!((names.len(), rows.len()), (machines().len(), TABLE.len()));
}

#[test]
fn the_documentation_lists_every_machine() {
    let row = |(name, expected): &(&str, Expected)| {
        let machine = machines().iter().find(|machine| machine.name == *name).expect("there is one");
        let (found, remedy) = expected.cells();
        format!("| {} | {found} | {remedy} | `{name}` |\n", machine.what)
    };
    let head = "| machine | found to be | what can be done | simulated as |\n|---|---|---|---|\n";
    let rows: String = std::iter::once(head.to_owned()).chain(TABLE.iter().map(row)).collect();
    crate::page::has_table("sandbox-levels.md", "\n## Simulated machines\n", &rows);
}

// XSF-50, XSF-53, X-11: what is enforced comes from a probe; without a sandbox nothing runs.
#[test]
fn every_machine_is_found_to_be_what_it_is() {
    let mut failures = Vec::new();
    for (name, expected) in TABLE.iter().map(|(name, expected)| (name, expected.here())) {
        if let Err(why) = check(name, expected) {
            failures.push(format!("{name}: {why}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn check(name: &str, expected: Expected) -> Result<(), String> {
    if matches!(expected, Hangs | LauncherHangs) {
        return Ok(());
    }
    let seen = Seen::of(name, Level::Kernel);
    let Some(seen) = seen.played()? else { return Ok(()) };
    match expected {
        Hangs | LauncherHangs | Split { .. } => {}
        NoLauncher(errno) => {
            seen.expect(REFUSED_BY_MACHINE, "refused", "no launcher")?;
            seen.has_words("error", &[&format!("os error {}", errno.raw_os_error())])?;
            seen.nothing_ran()?;
        }
        Refused(Why(step, errno, words)) => {
            seen.expect(REFUSED_BY_MACHINE, "refused", &format!("{step:?} {}", errno.raw_os_error()))?;
            // The person who reads it sees the step, the reason and the remedy.
            seen.has_words("error", &[step.as_str()])?;
            seen.has_words("error", words)?;
            seen.nothing_ran()?;
        }
        Is(level, obstacle) => {
            seen.expect(0, "level", level.as_str())?;
            seen.expect(0, "program", "exit 7")?;
            // The child of a root host writes nothing where there are no mounts.
            let may_write = level != Level::Kernel || !rustix::process::geteuid().is_root();
            if may_write && !seen.marker {
                return Err("the program left nothing".to_owned());
            }
            match obstacle {
                Some(Why(step, errno, words)) => {
                    seen.expect(0, "obstacle", &format!("{step:?} {}", errno.raw_os_error()))?;
                    seen.has_words("remedy", words)?;
                }
                None if seen.line("obstacle").is_some() => return Err(seen.text),
                None => {}
            }
            seen.axes_fit(level)?;
            for floor in LEVELS {
                floors_hold(name, level, floor)?;
            }
        }
    }
    Ok(())
}

/// A run that asks for more than the machine has does not start.
fn floors_hold(name: &str, level: Level, floor: Level) -> Result<(), String> {
    let Some(seen) = Seen::of(name, floor).played()? else { return Ok(()) };
    if floor <= level {
        return seen.expect(0, "program", "exit 7");
    }
    seen.expect(REFUSED_BY_FLOOR, "refused", "below the floor")?;
    seen.has_words("error", &[level.as_str(), floor.as_str()])?;
    seen.nothing_ran()
}

// XSF-53: a weaker level still holds what it promises. The launcher and the children are on the machine, the host is
// not, so that each attack can be shown to work outside.
#[test]
fn weaker_machines_hold_what_they_promise() {
    let machines = TABLE.iter().filter_map(|(name, expected)| match expected.here() {
        // There every attack is tried; see below.
        Is(Level::Kernel, _) => None,
        Is(level, _) if *name != "plain" => Some((*name, level)),
        _ => None,
    });
    let is_selected = |attack: &&Attack| ATTACKS.contains(&attack.name);
    assert_eq!(attacks().iter().filter(is_selected).count(), ATTACKS.len(), "each is on the list");
    let runs: Vec<_> = machines
        .map(|(name, level)| {
            std::thread::spawn(move || broken_on(name, level, attacks().iter().filter(is_selected)))
        })
        .collect();
    let broken: Vec<String> = runs.into_iter().flat_map(|run| run.join().expect("the thread ends")).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

// XSF-53: so does the level without namespaces, which is another sandbox; here every promise of it is tried.
#[test]
fn without_namespaces_every_promise_holds() {
    let promised = |attack: &&Attack| attack.levels().any(|level| level == Level::Kernel);
    let runs: Vec<_> = (0..AT_ONCE)
        .map(|part| {
            let part = attacks().iter().filter(promised).skip(part).step_by(AT_ONCE);
            std::thread::spawn(move || broken_on("docker", Level::Kernel, part))
        })
        .collect();
    let broken: Vec<String> = runs.into_iter().flat_map(|run| run.join().expect("the thread ends")).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The attacks that do not end as they must on this machine.
fn broken_on(name: &str, level: Level, tried: impl Iterator<Item = &'static Attack>) -> Vec<String> {
    let folder = folder();
    let sandbox = Sandbox::start_with(&launcher_on(name, folder.path())).expect("the machine has a sandbox");
    assert_eq!(sandbox.enforcement().level(), level, "{name}");
    // Where nothing is mounted, the sandbox's user must reach it where it is.
    let program = helper_in(folder.path());
    let proofs = tried.map(|attack| prove_one(&sandbox, &program, attack));
    proofs
        .filter_map(|proof| match (proof.verdict, proof.attack.name) {
            (Verdict::Held, attack) => {
                println!("{name}: {attack}: held: {}", proof.inside);
                None
            }
            (Verdict::Broken(why), attack) => Some(format!("{name}: {attack}: {why}")),
            (Verdict::NotRun(why), attack) => {
                let why = format!("{name}: {attack}: not run: {why}");
                println!("{why}");
                // Of weaker levels a selection is tried, some of which they do not promise.
                let must_run = level == Level::Kernel && std::env::var_os("REQUIRE_SANDBOX").is_some();
                (must_run && !why.ends_with(NOTHING_TO_WRITE)).then_some(why)
            }
        })
        .collect()
}

/// A program of its own, by which its processes are known.
fn helper_in(folder: &Path) -> PathBuf {
    let helper = folder.join("helper");
    let copied = Command::new("/bin/cp").arg(program()).arg(&helper).status().expect("cp runs");
    assert!(copied.success());
    helper
}

// a machine that never answers is a refusal, not a host that waits.
#[test]
fn a_machine_that_hangs_is_refused_in_bounded_time() {
    let hanging = TABLE.iter().filter(|(_, expected)| matches!(expected, Hangs));
    let runs: Vec<_> = hanging
        .map(|(name, _)| {
            std::thread::spawn(move || {
                let start = Instant::now();
                let seen = Seen::of(name, Level::Kernel);
                (*name, seen, start.elapsed())
            })
        })
        .collect();
    let folder = folder();
    let silent = script("exec /bin/sleep 1000", &folder.path().join("silent"));
    let start = Instant::now();
    assert!(matches!(Sandbox::start_with(&silent), Err(SandboxError::NoAnswer)));
    assert!(start.elapsed() < PROBE_ENDS_WITHIN, "a silent launcher: {:?}", start.elapsed());
    for run in runs {
        let (name, seen, elapsed) = run.join().expect("the thread ends");
        let Some(seen) = seen.played().unwrap_or_else(|why| panic!("{name}: {why}")) else { continue };
        let refused =
            seen.expect(REFUSED_BY_MACHINE, "refused", "no answer").and_then(|()| seen.nothing_ran());
        assert!(refused.is_ok() && elapsed < PROBE_ENDS_WITHIN, "{name}: {elapsed:?}: {refused:?}");
    }
}

//
#[test]
fn a_launcher_that_hangs_is_given_up_in_bounded_time() {
    for (name, _) in TABLE.iter().filter(|(_, expected)| matches!(expected, LauncherHangs)) {
        let folder = folder();
        let launcher = launcher_on(name, folder.path());
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(Sandbox::start_with(&launcher).is_err()));
        assert_eq!(is_done.recv_timeout(PROBE_ENDS_WITHIN), Ok(true), "{name}");
    }
}

/// What a machine said of itself, and what it left.
struct Seen {
    name: String,
    code: Option<i32>,
    text: String,
    /// The program's file is there.
    marker: bool,
    processes_left: bool,
}

impl Seen {
    fn of(name: &str, floor: Level) -> Self {
        let folder = folder();
        let helper = helper_in(folder.path());
        let work = folder.path().join("work");
        std::fs::create_dir(&work).expect("the folder can be made");
        let Output { status, stdout, stderr } = Command::new("/usr/bin/timeout")
            .args(["--signal=KILL", "60"])
            .arg(&helper)
            .args([MACHINE_ARGUMENT, name])
            .arg(&helper)
            .arg("--fumehood-report")
            .arg(&work)
            .arg(floor.as_str())
            .output()
            .expect("the helper runs");
        let text = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        // What dies with its parent takes a moment.
        let deadline = Instant::now() + LEFT_BEHIND;
        let mut processes_left = true;
        while processes_left && Instant::now() < deadline {
            processes_left = is_running(folder.path());
            std::thread::sleep(Duration::from_millis(5));
        }
        let marker = work.join("ran").exists();
        Self { name: name.to_owned(), code: status.code(), text, marker, processes_left }
    }

    /// `None`, with the reason in the log, where this machine cannot play that one.
    fn played(self) -> Result<Option<Self>, String> {
        if self.processes_left {
            return Err(format!("processes are left: {}", self.text));
        }
        if self.code != Some(CANNOT_PLAY) {
            return Ok(Some(self));
        }
        let why = format!("{} cannot be played here: {}", self.name, self.text.trim());
        println!("{why}");
        if std::env::var_os("REQUIRE_SANDBOX").is_some() { Err(why) } else { Ok(None) }
    }

    fn line(&self, key: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    }

    fn expect(&self, code: i32, key: &str, value: &str) -> Result<(), String> {
        if self.code == Some(code) && self.line(key) == Some(value) {
            return Ok(());
        }
        Err(format!("expected exit {code} and {key} {value}, got exit {:?} and:\n{}", self.code, self.text))
    }

    fn has_words(&self, key: &str, words: &[&str]) -> Result<(), String> {
        let line = self.line(key).unwrap_or_default();
        match words.iter().find(|word| !line.contains(**word)) {
            None => Ok(()),
            Some(word) => Err(format!("{key} does not say {word:?}: {line:?}")),
        }
    }

    fn nothing_ran(&self) -> Result<(), String> {
        if self.marker || self.line("program").is_some() { Err("a program ran".to_owned()) } else { Ok(()) }
    }

    /// Every axis has a mechanism, and none names what the level does not have.
    fn axes_fit(&self, level: Level) -> Result<(), String> {
        let axes: Vec<&str> = self.text.lines().filter_map(|line| line.strip_prefix("axis: ")).collect();
        let fits = axes.len() == 10
            && axes.iter().any(|axis| axis.contains("Landlock")) == (level != Level::Namespaces)
            && axes.iter().any(|axis| axis.contains("namespace")) == (level != Level::Kernel);
        if fits { Ok(()) } else { Err(format!("at level {level}: {axes:?}")) }
    }
}

/// A launcher that is on the machine, with a host that is not.
fn launcher_on(machine: &str, folder: &Path) -> PathBuf {
    let helper = program();
    let helper = helper.display();
    script(&format!("exec {helper} {MACHINE_ARGUMENT} {machine} {helper} \"$@\""), &folder.join("launcher"))
}

/// Written by another process: one that this process has open for writing, even for a moment, could not be started
/// while another thread starts something.
fn script(line: &str, path: &Path) -> PathBuf {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let mut input = writer.stdin.take().expect("it has an input");
    write!(input, "#!/bin/sh\n{line}\n").expect("it reads");
    drop(input);
    assert!(writer.wait().expect("it ends").success());
    path.to_owned()
}

/// A folder that the user of a new user namespace can enter too.
fn folder() -> tempfile::TempDir {
    // Not /tmp: a sandbox shows its own there.
    let folder = tempfile::tempdir_in("/var/tmp").expect("there is a folder for temporary files");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

/// Whether a process runs a program of this folder, or has it in its arguments.
fn is_running(folder: &Path) -> bool {
    let text = folder.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").expect("proc is mounted").flatten();
    processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).any(|entry| {
        let exe = std::fs::read_link(entry.path().join("exe"));
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        exe.is_ok_and(|exe| exe.starts_with(folder)) || String::from_utf8_lossy(&arguments).contains(&text)
    })
}

/// One or more of each kind that a weaker level promises to hold off; together they take seconds.
const ATTACKS: &[&str] = &[
    "read-a-host-file",
    "link-to-a-host-file",
    "granted-link-to-a-host-file",
    "leaked-descriptors",
    "root-of-a-process",
    "device-nodes",
    "write-a-granted-file",
    "change-metadata",
    "write-to-a-program",
    "hard-link-out",
    "setuid-file",
    "run-what-it-wrote",
    "write-to-proc",
    "signal-a-host-process",
    "signal-everybody",
    "see-host-processes",
    "inherited-environment",
    "new-namespaces",
    "mount-a-tmpfs",
    "be-root",
    "regain-privileges",
    "io-uring",
    "bpf",
    "trace-a-process",
    "memory-of-others",
    "terminal-input",
    "mount-api",
    "tcp-to-the-host",
    "any-socket-family",
    "local-socket-in-a-grant",
    "abstract-socket",
    "memory-bomb",
    "fork-bomb",
    "large-file",
    "flood-output",
    "grandchild-after-exit",
    "launcher-dies",
];
const LEVELS: [Level; 3] = [Level::Kernel, Level::Namespaces, Level::Full];
/// The one reason for which an attack need not be tried without namespaces.
const NOTHING_TO_WRITE: &str = "a root host can grant nothing for writing here";
const AT_ONCE: usize = 3;
const REFUSED_BY_MACHINE: i32 = 3;
const REFUSED_BY_FLOOR: i32 = 4;
const CANNOT_PLAY: i32 = 5;
const LEFT_BEHIND: Duration = Duration::from_secs(5);
/// The probe's own limit, and time for a machine that is busy with other tests.
const PROBE_ENDS_WITHIN: Duration = Duration::from_secs(12);
