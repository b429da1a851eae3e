//! What a folder on disk claims, looked at without running anything.

use std::fs;

use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::limits::{BUNDLE_FILE_BYTES_MAX, MANIFEST_BYTES_MAX};
use fumehood_core::{Code, Severity};
use fumehood_store::{BytesOf, DiskFolder, Folder as _};
use fumehood_testkit::{Opens, Scratch};

fn manifest(files: &[&str]) -> String {
    let files: Vec<_> = files.iter().map(|file| format!("{file:?}")).collect();
    format!(
        r#"{{"schemaVersion":1,"entrypoint":"run.mjs","files":[{}],
            "inputSchema":{{"type":"object","properties":{{}},"additionalProperties":false}},
            "outputSchema":{{"type":"string"}}}}"#,
        files.join(",")
    )
}

/// A skill with an accepted `execution.json`, two listed files and a canary that would leave a trace if it ran.
fn sample() -> Scratch {
    let scratch = Scratch::new();
    scratch.skill("skill");
    let trace = scratch.at("trace");
    scratch.file("skill/run.mjs", format!("require('fs').writeFileSync('{}', '')", trace.display()));
    scratch.file("skill/lib/data.json", "{}");
    scratch.file("skill/run.sh", format!("#!/bin/sh\ntouch {}\n", trace.display()));
    scratch.mode("skill/run.sh", 0o755);
    scratch.file("skill/execution.json", manifest(&["run.mjs", "lib/data.json"]));
    scratch
}

fn look(scratch: &Scratch) -> Inspection {
    let folder = DiskFolder::open(&scratch.at("skill")).unwrap();
    inspect(folder.skill_md().reading(folder.directory_name()), folder.facts(), &BytesOf(&folder))
}

/// The state of `execution.json` and the errors; the skill stays loadable in all of this (CHK-075).
fn judged(scratch: &Scratch) -> (&'static str, Vec<(Code, String)>) {
    let inspection = look(scratch);
    assert!(inspection.is_loadable());
    let errors = inspection.diagnostics.iter().filter(|finding| finding.severity() == Severity::Error);
    let errors = errors.map(|finding| (finding.code, finding.path.clone().unwrap_or_default())).collect();
    (inspection.execution.as_str(), errors)
}

fn refused(expected: &[(Code, &str)]) -> (&'static str, Vec<(Code, String)>) {
    ("refused", expected.iter().map(|(code, path)| (*code, (*path).to_owned())).collect())
}

fn swap(scratch: &Scratch, file: &str, make: impl FnOnce()) {
    fs::remove_file(scratch.at(file)).unwrap();
    make();
}

const ABOUT: (Code, &str) = (Code::ExecutionManifest, "execution.json");

