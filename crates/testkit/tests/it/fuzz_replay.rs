//! Every kept input of every fuzz target, once more.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fumehood_testkit::fuzz::TARGETS;

use crate::repository;

/// Files and bytes of one corpus: what a checkout and every test run can bear.
const CORPUS_FILES_MAX: usize = 300;
const CORPUS_BYTES_MAX: usize = 300 << 10;

#[test]
fn every_kept_input_holds() {
    for target in TARGETS {
        let folder = repository().join("fuzz/corpus").join(target.name);
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        let mut bytes = 0;
        for file in &files {
            let input = fs::read(file).unwrap();
            bytes += input.len();
            let kept = std::panic::catch_unwind(|| (target.body)(&input)).is_ok();
            assert!(kept, "{} breaks a promise of {}", file.display(), target.name);
        }
        println!("{}: {} inputs, {bytes} bytes", target.name, files.len());
        assert!(files.len() <= CORPUS_FILES_MAX && bytes <= CORPUS_BYTES_MAX, "{} grew", target.name);
    }
}

#[test]
fn every_target_is_fuzzed_and_replayed() {
    let bodies: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let root = repository().join("fuzz");
    assert_eq!(stems(&root.join("fuzz_targets")), bodies);
    assert_eq!(stems(&root.join("corpus")), bodies);
    for name in &bodies {
        let source = fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(source.contains(&format!("fumehood_testkit::fuzz::{name}(bytes)")), "{name}");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
}

fn stems(folder: &Path) -> BTreeSet<String> {
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    fs::read_dir(folder).unwrap().map(|entry| stem(&entry.unwrap().path())).collect()
}
