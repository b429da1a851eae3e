//! `check` on folders made to hang it, fill its memory, or lead it elsewhere.
//!
//! Memory is bounded by the operating system: the program may not allocate more than `MEMORY_KIB`. Work is bounded by
//! what the report says was looked at; the time limit only keeps a hanging test from hanging the run.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_testkit::{Opens, Scratch, skill_md};
use serde_json::Value;

/// What the program may allocate. With its own code mapped it stays below 64 MiB.
const MEMORY_KIB: u32 = 40 << 10;
const HANGS_AFTER: Duration = Duration::from_secs(20);
/// Without this much it cannot even start, which shows that the limit is in force.
const TOO_LITTLE_KIB: u32 = 64;
const DEPTH: usize = 100_000;

struct Answer {
    exit: Option<i32>,
    out: String,
    err: String,
}

fn program() -> PathBuf {
    std::env::var_os("FUMEHOOD_BIN").map_or_else(|| env!("CARGO_BIN_EXE_fumehood").into(), PathBuf::from)
}

fn run(memory_kib: u32, arguments: &[&str], folder: &Path) -> Answer {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -d {memory_kib} && exec \"$0\" \"$@\"")])
        .arg(program())
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |stream: &mut dyn std::io::Read| {
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    let out = thread::spawn(move || read(&mut out));
    let err = thread::spawn(move || read(&mut err));
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if started.elapsed() > HANGS_AFTER => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{arguments:?} hangs");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |stream: thread::JoinHandle<std::io::Result<String>>| stream.join().unwrap().unwrap();
    Answer { exit: status.code(), out: text(out), err: text(err) }
}

struct Report(Value);

/// Checks the folder within the memory limit; the exit code must be this one.
fn check(exit: i32, folder: &Path, more: &[&str]) -> Report {
    let arguments = [&["check", ".", "--format", "json"], more].concat();
    let answer = run(MEMORY_KIB, &arguments, folder);
    assert_eq!(answer.exit, Some(exit), "{}", &answer.err[..answer.err.len().min(2000)]);
    Report(serde_json::from_str(&answer.out).unwrap())
}

fn codes(of: &Value) -> Vec<&str> {
    of["diagnostics"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

impl Report {
    fn skill(&self, name: &str) -> &Value {
        let skills = self.0["skills"].as_array().unwrap();
        let of_name = |skill: &&Value| skill["path"].as_str().unwrap().ends_with(&format!("/{name}"));
        skills.iter().find(of_name).unwrap_or_else(|| panic!("no skill {name}"))
    }

    fn source(&self) -> &Value {
        &self.0["sources"][0]
    }

    /// The skill is refused, with exactly these findings.
    fn refuses(&self, name: &str, expected: &[&str]) {
        let skill = self.skill(name);
        assert_eq!((skill["loadable"].as_bool(), codes(skill)), (Some(false), expected.to_vec()), "{name}");
    }

    /// The skill can be used, and this finding says what is left out.
    fn takes(&self, name: &str, expected: &str) -> &Value {
        let skill = self.skill(name);
        assert_eq!(skill["loadable"], true, "{name}");
        assert!(codes(skill).contains(&expected), "{name}: {:?}", codes(skill));
        skill
    }

    /// The positive control: the good skill beside all this is found and whole.
    fn finds_good(&self) {
        let good = self.skill("good");
        assert_eq!((good["loadable"].as_bool(), codes(good)), (Some(true), vec![]));
    }
}

fn with_frontmatter(lines: &str) -> String {
    format!("---\nname: x\ndescription: d\n{lines}\n---\n")
}

/// Every value is ten of the one before.
fn alias_bomb() -> String {
    let mut lines = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let ten = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(lines, "a{level}: &a{level} [{ten}]").unwrap();
    }
    with_frontmatter(&lines)
}

// Each file that should be a SKILL.md gets its own code, and none of them costs time or memory.
#[test]
fn a_skill_md_can_be_anything() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.fifo("fifo/SKILL.md");
    scratch.socket("socket/SKILL.md");
    scratch.link("to-fifo/SKILL.md", "pipe");
    scratch.fifo("to-fifo/pipe");
    scratch.sparse("giant/SKILL.md", 1 << 30);
    scratch.file("large/SKILL.md", " ".repeat(2 << 20));
    scratch.link("passwd/SKILL.md", "/etc/passwd");
    scratch.link("zero/SKILL.md", "/dev/zero");
    scratch.link("loop/SKILL.md", "SKILL.md");
    scratch.file("bytes/SKILL.md", b"---\nname: x\ndescription: \xff\xfe\n---\n");
    scratch.file("nul/SKILL.md", skill_md("nul") + "\0");
    scratch.file("flow/SKILL.md", with_frontmatter(&format!("x: {}", "[".repeat(60_000))));
    scratch.file("block/SKILL.md", with_frontmatter(&format!("x:\n  {}x", "- ".repeat(30_000))));
    scratch.file("aliases/SKILL.md", alias_bomb());
    scratch.file("wide/SKILL.md", with_frontmatter(&"? x\n".repeat(10_000)));
    scratch.file("unclosed/SKILL.md", "---\n".to_owned() + &"a: b\n".repeat(100_000));
    let fifo = Opens::of(&scratch.at("fifo/SKILL.md"));
    let pipe = Opens::of(&scratch.at("to-fifo/pipe"));
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    report.refuses("fifo", &["E_SPECIAL_FILE"]);
    report.refuses("socket", &["E_SPECIAL_FILE"]);
    // Of the link and of the FIFO it leads to.
    report.refuses("to-fifo", &["E_SPECIAL_FILE", "E_SPECIAL_FILE"]);
    report.refuses("giant", &["E_SKILL_MD_TOO_LARGE", "W_SKILL_TOO_LARGE"]);
    report.refuses("large", &["E_SKILL_MD_TOO_LARGE"]);
    report.refuses("passwd", &["E_LINK_ESCAPES"]);
    report.refuses("zero", &["E_LINK_ESCAPES"]);
    report.refuses("loop", &["E_LINK_ESCAPES"]);
    report.refuses("bytes", &["E_SKILL_MD_ENCODING"]);
    report.refuses("nul", &["E_SKILL_MD_NUL"]);
    report.refuses("flow", &["E_FRONTMATTER_TOO_LARGE"]);
    report.refuses("block", &["E_FRONTMATTER_TOO_LARGE"]);
    report.refuses("wide", &["E_FRONTMATTER_TOO_LARGE"]);
    report.refuses("unclosed", &["E_FRONTMATTER_UNCLOSED"]);
    // Aliases are not expanded: the lines are read as text.
    report.takes("aliases", "W_FRONTMATTER_QUOTED");
    assert_eq!(report.source()["complete"], true);
    assert_eq!((fifo.count(), pipe.count()), (0, 0));
}