// CHK-052, CHK-076, CHK-085: looking runs nothing and writes nothing.
#[test]
fn inspecting_is_inert() {
    let scratch = sample();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(scratch.at("skill")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    assert_eq!(judged(&scratch), ("accepted", vec![]));
    assert_eq!(names(), before);
    assert!(!scratch.at("trace").exists());
}

// CHK-053: a manifest beside the skill, or below it, is nobody's.
#[test]
fn a_neighbours_manifest_is_not_picked_up() {
    let scratch = sample();
    fs::rename(scratch.at("skill/execution.json"), scratch.at("execution.json")).unwrap();
    fs::copy(scratch.at("execution.json"), scratch.at("skill/lib/execution.json")).unwrap();
    scratch.skill("neighbour");
    fs::copy(scratch.at("execution.json"), scratch.at("neighbour/execution.json")).unwrap();
    let opens = Opens::of(&scratch.at("execution.json"));
    assert_eq!(judged(&scratch), ("absent", vec![]));
    assert_eq!(opens.count(), 0);
    fs::rename(scratch.at("execution.json"), scratch.at("skill/execution.json")).unwrap();
    assert_eq!(judged(&scratch), ("accepted", vec![]));
}

// CHK-071, CHK-147: a manifest that lists some files takes the others from nobody: the captured skill has every file where it was,
// byte for byte, and the revision stands for all of them.
#[test]
fn what_the_manifest_does_not_list_is_kept() {
    let scratch = sample();
    let others =
        [("references/a.md", "# A\r\n"), ("assets/logo.bin", "\0\u{1}"), ("scripts/deep/er/x.py", "")];
    for (path, text) in others {
        scratch.file(format!("skill/{path}"), text);
    }
    let capture = || DiskFolder::open(&scratch.at("skill")).unwrap().capture().unwrap();
    let snapshot = capture();
    assert_eq!(judged(&scratch), ("accepted", vec![]));
    let listed = look(&scratch).execution.accepted().unwrap().files().len();
    let paths: Vec<_> = snapshot.files().map(|(path, _)| path.as_str().to_owned()).collect();
    assert_eq!((listed, paths.len()), (2, 8), "{paths:?}");
    for (path, file) in snapshot.files() {
        assert_eq!(file.bytes(), fs::read(scratch.at(format!("skill/{path}"))).unwrap(), "{path}");
    }
    for (path, _) in others {
        let before = fs::read(scratch.at(format!("skill/{path}"))).unwrap();
        scratch.file(format!("skill/{path}"), "other");
        assert_ne!(capture().revision(), snapshot.revision(), "{path}");
        scratch.file(format!("skill/{path}"), before);
    }
    assert_eq!(capture().revision(), snapshot.revision());
}

// CHK-090: the manifest itself must be a plain file.
#[test]
fn a_manifest_of_another_kind_is_refused() {
    let file = "skill/execution.json";
    let scratch = sample();
    fs::copy(scratch.at(file), scratch.at("skill/real.json")).unwrap();
    swap(&scratch, file, || _ = scratch.link(file, "real.json"));
    assert_eq!(judged(&scratch), refused(&[(Code::LinkRefused, "execution.json")]));
    fs::rename(scratch.at("skill/real.json"), scratch.at("real.json")).unwrap();
    swap(&scratch, file, || _ = scratch.link(file, "../real.json"));
    let opens = Opens::of(&scratch.at("real.json"));
    assert_eq!(judged(&scratch), refused(&[(Code::LinkEscapes, "execution.json")]));
    assert_eq!(opens.count(), 0);
    swap(&scratch, file, || _ = scratch.fifo(file));
    let opens = Opens::of(&scratch.at(file));
    assert_eq!(judged(&scratch), refused(&[(Code::SpecialFile, "execution.json")]));
    assert_eq!(opens.count(), 0);
    swap(&scratch, file, || fs::rename(scratch.at("real.json"), scratch.at(file)).unwrap());
    assert_eq!(judged(&scratch), ("accepted", vec![]));
}

// CHK-055, CHK-103
#[test]
fn a_manifest_has_64_kib_at_most() {
    let scratch = sample();
    let text = manifest(&["run.mjs"]);
    let padded = |size: usize| text.clone() + &" ".repeat(size - text.len());
    scratch.file("skill/execution.json", padded(MANIFEST_BYTES_MAX));
    assert_eq!(judged(&scratch), ("accepted", vec![]));
    scratch.file("skill/execution.json", padded(MANIFEST_BYTES_MAX + 1));
    assert_eq!(judged(&scratch), refused(&[ABOUT]));
    scratch.sparse("skill/execution.json", 1 << 40);
    assert_eq!(judged(&scratch), refused(&[ABOUT]));
}

// CHK-090, CHK-130: a declared file must be one, and not by way of a link.
#[test]
fn declared_files_are_plain_files() {
    let scratch = sample();
    let data = "skill/lib/data.json";
    let declared = "lib/data.json";
    scratch.file("skill/other.json", "{}");
    swap(&scratch, data, || _ = scratch.link(data, "../other.json"));
    assert_eq!(judged(&scratch), refused(&[(Code::LinkRefused, declared), ABOUT]));
    swap(&scratch, data, || _ = scratch.link(data, "/etc/passwd"));
    assert_eq!(
        judged(&scratch),
        refused(&[(Code::LinkEscapes, declared), (Code::DeclaredFile, declared), ABOUT])
    );
    swap(&scratch, data, || _ = scratch.fifo(data));
    assert_eq!(
        judged(&scratch),
        refused(&[(Code::SpecialFile, declared), (Code::DeclaredFile, declared), ABOUT])
    );
    swap(&scratch, data, || {});
    assert_eq!(judged(&scratch), refused(&[(Code::DeclaredFile, declared), ABOUT]));
    scratch.folder(data);
    assert_eq!(judged(&scratch), refused(&[(Code::DeclaredFile, declared), ABOUT]));
    // A folder on the way that is a link makes every file below it one.
    fs::remove_dir_all(scratch.at("skill/lib")).unwrap();
    scratch.file("skill/real/data.json", "{}");
    scratch.link("skill/lib", "real");
    assert_eq!(judged(&scratch), refused(&[(Code::LinkRefused, declared), ABOUT]));
    fs::remove_file(scratch.at("skill/lib")).unwrap();
    scratch.file(data, "{}");
    assert_eq!(judged(&scratch), ("accepted", vec![]));
}

#[test]
fn the_entry_point_is_a_plain_file() {
    let scratch = sample();
    scratch.file("skill/real.mjs", "");
    swap(&scratch, "skill/run.mjs", || _ = scratch.link("skill/run.mjs", "real.mjs"));
    assert_eq!(judged(&scratch), refused(&[(Code::LinkRefused, "run.mjs"), ABOUT]));
}

#[test]
fn a_declared_script_is_a_plain_file() {
    let scratch = Scratch::new();
    scratch.skill("skill");
    scratch.file("skill/real.py", "");
    scratch.file(
        "skill/fumehood.json",
        r#"{"schemaVersion":1,"scripts":[{"name":"go","path":"go.py","description":"d","interpreter":"python3"}]}"#,
    );
    scratch.link("skill/go.py", "real.py");
    let linked = look(&scratch);
    assert_eq!(linked.fumehood.as_str(), "refused", "{:?}", linked.diagnostics);
    assert!(linked.diagnostics.iter().any(|finding| finding.code == Code::LinkRefused));
    assert!(linked.is_loadable());
    swap(&scratch, "skill/go.py", || _ = scratch.file("skill/go.py", ""));
    let plain = look(&scratch);
    assert_eq!(plain.fumehood.as_str(), "accepted", "{:?}", plain.diagnostics);
}

// CHK-057, CHK-103: sizes come from the disk, and are not believed to be read.
#[test]
fn declared_files_have_1_mib_at_most() {
    let scratch = sample();
    scratch.sparse("skill/lib/data.json", BUNDLE_FILE_BYTES_MAX);
    assert_eq!(judged(&scratch), ("accepted", vec![]));
    scratch.sparse("skill/lib/data.json", BUNDLE_FILE_BYTES_MAX + 1);
    assert_eq!(judged(&scratch), refused(&[(Code::DeclaredFile, "lib/data.json"), ABOUT]));
}
