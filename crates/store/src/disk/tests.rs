use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use fumehood_core::inspect::NoRevision;
use fumehood_core::limits::SKILL_FILES_MAX;
use fumehood_core::{Coded as _, Revision, Sha256};
use fumehood_testkit::{Opens, Scratch, skill_md, without_privilege};

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// A skill of three files, one of them in a folder.
fn sample() -> (Scratch, DiskFolder) {
    let scratch = Scratch::new();
    scratch.skill("sample");
    scratch.file("sample/a.txt", "aaaa");
    scratch.file("sample/sub/b.txt", "bbbb");
    let folder = DiskFolder::open(&scratch.at("sample")).unwrap();
    (scratch, folder)
}

/// Captures, and changes the folder at one step.
fn changed_at(step: Step, change: impl Fn(&Scratch)) -> Result<Snapshot, CaptureError> {
    let (scratch, folder) = sample();
    folder.capture_in_steps(&mut |did| {
        if did == step {
            change(&scratch);
        }
    })
}

fn code(folder: &DiskFolder, file: &str) -> Option<Code> {
    folder.read(&path(file), 0, 9).err().map(|error| error.code)
}

// CHK-130, CHK-147
fn size(folder: &DiskFolder, file: &str) -> Result<u64, FileError> {
    folder.hold(&path(file)).map(|held| held.size())
}

#[test]
fn a_snapshot_holds_every_byte_and_the_revision() {
    let (_scratch, folder) = sample();
    let snapshot = folder.capture().unwrap();
    let expected = [("SKILL.md", skill_md("sample")), ("a.txt", "aaaa".into()), ("sub/b.txt", "bbbb".into())];
    let held: Vec<_> = snapshot.files().map(|(path, file)| (path.as_str(), file.bytes())).collect();
    assert_eq!(held, expected.each_ref().map(|(path, bytes)| (*path, bytes.as_bytes())));
    let facts =
        expected.iter().map(|(name, bytes)| (path(name), (bytes.len() as u64, Sha256::of(bytes.as_bytes()))));
    assert_eq!(snapshot.revision(), Revision::of(&facts.collect()));
    assert_eq!(snapshot.get(&path("a.txt")).unwrap().sha256(), Sha256::of(b"aaaa"));
}

// The framing of docs/decisions/0001, computed by its Python program for files read from a disk.
#[test]
fn the_revision_is_that_of_the_decision_record() {
    let scratch = Scratch::new();
    scratch.file("skill/SKILL.md", "x");
    scratch.file("skill/scripts/a.py", "");
    let revision = DiskFolder::open(&scratch.at("skill")).unwrap().capture().unwrap().revision();
    assert_eq!(
        revision.to_string(),
        "sha256:7d338cd1aad7743422923d7ed4404e299f959a59d6af6f504fa2c1e6cff8fcf2"
    );
}