// Whoever reads such a tree by going down needs a stack, a path or a handle for each level.
#[test]
fn a_hundred_thousand_nested_folders_are_left_alone() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.chain("chain", DEPTH);
    scratch.skill("skill");
    scratch.chain("skill/inner", DEPTH);
    scratch.fifo("fifo/SKILL.md");
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    report.takes("skill", "W_FILES_NOT_LISTED");
    assert_eq!(codes(report.source()), ["W_WALK_DEPTH"]);
    assert_eq!(report.source()["searched"], 1 + 6);
    // Asked for every level there can be, it still ends where it says.
    let deepest = check(2, scratch.path(), &["--max-depth", "32", "--max-folders", "1000000", "--nested"]);
    deepest.finds_good();
    assert_eq!(codes(deepest.source()), ["W_WALK_DEPTH"]);
    assert!(deepest.source()["searched"].as_u64().unwrap() < 100);
    // Nothing but the limit is wrong here; only --strict makes that a failure.
    fs::remove_file(scratch.at("fifo/SKILL.md")).unwrap();
    check(0, scratch.path(), &[]);
    check(2, scratch.path(), &["--strict"]);
}

#[test]
fn a_hundred_thousand_folders_side_by_side_are_not_all_searched() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.fifo("fifo/SKILL.md");
    for number in 0..100_000 {
        fs::create_dir(scratch.at(format!("x{number}"))).unwrap();
    }
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    report.refuses("fifo", &["E_SPECIAL_FILE"]);
    assert_eq!(codes(report.source()), ["W_WALK_DIRECTORIES"]);
    assert_eq!((&report.source()["searched"], &report.source()["complete"]), (&2000.into(), &false.into()));
}

// Links cost a look each, at a folder that can be as large as somebody likes.
#[test]
fn thousands_of_links_to_a_large_folder_are_not_all_followed() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.fifo("fifo/SKILL.md");
    for number in 0..2000 {
        fs::write(scratch.ready("large/x").with_file_name(format!("{number}")), "").unwrap();
    }
    for number in 0..20_000 {
        scratch.link(format!("z{number}"), "large");
        scratch.link(format!("a{number}"), "good");
    }
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    assert_eq!(report.0["summary"]["found"], 2);
    assert_eq!(report.source()["searched"], 2000);
    assert_eq!(codes(report.source()).last(), Some(&"W_WALK_DIRECTORIES"));
}

