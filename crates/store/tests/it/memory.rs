//! A folder in memory and the same files on disk give the same answers.

use std::collections::BTreeMap;
use std::fs;

use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::limits::SKILL_MD_BYTES_MAX;
use fumehood_core::{Code, Coded as _, RelPath, Revision, Sha256};
use fumehood_store::{BytesOf, DiskFolder, Folder, MemoryFolder};
use fumehood_testkit::{Scratch, skill_md};
use proptest::prelude::*;

type Tree = BTreeMap<String, Vec<u8>>;

fn paths() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("a"),
        Just("A"),
        Just("b.py"),
        Just("caf\u{e9}"),
        Just("cafe\u{301}"),
        Just("SKILL.md"),
        Just("skill.md"),
        Just("execution.json"),
        Just("fumehood.json"),
        Just(".git"),
        Just(".hidden"),
    ];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(skill_md("skill").into_bytes()),
        Just(skill_md("other").into_bytes()),
        Just(b"{\"schemaVersion\": 1, \"scripts\": []}".to_vec()),
        Just(b"#!/usr/bin/env python3\n".to_vec()),
        Just(vec![0xff, 0]),
        proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

/// A tree that a disk can hold: nothing is a file and a folder at once.
fn trees() -> impl Strategy<Value = Tree> {
    let files = proptest::collection::btree_map(paths(), bytes(), 0..8);
    (files, bytes()).prop_map(|(mut files, md)| {
        files.insert("SKILL.md".to_owned(), md);
        let folders: Vec<String> = files.keys().map(|path| format!("{path}/")).collect();
        files.retain(|path, _| !folders.iter().any(|folder| path.starts_with(folder)));
        files
    })
}

fn memory(tree: &Tree) -> MemoryFolder {
    let files = tree.iter().map(|(path, bytes)| (RelPath::parse(path).unwrap(), bytes.clone()));
    MemoryFolder::new("skill", files)
}

fn disk(tree: &Tree) -> (Scratch, DiskFolder) {
    let scratch = Scratch::new();
    for (path, bytes) in tree {
        scratch.file(format!("skill/{path}"), bytes);
    }
    let folder = DiskFolder::open(&scratch.at("skill")).unwrap();
    (scratch, folder)
}

fn inspected(folder: &dyn Folder) -> Inspection {
    let reading = folder.skill_md().reading(folder.directory_name());
    inspect(reading, folder.facts(), &BytesOf(folder))
}

/// Everything that is said, in an order that does not depend on how it was found out.
fn said(inspection: &Inspection) -> Vec<String> {
    let mut said: Vec<_> = inspection.diagnostics.iter().map(|finding| format!("{finding:?}")).collect();
    said.sort_unstable();
    said
}

fn compare(tree: &Tree) {
    let (memory, (_scratch, disk)) = (memory(tree), disk(tree));
    let (one, other) = (inspected(&memory), inspected(&disk));
    assert_eq!(one.facts.files, other.facts.files);
    assert_eq!((one.facts.refused, one.facts.complete), (other.facts.refused, other.facts.complete));
    assert_eq!(said(&one), said(&other));
    assert_eq!(one.skill.as_ref().map(|s| &s.name), other.skill.as_ref().map(|s| &s.name));
    assert_eq!(
        (one.execution.as_str(), one.fumehood.as_str()),
        (other.execution.as_str(), other.fumehood.as_str())
    );
    let scripts = |inspection: &Inspection, folder: &dyn Folder| {
        let found = inspection.undeclared_scripts(&BytesOf(folder));
        found.into_iter().map(|script| format!("{script:?}")).collect::<Vec<_>>()
    };
    assert_eq!(scripts(&one, &memory), scripts(&other, &disk));

    let (mine, theirs) = (memory.capture(), disk.capture());
    assert_eq!(
        mine.as_ref().map(fumehood_store::Snapshot::revision),
        theirs.as_ref().map(fumehood_store::Snapshot::revision)
    );
    if let (Ok(mine), Ok(theirs)) = (&mine, &theirs) {
        let bytes = |snapshot: &fumehood_store::Snapshot| -> Vec<(RelPath, Vec<u8>)> {
            snapshot.files().map(|(path, file)| (path.clone(), file.bytes().to_vec())).collect()
        };
        assert_eq!(bytes(mine), bytes(theirs));
        let content = tree.iter().filter(|(path, _)| *path != ".git" && !path.starts_with(".git/"));
        let expected = content
            .map(|(path, bytes)| (RelPath::parse(path).unwrap(), (bytes.len() as u64, Sha256::of(bytes))));
        assert_eq!(mine.revision(), Revision::of(&expected.collect()));
    }
    for path in tree.keys().map(|path| RelPath::parse(path).unwrap()) {
        assert_eq!(memory.read(&path, 1, 5), disk.read(&path, 1, 5), "{path}");
        let size = |folder: &dyn Folder| folder.hold(&path).map(|held| held.size());
        assert_eq!(size(&memory), size(&disk), "{path}");
        let below = path.join("below").unwrap();
        assert_eq!(memory.read(&below, 0, 5), disk.read(&below, 0, 5), "{below}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // CHK-130, CHK-148
    #[test]
    fn memory_and_disk_agree(tree in trees()) {
        compare(&tree);
    }
}

#[test]
fn they_agree_on_a_skill_md_that_is_too_large() {
    for size in [SKILL_MD_BYTES_MAX, SKILL_MD_BYTES_MAX + 1, SKILL_MD_BYTES_MAX + 2] {
        let mut text = skill_md("skill").into_bytes();
        text.resize(size, b' ');
        let tree = Tree::from([("SKILL.md".to_owned(), text)]);
        compare(&tree);
        assert_eq!(inspected(&memory(&tree)).is_loadable(), size == SKILL_MD_BYTES_MAX);
    }
}

#[test]
fn a_memory_folder_without_skill_md_says_so() {
    let folder = MemoryFolder::new("skill", []);
    let inspection = inspected(&folder);
    assert_eq!(inspection.diagnostics[0].code, Code::SkillMdMissing);
    assert_eq!(folder.read(&RelPath::parse("x").unwrap(), 0, 1).unwrap_err().code(), Code::FileNotFound);
}

// A snapshot is bytes in memory: what happens to the folder afterwards does not reach it (CHK-131, CHK-147).
#[test]
fn a_snapshot_outlives_its_folder() {
    let tree = Tree::from([("SKILL.md".to_owned(), skill_md("skill").into_bytes())]);
    let (scratch, folder) = disk(&tree);
    let snapshot = folder.capture().unwrap();
    fs::write(scratch.at("skill/SKILL.md"), "changed").unwrap();
    let kept = snapshot.clone();
    drop((scratch, folder, snapshot));
    let (path, file) = kept.files().next().unwrap();
    assert_eq!((path.as_str(), file.bytes()), ("SKILL.md", tree["SKILL.md"].as_slice()));
}
