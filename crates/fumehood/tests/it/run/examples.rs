//! The example skills do what they say, and the one that means no good gets nowhere.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fumehood_testkit::World;
use serde_json::{Value, json};

use super::{assert_clean, receipt, world_with_example, yes};

const TEXT: &str = "# One\n\nthe quick the lazy\nThe end\n";

#[test]
fn text_report_reports() {
    let world = world_with_example("text-report");
    world.write("project/a.txt", TEXT);
    let arguments =
        ["run", "skills/text-report", "report", "--param", "file=project/a.txt", "--param", "top=2"];
    let (_, answer) = yes(&world, arguments);
    let expected = "lines    4\nwords    8\nbytes    34\nlongest  line 3, 18 characters\nfrequent\n      3  the\n      1  end\n";
    assert_eq!((answer.code, answer.text().as_str(), answer.errors().as_str()), (Some(0), expected, ""));
    assert_clean(&world);
}

#[test]
fn csv_summary_summarises() {
    let world = world_with_example("csv-summary");
    world.write("project/a.csv", "name;n\nx;1\ny;2.5\n;4\n");
    let arguments =
        ["run", "skills/csv-summary", "summary", "--param", "file=project/a.csv", "--param", "separator=;"];
    let (_, answer) = yes(&world, arguments);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
    let columns = json!([
        {"name": "name", "filled": 2, "distinct": 2},
        {"name": "n", "filled": 3, "distinct": 3, "minimum": 1.0, "mean": 2.5, "maximum": 4.0},
    ]);
    assert_eq!(answer.json(), json!({"rows": 3, "columns": columns}));
    assert_clean(&world);
}

// The argument is the grant: one file is made, and nothing else is other than before.
#[test]
fn contents_makes_one_file() {
    let world = world_with_example("contents");
    let document = "# A b\n\n```\n# no\n```\n## C\n#### deep\n# A b\n";
    world.write("project/a.md", document);
    let arguments = [
        "run",
        "skills/contents",
        "write",
        "--param",
        "document=project/a.md",
        "--param",
        "contents=project/toc.md",
    ];
    let (shown, answer) = yes(&world, arguments);
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "3 headings\n"), "{}", answer.errors());
    let place = world.text("project/toc.md");
    assert_eq!(answer.errors(), format!("created {place}\n"));
    assert!(shown.contains(&format!("may make        {place} (it sees /out/toc.md)\n")), "{shown}");
    let toc = "- [A b](#a-b)\n  - [C](#c)\n- [A b](#a-b-1)\n";
    assert_eq!(String::from_utf8(world.read("project/toc.md")).unwrap(), toc);
    let mode = std::fs::metadata(world.path("project/toc.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
    assert_eq!(names(&world.path("project")), [".git", "a.md", "toc.md"]);
    assert_eq!(world.read("project/a.md"), document.as_bytes());
    let applied = &receipt(&world)["closing"]["files_applied"];
    assert_eq!((applied.as_array().unwrap().len(), &applied[0]["path"]), (1, &Value::from(place)));
    assert_clean(&world);

    // It is there now, and what is there is never replaced by something that was to be made.
    let again = world.run(arguments);
    assert_eq!(again.code, Some(2), "{}", again.errors());
    assert!(again.errors().contains("[E_FILE_EXISTS]"), "{}", again.errors());
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// What a script that means no good is after, and whether it got it.
struct Bait {
    world: World,
    services: TcpListener,
}

impl Bait {
    fn lay() -> Self {
        let world = world_with_example("nosy");
        world.write("home/.ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
        world.write("home/.netrc", "machine a login b password c\n");
        world.write("project/a.txt", "one\ntwo\n");
        let services = TcpListener::bind("127.0.0.1:0").unwrap();
        services.set_nonblocking(true).unwrap();
        Self { world, services }
    }

    fn port(&self) -> String {
        self.services.local_addr().unwrap().port().to_string()
    }

    /// Whether anybody called.
    fn was_called(&self) -> bool {
        match self.services.accept() {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        }
    }

    fn is_touched(&self) -> bool {
        let skill = self.world.read("skills/nosy/SKILL.md");
        skill != std::fs::read(super::example("nosy").join("SKILL.md")).unwrap()
            || self.world.read("project/a.txt") != b"one\ntwo\n"
    }

    fn late(&self) -> String {
        self.world.text("project/a.txt.late")
    }

    /// Whether a process is there that has the late file's path in its arguments.
    fn lingers(&self) -> bool {
        let late = self.late();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut arguments = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        arguments.any(|bytes| String::from_utf8_lossy(&bytes).contains(&late))
    }
}

#[test]
fn nosy_gets_nowhere() {
    let bait = Bait::lay();
    let (home, port) = (format!("home={}", bait.world.text("home")), format!("port={}", bait.port()));
    let arguments =
        ["run", "skills/nosy", "pry", "--param", &home, "--param", &port, "--param", "file=project/a.txt"];
    let (_, answer) = yes(&bait.world, arguments);
    let expected = "2 lines\nkept out: files of the home folders\nkept out: the file that it may only read\n\
         kept out: its own skill\nkept out: this machine's services\nkept out: the internet by address\n\
         kept out: the internet by name\nleft a process behind, or so it thinks\n";
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), expected), "{}", answer.errors());
    assert!(!bait.lingers(), "something of it is left");
    assert!(!bait.was_called() && !bait.is_touched());
    assert_eq!(receipt(&bait.world)["closing"]["processes_left"], "proven_gone");
    assert_clean(&bait.world);
    assert!(!Path::new(&bait.late()).exists());
}

// The positive control: without the sandbox the same script gets all of it.
#[test]
fn nosy_gets_in_without_the_sandbox() {
    let bait = Bait::lay();
    let output = Command::new("/usr/bin/python3")
        .arg(bait.world.path("skills/nosy/scripts/pry.py"))
        .args(["--home", &bait.world.text("home"), "--port", &bait.port(), &bait.world.text("project/a.txt")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for what in [
        "files of the home folders",
        "the file that it may only read",
        "its own skill",
        "this machine's services",
    ] {
        assert!(text.contains(&format!("GOT IN: {what}\n")), "{text}");
    }
    assert!(bait.was_called() && bait.is_touched());
    // It is there until it has written its file, whichever is seen first.
    let patience = Instant::now() + Duration::from_secs(30);
    while !bait.lingers() && !Path::new(&bait.late()).exists() {
        assert!(Instant::now() < patience, "no process was left");
        std::thread::yield_now();
    }
    while !Path::new(&bait.late()).exists() {
        assert!(Instant::now() < patience, "no late file");
        std::thread::sleep(Duration::from_millis(10));
    }
}
