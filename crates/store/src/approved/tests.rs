use std::os::unix::fs::PermissionsExt as _;

use fumehood_core::RelPath;
use fumehood_testkit::Scratch;

use super::*;

fn home_of(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn snapshot(files: &[(&str, &[u8])]) -> Snapshot {
    let file = |(path, bytes): &(&str, &[u8])| (RelPath::parse(path).unwrap(), bytes.to_vec());
    Snapshot::of(files.iter().map(file).collect())
}

fn name(text: &str) -> SkillName {
    SkillName::parse(text).unwrap()
}

fn keep(text: &ApprovedText, skill: &str, files: &[(&str, &[u8])]) {
    text.keep("team", &name(skill), &snapshot(files)).unwrap();
}

fn read(text: &ApprovedText, bytes: &[u8]) -> Option<String> {
    text.read(&Sha256::of(bytes).to_string())
}

fn names(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.at("state/approved")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

// CHK-021: what is kept is text that comes back by its digest; all else is left out.
#[test]
fn text_comes_back_and_nothing_else_is_kept() {
    let scratch = Scratch::new();
    let text = ApprovedText::of(&home_of(&scratch));
    assert_eq!(read(&text, b"a\n"), None);
    let large = vec![b'x'; ApprovedText::FILE_BYTES_MAX];
    let larger = [&large[..], b"x"].concat();
    let (nul, latin): (&[u8], &[u8]) = (b"a\0b", b"\xff");
    keep(
        &text,
        "a",
        &[("SKILL.md", b"a\n"), ("b", b"a\n"), ("c", nul), ("d", latin), ("e", &large), ("f", &larger)],
    );
    assert_eq!(read(&text, b"a\n").as_deref(), Some("a\n"));
    assert_eq!(read(&text, &large).map(|text| text.len()), Some(ApprovedText::FILE_BYTES_MAX));
    for left_out in [nul, latin, &larger, b"other"] {
        assert_eq!(read(&text, left_out), None);
    }
    // One list, the lock, and equal files once.
    assert_eq!(names(&scratch).len(), 4);
    let mode = |path: &str| std::fs::metadata(scratch.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("state/approved"), 0o700);
    for name in names(&scratch) {
        assert_eq!(mode(&format!("state/approved/{name}")), 0o600, "{name}");
    }
    for odd in ["", "..", "../trust.sqlite", "lock", &"A".repeat(64)] {
        assert_eq!(text.read(odd), None, "{odd}");
    }
}

#[test]
fn a_revision_takes_the_place_of_the_one_before() {
    let scratch = Scratch::new();
    let text = ApprovedText::of(&home_of(&scratch));
    keep(&text, "a", &[("SKILL.md", b"one"), ("same", b"same")]);
    keep(&text, "b", &[("SKILL.md", b"other")]);
    keep(&text, "a", &[("SKILL.md", b"two"), ("same", b"same")]);
    assert_eq!(read(&text, b"one"), None);
    for bytes in ["two", "same", "other"] {
        assert_eq!(read(&text, bytes.as_bytes()).as_deref(), Some(bytes));
    }
}

// What is not what its digest says is no text, whatever made it so, and the next time it is put right.
#[test]
fn what_was_half_written_is_not_believed_and_is_swept() {
    let scratch = Scratch::new();
    let text = ApprovedText::of(&home_of(&scratch));
    keep(&text, "a", &[("SKILL.md", b"whole")]);
    let blob = format!("state/approved/{}", Sha256::of(b"whole"));
    for damage in [&b"who"[..], b"WHOLE", b""] {
        std::fs::write(scratch.at(&blob), damage).unwrap();
        assert_eq!(read(&text, b"whole"), None);
    }
    scratch.file(format!("{blob}.new"), "who");
    scratch.file(format!("state/approved/{}", Sha256::of(b"nobody's")), "nobody's");
    scratch.file(format!("state/approved/{}.list", Sha256::of(b"x")), "fumehood approved 2\n");
    keep(&text, "a", &[("SKILL.md", b"whole"), ("b", b"more")]);
    assert_eq!(read(&text, b"whole").as_deref(), Some("whole"));
    assert_eq!(names(&scratch).len(), 4, "{:?}", names(&scratch));
    // A link to somebody else's file is none of ours.
    std::fs::remove_file(scratch.at(&blob)).unwrap();
    scratch.file("elsewhere", "whole");
    scratch.link(&blob, scratch.at("elsewhere"));
    assert_eq!(read(&text, b"whole"), None);
}

// Each limit, and what is just within it.
#[test]
fn the_oldest_go_first_when_the_room_is_full() {
    let scratch = Scratch::new();
    // Three blocks.
    let text = ApprovedText { home: home_of(&scratch), bytes_max: 3 * BLOCK_BYTES };
    keep(&text, "a", &[("SKILL.md", b"a")]);
    keep(&text, "b", &[("SKILL.md", b"b")]);
    keep(&text, "c", &[("SKILL.md", b"c")]);
    assert!(["a", "b", "c"].iter().all(|one| read(&text, one.as_bytes()).is_some()));
    keep(&text, "d", &[("SKILL.md", b"d")]);
    let there = |names: [&str; 4]| names.map(|one| read(&text, one.as_bytes()).is_some());
    assert_eq!(there(["a", "b", "c", "d"]), [false, true, true, true]);
    // Approved again, it is the newest; what two skills have in common takes room once.
    keep(&text, "b", &[("SKILL.md", b"b"), ("d", b"d")]);
    assert_eq!(there(["a", "b", "c", "d"]), [false, true, true, true]);
    // One that alone is too large keeps what fits.
    keep(&text, "e", &[("1", b"1"), ("2", &[b'2'; 9000]), ("3", b"3"), ("4", b"4"), ("5", b"5")]);
    assert_eq!(there(["1", "3", "4", "5"]), [true, true, true, false]);
    assert_eq!(there(["a", "b", "c", "d"]), [false; 4]);
}

#[test]
fn a_state_folder_of_others_keeps_nothing() {
    let scratch = Scratch::new();
    scratch.folder("state");
    scratch.mode("state", 0o777);
    let text = ApprovedText::of(&home_of(&scratch));
    let error = text.keep("team", &name("a"), &snapshot(&[("SKILL.md", b"a")])).unwrap_err();
    assert_eq!(error.code(), Code::HomeRefused);
    scratch.mode("state", 0o700);
    keep(&text, "a", &[("SKILL.md", b"a")]);
    assert_eq!(read(&text, b"a").as_deref(), Some("a"));
}