// CHK-132, CHK-150: every change between two looks is noticed, wherever it falls.
#[test]
fn changes_while_capturing_are_refused() {
    type Change = (&'static str, fn(&Scratch));
    let changes: [Change; 12] = [
        ("written in place", |s| _ = s.file("sample/a.txt", "AAAA")),
        ("grown", |s| _ = s.file("sample/a.txt", "aaaaa")),
        ("truncated", |s| _ = s.file("sample/a.txt", "aaa")),
        ("removed", |s| fs::remove_file(s.at("sample/a.txt")).unwrap()),
        ("added", |s| _ = s.file("sample/new.txt", "")),
        ("a FIFO added", |s| _ = s.fifo("sample/pipe")),
        ("an escaping link added", |s| _ = s.link("sample/out", "/etc/passwd")),
        ("swapped for a link to equal bytes", |s| {
            s.file("sample/sub/twin", "aaaa");
            fs::remove_file(s.at("sample/a.txt")).unwrap();
            s.link("sample/a.txt", "sub/twin");
        }),
        ("swapped for a FIFO", |s| {
            fs::remove_file(s.at("sample/a.txt")).unwrap();
            s.fifo("sample/a.txt");
        }),
        ("swapped for a folder", |s| {
            fs::remove_file(s.at("sample/a.txt")).unwrap();
            s.folder("sample/a.txt");
        }),
        ("a folder swapped for a link out", |s| {
            fs::rename(s.at("sample/sub"), s.at("outside")).unwrap();
            s.link("sample/sub", "../outside");
        }),
        ("the whole folder replaced by an equal one", |s| {
            fs::rename(s.at("sample"), s.at("old")).unwrap();
            s.skill("sample");
            s.file("sample/a.txt", "aaaa");
            s.file("sample/sub/b.txt", "bbbb");
        }),
    ];
    for (name, change) in changes {
        for step in [Step::Listed, Step::Read] {
            // A file written before it is first read, and of the size that was listed, is simply read as it is now.
            let unseen = name == "written in place" && step == Step::Listed;
            let result = changed_at(step, change);
            if unseen {
                let snapshot = result.unwrap();
                assert_eq!(snapshot.get(&path("a.txt")).unwrap().bytes(), b"AAAA");
            } else {
                assert_eq!(result.unwrap_err(), CaptureError::Changed, "{name} {step:?}");
            }
        }
    }
    for step in [Step::Listed, Step::Read, Step::Compared] {
        assert!(changed_at(step, |_| {}).is_ok());
    }
}

// After the second reading only the list and the folder itself are looked at again; the bytes are those of before.
#[test]
fn changes_after_comparing_keep_the_bytes_or_refuse() {
    let snapshot = changed_at(Step::Compared, |s| _ = s.file("sample/a.txt", "AAAA")).unwrap();
    assert_eq!(snapshot.get(&path("a.txt")).unwrap().bytes(), b"aaaa");
    let added = changed_at(Step::Compared, |s| _ = s.file("sample/new", ""));
    assert_eq!(added.unwrap_err(), CaptureError::Changed);
    let pipe = changed_at(Step::Compared, |s| _ = s.fifo("sample/pipe"));
    assert_eq!(pipe.unwrap_err(), CaptureError::Changed);
    let moved = changed_at(Step::Compared, |s| fs::rename(s.at("sample"), s.at("old")).unwrap());
    assert_eq!(moved.unwrap_err(), CaptureError::Changed);
}

// CHK-132: bytes that went away and came back, with the old times, were still somebody writing.
#[test]
fn a_restored_file_is_noticed_by_its_change_time() {
    let result = changed_at(Step::Read, |s| {
        let file = s.at("sample/a.txt");
        let before = fs::metadata(&file).unwrap();
        // The clock of file times ticks every few milliseconds.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(&file, "AAAA").unwrap();
        fs::write(&file, "aaaa").unwrap();
        let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_times(times).unwrap();
        let after = fs::metadata(&file).unwrap();
        assert_eq!((before.mtime_nsec(), before.ino()), (after.mtime_nsec(), after.ino()));
    });
    assert_eq!(result.unwrap_err(), CaptureError::Changed);
}

// CHK-130: whoever swaps a FIFO in is refused without being opened, where the kind can be known first.
#[test]
fn a_fifo_swapped_in_is_not_opened() {
    let (scratch, folder) = sample();
    scratch.fifo("spare");
    let opens = Opens::of(&scratch.at("spare"));
    let result = folder.capture_in_steps(&mut |did| {
        if did == Step::Listed {
            fs::rename(scratch.at("spare"), scratch.at("sample/a.txt")).unwrap();
        }
    });
    assert_eq!((result.unwrap_err(), opens.count()), (CaptureError::Changed, 0));
}

#[test]
fn an_unreadable_file_is_no_change() {
    let (scratch, folder) = sample();
    scratch.mode("sample/a.txt", 0o000);
    let (captured, read) = without_privilege(|| (folder.capture(), code(&folder, "a.txt")));
    assert_eq!(captured.unwrap_err(), CaptureError::Unreadable);
    assert_eq!(read, Some(Code::FileUnreadable));
    scratch.mode("sample/a.txt", 0o600);
    assert!(without_privilege(|| folder.capture()).is_ok());
}

#[test]
fn a_folder_without_a_revision_is_not_captured() {
    let (scratch, folder) = sample();
    scratch.fifo("sample/pipe");
    let refused = folder.capture().unwrap_err();
    assert_eq!(refused, CaptureError::NoRevision(NoRevision::Refused));
    fs::remove_file(scratch.at("sample/pipe")).unwrap();
    for number in 3..=SKILL_FILES_MAX {
        scratch.file(format!("sample/{number}"), "");
    }
    let too_large = folder.capture().unwrap_err();
    assert_eq!(too_large, CaptureError::NoRevision(NoRevision::TooLarge));
    assert_eq!(too_large.code(), Code::NoRevision);
    fs::remove_file(scratch.at("sample/3")).unwrap();
    assert_eq!(folder.capture().unwrap().files().len(), SKILL_FILES_MAX);
}

// A check need not list again what the search has just listed; everything that decides about bytes does.
#[test]
fn only_a_check_goes_by_the_names_a_folder_was_found_by() {
    let (scratch, folder) = sample();
    assert_eq!(folder.facts_when_found().files, folder.facts().files);
    scratch.file("sample/later", "");
    let names = |facts: FolderFacts| facts.files.iter().any(|file| file.path.as_str() == "later");
    assert_eq!((names(folder.facts_when_found()), names(folder.facts())), (false, true));
    assert!(folder.capture().unwrap().get(&path("later")).is_some());
    fs::remove_file(scratch.at("sample/a.txt")).unwrap();
    assert_eq!(folder.facts_when_found().refused, 1);
}

#[test]
fn sixteen_mib_are_captured_and_not_a_byte_more() {
    let (scratch, folder) = sample();
    let others = folder.facts().bytes();
    scratch.sparse("sample/big", SKILL_BYTES_MAX - others);
    assert_eq!(folder.capture().unwrap().get(&path("big")).unwrap().size(), SKILL_BYTES_MAX - others);
    scratch.sparse("sample/big", SKILL_BYTES_MAX - others + 1);
    assert_eq!(folder.capture().unwrap_err(), CaptureError::NoRevision(NoRevision::TooLarge));
}

// CHK-069, CHK-072: the same answers for one file as for all of them.
#[test]
fn reading_a_file_follows_the_same_rules() {
    let (scratch, folder) = sample();
    scratch.link("sample/link", "sub/b.txt");
    scratch.link("sample/linked", "sub");
    scratch.link("sample/out", "/etc/passwd");
    scratch.link("sample/gone", "nothing");
    scratch.fifo("sample/pipe");
    scratch.link("sample/to-pipe", "pipe");
    scratch.file("sample/.git/config", "token");
    let read = |file: &str| folder.read(&path(file), 0, 99).unwrap();
    for good in ["sub/b.txt", "link", "linked/b.txt"] {
        assert_eq!(read(good), b"bbbb", "{good}");
    }
    let opens = Opens::of(&scratch.at("sample/pipe"));
    let refused = [
        ("missing", Code::FileNotFound),
        ("sub/missing", Code::FileNotFound),
        ("linked/missing", Code::FileNotFound),
        ("a.txt/x", Code::FileNotFound),
        ("sub", Code::FileNotFound),
        ("linked", Code::FileNotFound),
        (".git/config", Code::FileNotFound),
        ("out", Code::LinkEscapes),
        ("gone", Code::LinkEscapes),
        ("pipe", Code::SpecialFile),
        ("to-pipe", Code::SpecialFile),
    ];
    for (file, expected) in refused {
        assert_eq!(code(&folder, file), Some(expected), "{file}");
        assert_eq!(size(&folder, file).unwrap_err().code, expected, "{file}");
    }
    assert_eq!(opens.count(), 0);
    assert_eq!(size(&folder, "link"), Ok(4));
    assert_eq!(folder.read(&path("a.txt"), 1, 2).unwrap(), b"aa");
    assert_eq!(folder.read(&path("a.txt"), u64::MAX, 2).unwrap(), b"");
}

fn md_of(scratch: &Scratch) -> SkillMd {
    DiskFolder::open(&scratch.at("skill")).unwrap().skill_md()
}

fn md_codes(scratch: &Scratch) -> Vec<Code> {
    md_of(scratch).reading("skill").diagnostics.iter().map(|finding| finding.code).collect()
}

#[test]
fn skill_md_is_a_plain_file_or_a_link_inside() {
    let scratch = Scratch::new();
    scratch.file("skill/real.md", skill_md("skill"));
    scratch.link("skill/SKILL.md", "real.md");
    assert_eq!(md_codes(&scratch), []);

    let replace = |make: &dyn Fn()| {
        fs::remove_file(scratch.at("skill/SKILL.md")).unwrap();
        make();
    };
    let cases: [(&dyn Fn(), Code); 5] = [
        (&|| _ = scratch.link("skill/SKILL.md", "/etc/passwd"), Code::LinkEscapes),
        (&|| _ = scratch.link("skill/SKILL.md", "gone"), Code::LinkEscapes),
        (&|| _ = scratch.link("skill/SKILL.md", "SKILL.md"), Code::LinkEscapes),
        (&|| _ = scratch.link("skill/SKILL.md", "/dev/zero"), Code::LinkEscapes),
        (&|| _ = scratch.fifo("skill/SKILL.md"), Code::SpecialFile),
    ];
    for (make, expected) in cases {
        replace(make);
        assert_eq!(md_codes(&scratch), [expected]);
        assert!(md_of(&scratch).bytes.is_none());
    }
}

#[test]
fn skill_md_has_1_mib_at_most() {
    let scratch = Scratch::new();
    let mut text = skill_md("skill");
    text.push_str(&" ".repeat(SKILL_MD_BYTES_MAX - text.len()));
    scratch.file("skill/SKILL.md", &text);
    assert_eq!(md_codes(&scratch), []);
    text.push(' ');
    scratch.file("skill/SKILL.md", &text);
    assert_eq!(md_codes(&scratch), [Code::SkillMdTooLarge]);
    assert!(md_of(&scratch).bytes.is_none());
}

#[test]
fn two_spellings_are_ambiguous_and_one_is_named() {
    let scratch = Scratch::new();
    scratch.file("skill/Skill.md", skill_md("skill"));
    assert_eq!(md_codes(&scratch), [Code::SkillMdName]);
    scratch.file("skill/SKILL.md", skill_md("skill"));
    assert_eq!(md_codes(&scratch), [Code::SkillMdAmbiguous]);
}

fn open_code(path: &Path) -> Option<Code> {
    DiskFolder::open(path).err().map(|error| error.code)
}

#[test]
fn a_skill_is_opened_by_folder_or_file() {
    let scratch = Scratch::new();
    scratch.skill("good");
    scratch.link("link", "good");
    scratch.folder("empty");
    scratch.file("folder-md/SKILL.md/file", "");
    scratch.file("file", "");
    scratch.fifo("fifo/SKILL.md");
    for (typed, found) in [("good", "good"), ("good/SKILL.md", "good"), ("link", "good"), ("fifo", "fifo")] {
        let folder = DiskFolder::open(&scratch.at(typed)).unwrap();
        assert_eq!(folder.path(), scratch.at(found));
        assert_eq!(folder.directory_name(), found);
    }
    assert_eq!(open_code(&scratch.at("empty")), Some(Code::SkillMdMissing));
    assert_eq!(open_code(&scratch.at("folder-md")), Some(Code::SkillMdMissing));
    assert_eq!(open_code(&scratch.at("missing")), Some(Code::SkillNotFound));
    assert_eq!(open_code(&scratch.at("file")), Some(Code::SkillNotFound));
    scratch.skill("closed/inner");
    scratch.mode("closed", 0o000);
    let closed = without_privilege(|| open_code(&scratch.at("closed")));
    let below = without_privilege(|| open_code(&scratch.at("closed/inner")));
    scratch.mode("closed", 0o700);
    assert_eq!((closed, below), (Some(Code::SourceUnreadable), Some(Code::SourceUnreadable)));
}
