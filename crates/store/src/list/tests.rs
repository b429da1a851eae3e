use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use fumehood_core::inspect::NoRevision;
use fumehood_core::limits::SKILL_FILES_MAX;
use fumehood_testkit::{Opens, Scratch, without_privilege};

use super::*;

fn facts(scratch: &Scratch) -> FolderFacts {
    list(&Dir::open(scratch.path()).unwrap())
}

fn paths(facts: &FolderFacts) -> Vec<&str> {
    facts.files.iter().map(|file| file.path.as_str()).collect()
}

/// Codes and paths of the findings, in a fixed order.
fn findings(facts: &FolderFacts) -> Vec<(Code, &str)> {
    let mut found: Vec<_> =
        facts.diagnostics.iter().map(|f| (f.code, f.path.as_deref().unwrap_or_default())).collect();
    found.sort_unstable();
    found
}

// CHK-072, CHK-090: each refused name is reported, counted, and its neighbour listed.
#[test]
fn unportable_names_are_refused_one_by_one() {
    let names: [&[u8]; 10] = [
        b"colon:name",
        b"back\\slash",
        b"NUL",
        b"aux.txt",
        b"dot.",
        b"space ",
        b"~home",
        b"new\nline",
        b"not-\xff-text",
        b"que?",
    ];
    for name in names {
        let scratch = Scratch::new();
        scratch.file("good", "");
        scratch.file(OsStr::from_bytes(name), "");
        let facts = facts(&scratch);
        let shown = String::from_utf8_lossy(name);
        assert_eq!(paths(&facts), ["good"], "{shown}");
        assert_eq!(findings(&facts), [(Code::PathRejected, &*shown)]);
        assert_eq!(facts.no_revision(), Some(NoRevision::Refused), "{shown}");
    }
    let scratch = Scratch::new();
    scratch.file("inner/a:b/file", "");
    scratch.file("inner/good", "");
    let facts = facts(&scratch);
    assert_eq!(paths(&facts), ["inner/good"]);
    assert_eq!(findings(&facts), [(Code::PathRejected, "inner/a:b")]);
}

// CHK-090
#[test]
fn names_that_are_one_on_some_systems_are_refused() {
    let cases = [
        ("README.md", "readme.md"),
        ("caf\u{e9}.md", "cafe\u{301}.md"),
        ("Dir/file", "dir/file"),
        ("Dir/file", "dir"),
    ];
    for (one, other) in cases {
        let scratch = Scratch::new();
        scratch.file(one, "");
        scratch.file(other, "");
        let facts = facts(&scratch);
        assert_eq!(facts.files.len(), 2, "{one} {other}");
        assert_eq!(facts.refused, 1, "{one} {other}");
        assert_eq!(facts.diagnostics[0].code, Code::PathCollision);
        assert_eq!(facts.no_revision(), Some(NoRevision::Refused));
    }
    let scratch = Scratch::new();
    scratch.file("Dir/one", "");
    scratch.file("dir/other", "");
    assert_eq!(facts(&scratch).no_revision(), None);
}

// CHK-072: a link inside counts as its target's bytes, under its own path.
#[test]
fn links_inside_are_followed_and_noted() {
    let scratch = Scratch::new();
    scratch.file("data/one.txt", "one");
    scratch.link("file", "data/one.txt");
    scratch.link("chain", "file");
    scratch.link("folder", "data");
    scratch.link("data/up", "../more");
    scratch.file("more/two.txt", "second");
    let facts = facts(&scratch);
    let listed: Vec<_> = facts.files.iter().map(|file| (file.path.as_str(), file.size, file.link)).collect();
    assert_eq!(
        listed,
        [
            ("chain", 3, true),
            ("data/one.txt", 3, false),
            ("data/up/two.txt", 6, true),
            ("file", 3, true),
            ("folder/one.txt", 3, true),
            ("folder/up/two.txt", 6, true),
            ("more/two.txt", 6, false),
        ]
    );
    let followed = ["chain", "data/up", "file", "folder", "folder/up"].map(|path| (Code::LinkFollowed, path));
    assert_eq!(findings(&facts), followed);
    assert_eq!(facts.no_revision(), None);
}