#[test]
fn skills_of_too_many_files_are_bounded() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    for name in ["files", "unportable", "links", "fifos"] {
        scratch.skill(name);
    }
    let name = "long-enough-to-cost-something-".repeat(8);
    for number in 0..10_000 {
        fs::write(scratch.at(format!("files/{number}")), "").unwrap();
    }
    for number in 0..40_000 {
        fs::write(scratch.at(format!("unportable/{name}:{number}")), "").unwrap();
    }
    for number in 0..10_000 {
        scratch.link(format!("links/{number}"), "/etc/passwd");
        scratch.fifo(format!("fifos/{number}"));
    }
    // All of them are loadable, with what was left out named; so this one alone decides the exit code.
    scratch.fifo("refused/SKILL.md");
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    assert_eq!(report.takes("files", "W_FILES_NOT_LISTED")["files"], 8192);
    // Two hundred of a kind are shown, and how many more there are.
    for (name, code) in [
        ("unportable", "E_SKILL_SOURCE_PATH_REJECTED"),
        ("links", "E_LINK_ESCAPES"),
        ("fifos", "E_SPECIAL_FILE"),
    ] {
        let skill = report.skill(name);
        assert_eq!((skill["loadable"].as_bool(), skill["conformant"].as_bool()), (Some(true), Some(false)));
        let shown = codes(skill).into_iter().filter(|other| *other == code).count();
        assert_eq!(shown, 200, "{name}");
        assert_eq!(codes(skill).last(), Some(&"W_FILES_NOT_LISTED"));
    }
}

// Each of these is a million folders, if links are followed as often as they can be.
#[test]
fn links_that_multiply_are_bounded() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.skill("skill");
    for level in 0..20 {
        for side in ["l", "r"] {
            scratch.link(format!("skill/{level}/{side}"), format!("../{}", level + 1));
            scratch.link(format!("category/{level}/{side}"), format!("../{}", level + 1));
        }
    }
    scratch.folder("skill/20");
    scratch.skill("category/20");
    scratch.fifo("fifo/SKILL.md");
    let report = check(2, scratch.path(), &[]);
    report.finds_good();
    report.takes("skill", "W_FILES_NOT_LISTED");
    assert_eq!(report.source()["complete"], true);
}

// Names and texts of skills reach a terminal only with their control characters made visible.
#[test]
fn hostile_names_are_shown_as_text() {
    let scratch = Scratch::for_many();
    scratch.skill("good");
    scratch.file("skill/SKILL.md", skill_md("skill"));
    scratch.file(std::ffi::OsStr::from_bytes(b"skill/\x1b]0;title\x07\r\n\xe2\x80\xae.txt"), "");
    scratch.fifo("fifo\u{1b}[2J/SKILL.md");
    let answer = run(MEMORY_KIB, &["check", ".", "--notes"], scratch.path());
    assert_eq!(answer.exit, Some(2));
    let raw = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
    assert!(!raw(&answer.out) && !raw(&answer.err), "{:?}", answer.out);
    assert!(answer.out.contains("E_SKILL_SOURCE_PATH_REJECTED") && answer.out.contains("E_SPECIAL_FILE"));
}

// The check of the limit that the other tests rely on.
#[test]
fn the_memory_limit_is_in_force() {
    let scratch = Scratch::new();
    scratch.skill("good");
    check(0, scratch.path(), &[]).finds_good();
    assert_ne!(run(TOO_LITTLE_KIB, &["check", "."], scratch.path()).exit, Some(0));
}

/// Two versions of one skill, told apart by their descriptions, exchanged all the time.
#[test]
fn what_is_shown_beside_a_revision_belongs_to_it() {
    use fumehood::{Host, HostOptions};
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("x");
    std::fs::create_dir(&skill).unwrap();
    std::fs::write(skill.join("pad.bin"), vec![7; 2 << 20]).unwrap();
    let text = |description: &str| format!("---\nname: x\ndescription: {description}\n---\n");
    let put = |description: &str| {
        let next = folder.path().join("next");
        std::fs::write(&next, text(description)).unwrap();
        std::fs::rename(next, skill.join("SKILL.md")).unwrap();
    };
    let host = Host::new(HostOptions::isolated(folder.path().to_path_buf()));
    let revision_of = |description: &str| {
        put(description);
        host.show("./x", &[]).unwrap().revision.unwrap()
    };
    let expected = [("one", revision_of("one")), ("two", revision_of("two"))];
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut shown, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                put("one");
                std::thread::sleep(std::time::Duration::from_millis(3));
                put("two");
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        // Until both have happened often enough to mean something.
        for _ in 0..5_000 {
            if shown >= 200 && refused >= 3 {
                break;
            }
            let report = host.show("./x", &[]).unwrap();
            let Some(revision) = report.revision else {
                refused += 1;
                continue;
            };
            shown += 1;
            let pair = (report.description.as_deref().unwrap(), revision);
            if !expected.contains(&pair) {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
                panic!("{pair:?} is neither of {expected:?}");
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    println!("{shown} shown, {refused} refused");
    assert!(shown > 0 && refused > 0, "{shown} shown, {refused} refused: nothing was raced");
}