// CHK-072, CHK-132, H4: links that leave, turn round or lead to nothing are refused; the good file stays.
#[test]
fn other_links_are_refused() {
    let outside = Scratch::new();
    let secret = outside.file("secret", "secret");
    let cases = [
        ("../secret".to_owned(), Code::LinkEscapes),
        (secret.to_str().unwrap().to_owned(), Code::LinkEscapes),
        ("/etc/passwd".to_owned(), Code::LinkEscapes),
        ("/dev/null".to_owned(), Code::LinkEscapes),
        ("/proc/self/environ".to_owned(), Code::LinkEscapes),
        ("gone".to_owned(), Code::LinkEscapes),
        ("bad".to_owned(), Code::LinkEscapes),
        ("good/x".to_owned(), Code::LinkEscapes),
        ("..".to_owned(), Code::LinkEscapes),
        (".".to_owned(), Code::LinkEscapes),
        ("fifo".to_owned(), Code::SpecialFile),
    ];
    for (target, code) in cases {
        let skill = format!("skill-{}", target.replace('/', "+"));
        outside.file(format!("{skill}/good"), "good");
        outside.link(format!("{skill}/bad"), &target);
        if target == "fifo" {
            outside.fifo(format!("{skill}/fifo"));
        }
        let opens = Opens::of(&secret);
        let facts = list(&Dir::open(&outside.at(&skill)).unwrap());
        assert_eq!(paths(&facts), ["good"], "{target}");
        assert!(findings(&facts).contains(&(code, "bad")), "{target}: {:?}", facts.diagnostics);
        assert_eq!(facts.no_revision(), Some(NoRevision::Refused), "{target}");
        assert_eq!(opens.count(), 0, "{target}");
    }
}

// A link to a folder it lies in would list that folder without end.
#[test]
fn links_to_a_folder_above_are_refused_and_end() {
    let scratch = Scratch::new();
    scratch.file("a/b/file", "");
    scratch.link("a/b/up", "..");
    scratch.link("a/b/top", "../..");
    scratch.link("a/b/here", ".");
    let facts = facts(&scratch);
    assert_eq!(paths(&facts), ["a/b/file"]);
    let refused: Vec<_> =
        findings(&facts).into_iter().filter(|(code, _)| *code == Code::LinkEscapes).collect();
    assert_eq!(refused, ["a/b/here", "a/b/top", "a/b/up"].map(|path| (Code::LinkEscapes, path)));
    assert_eq!(facts.refused, 3);
}

// Twenty levels of two links each stand for a million folders.
#[test]
fn links_that_multiply_are_bounded() {
    let scratch = Scratch::new();
    for level in 0..20 {
        for side in ["l", "r"] {
            scratch.folder(format!("{level}"));
            scratch.link(format!("{level}/{side}"), format!("../{}", level + 1));
        }
    }
    scratch.file("20/file", "");
    let facts = facts(&scratch);
    assert!(!facts.complete);
    assert_eq!(facts.no_revision(), Some(NoRevision::TooLarge));
}

// CHK-090
#[test]
fn special_files_are_refused_unopened() {
    let scratch = Scratch::new();
    scratch.file("file", "");
    scratch.fifo("pipe");
    scratch.socket("socket");
    let opens = Opens::of(&scratch.at("pipe"));
    let facts = facts(&scratch);
    assert_eq!(paths(&facts), ["file"]);
    assert_eq!(findings(&facts), [(Code::SpecialFile, "pipe"), (Code::SpecialFile, "socket")]);
    assert_eq!((facts.refused, opens.count()), (2, 0));
}

#[test]
fn hard_links_are_counted() {
    let scratch = Scratch::new();
    let file = scratch.file("one", "");
    scratch.file("single", "");
    assert_eq!(findings(&facts(&scratch)), []);
    fs::hard_link(file, scratch.at("two")).unwrap();
    let facts = facts(&scratch);
    assert_eq!(findings(&facts), [(Code::HardLinked, "")]);
    assert!(facts.diagnostics[0].message.starts_with("2 of"), "{}", facts.diagnostics[0].message);
    assert_eq!(facts.no_revision(), None);
}

#[test]
fn git_is_skipped_and_said_so() {
    let scratch = Scratch::new();
    scratch.file(".git/config", "token");
    scratch.file(".gitignore", "");
    scratch.file("sub/.git/config", "");
    let facts = facts(&scratch);
    assert_eq!(paths(&facts), [".gitignore", "sub/.git/config"]);
    assert_eq!(findings(&facts), [(Code::GitSkipped, ".git")]);
    assert_eq!(facts.no_revision(), None);
}

#[test]
fn a_skill_md_below_is_a_supporting_file() {
    let scratch = Scratch::new();
    scratch.file("SKILL.md", "");
    scratch.file("sub/SKILL.md", "");
    scratch.file("other/skill.MD", "");
    // A folder of that name is no file of any kind.
    scratch.file("folder/SKILL.md/file", "");
    let facts = facts(&scratch);
    let nested = [(Code::NestedSkill, "other/skill.MD"), (Code::NestedSkill, "sub/SKILL.md")];
    assert_eq!(findings(&facts), nested);
    assert_eq!(facts.files.len(), 4);
}

#[test]
fn a_revision_has_512_files_at_most() {
    let scratch = Scratch::for_many();
    for number in 0..SKILL_FILES_MAX {
        scratch.file(format!("{number}"), "");
    }
    assert_eq!(facts(&scratch).no_revision(), None);
    scratch.file("more", "");
    assert_eq!(facts(&scratch).no_revision(), Some(NoRevision::TooLarge));
    assert_eq!(facts(&scratch).files.len(), SKILL_FILES_MAX + 1);
}

#[test]
fn a_revision_has_16_mib_at_most() {
    let scratch = Scratch::new();
    scratch.sparse("one", 15 << 20);
    scratch.sparse("two", 1 << 20);
    assert_eq!(facts(&scratch).no_revision(), None);
    scratch.file("three", "x");
    assert_eq!(facts(&scratch).no_revision(), Some(NoRevision::TooLarge));
}

#[test]
fn files_are_listed_up_to_8192() {
    let scratch = Scratch::for_many();
    for number in 0..LISTED_FILES_MAX {
        scratch.file(format!("{number:04}"), "");
    }
    let at = facts(&scratch);
    assert_eq!((at.files.len(), at.complete), (LISTED_FILES_MAX, true));
    scratch.file("last", "");
    let over = facts(&scratch);
    assert_eq!((over.files.len(), over.complete), (LISTED_FILES_MAX, false));
    assert_eq!(findings(&over), [(Code::FilesNotListed, "last")]);
    assert_eq!(over.files, at.files);
}

#[test]
fn folders_are_listed_up_to_2000() {
    let scratch = Scratch::for_many();
    // The skill's own folder is one of them.
    for number in 1..LISTED_DIRECTORIES_MAX {
        scratch.folder(format!("{number:04}"));
    }
    assert_eq!(findings(&facts(&scratch)), []);
    scratch.folder("last");
    let over = facts(&scratch);
    assert_eq!((over.complete, findings(&over)), (false, vec![(Code::FilesNotListed, "last")]));
}

#[test]
fn folders_are_listed_16_levels_deep() {
    let scratch = Scratch::new();
    let deepest = vec!["d"; LISTED_DEPTH_MAX].join("/");
    scratch.file(format!("{deepest}/file"), "");
    let at = facts(&scratch);
    assert_eq!((at.files.len(), at.complete), (1, true));
    scratch.file(format!("{deepest}/d/file"), "");
    let over = facts(&scratch);
    assert_eq!((over.files.len(), over.complete), (1, false));
    assert_eq!(findings(&over), [(Code::FilesNotListed, &*format!("{deepest}/d"))]);
}

// What is refused costs memory too: a folder of FIFOs or links ends like a folder of files.
#[test]
fn names_are_looked_at_up_to_16384() {
    let scratch = Scratch::for_many();
    let half = LISTED_ENTRIES_MAX / 2 - 1;
    for folder in ["a", "b"] {
        scratch.folder(folder);
        for number in 0..half {
            fs::write(scratch.at(folder).join(format!(":{number}")), "").unwrap();
        }
    }
    let at = facts(&scratch);
    assert_eq!((at.refused, at.complete), (2 * half, true));
    scratch.file("b/:more", "");
    let over = facts(&scratch);
    assert_eq!((over.refused, over.complete), (2 * half, false));
    assert_eq!(over.no_revision(), Some(NoRevision::TooLarge));
}

// A finding for each of thousands of bad names helps nobody; one of each code is there for the verdicts.
// Each link can cost tens of thousands of steps; one that leads nowhere costs them too.
#[test]
fn links_are_followed_up_to_256() {
    for (target, files) in [("file", LISTED_LINKS_MAX + 1), ("gone", 1)] {
        let scratch = Scratch::for_many();
        scratch.file("file", "");
        for number in 0..LISTED_LINKS_MAX {
            scratch.link(format!("link{number:04}"), target);
        }
        let at = facts(&scratch);
        assert_eq!((at.files.len(), at.complete), (files, true), "{target}");
        scratch.link("link9998", target);
        scratch.link("link9999", target);
        let over = facts(&scratch);
        assert_eq!((over.files.len(), over.complete), (files, false), "{target}");
        let reported: Vec<_> = over.diagnostics.iter().filter(|f| f.code == Code::FilesNotListed).collect();
        assert_eq!(reported[0].path.as_deref(), Some("link9998"), "{target}");
    }
}

// After any limit there is no revision, and no link is followed for one.
#[test]
fn no_link_is_followed_in_a_listing_that_is_incomplete() {
    let scratch = Scratch::new();
    scratch.file(vec!["d"; LISTED_DEPTH_MAX + 1].join("/") + "/file", "");
    scratch.file("file", "");
    scratch.link("a-before", "file");
    scratch.link("z-after", "file");
    let facts = facts(&scratch);
    assert_eq!((paths(&facts), facts.complete), (vec!["a-before", "file"], false));
}

#[test]
fn findings_of_one_code_are_kept_up_to_200() {
    let scratch = Scratch::for_many();
    for number in 0..LISTED_FINDINGS_MAX {
        scratch.file(format!(":{number}"), "");
    }
    scratch.fifo("pipe");
    assert_eq!(facts(&scratch).diagnostics.len(), LISTED_FINDINGS_MAX + 1);
    scratch.file(":more", "");
    scratch.file(":most", "");
    let over = facts(&scratch);
    assert_eq!((over.refused, over.diagnostics.len()), (LISTED_FINDINGS_MAX + 3, LISTED_FINDINGS_MAX + 2));
    let last = &over.diagnostics[LISTED_FINDINGS_MAX + 1];
    assert!(last.code == Code::FilesNotListed && last.message.starts_with("2 more"), "{}", last.message);
    assert!(findings(&over).contains(&(Code::SpecialFile, "pipe")));
}

// CHK-132: what cannot be listed could be anything, so there is no revision without it.
#[test]
fn an_unreadable_folder_is_refused() {
    let scratch = Scratch::new();
    scratch.file("closed/file", "");
    scratch.file("good", "");
    assert_eq!(without_privilege(|| facts(&scratch)).no_revision(), None);
    scratch.mode("closed", 0o000);
    let closed = without_privilege(|| facts(&scratch));
    scratch.mode("closed", 0o700);
    assert_eq!(paths(&closed), ["good"]);
    assert_eq!(findings(&closed), [(Code::FileUnreadable, "closed")]);
    assert_eq!(closed.no_revision(), Some(NoRevision::Refused));
}
