//! Each script in `tests/cases/adopt` against the draft beside it. `UPDATE=1` rewrites the drafts. What follows a line
//! `%%% HELP` is what the script says when it is asked for help.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fumehood_core::adopt::{Candidate, draft};
use fumehood_core::{RelPath, SkillName};

// EXE-42 to EXE-47.
#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/adopt");
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "in"));
    cases.sort();
    assert!(!cases.is_empty());
    let mut wrong = Vec::new();
    for case in cases {
        let text = std::fs::read_to_string(&case).unwrap();
        let name = case.file_stem().unwrap().to_str().unwrap();
        let outcome = drafted(name, &text);
        let expected = case.with_extension("out");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &outcome).unwrap();
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != outcome {
            wrong.push(format!("{name}:\n{outcome}"));
        }
    }
    assert!(wrong.is_empty(), "run UPDATE=1 and read the difference:\n{}", wrong.join("\n"));
}

fn drafted(name: &str, text: &str) -> String {
    let (source, help) = match text.split_once("%%% HELP\n") {
        Some((source, help)) => (source, Some(help.as_bytes())),
        None => (text, None),
    };
    let path = RelPath::parse(&format!("scripts/{name}")).unwrap();
    let candidate = Candidate { path: &path, bytes: source.as_bytes(), help };
    let draft = draft(&SkillName::parse("case").unwrap(), &[], 64, &[candidate]);
    let mut shown = String::new();
    for script in &draft.scripts {
        let claim = &script.script;
        writeln!(shown, "script {} by {}: {}", claim.name(), claim.interpreter(), claim.description())
            .unwrap();
        for param in claim.params() {
            let flag = param.flag().map_or(String::new(), |flag| format!(" {flag}"));
            let required = if param.is_required() { "" } else { " optional" };
            let said = param.description().map_or(String::new(), |said| format!(": {said}"));
            writeln!(shown, "  {}{flag}{required} {:?}{said}", param.name(), param.kind()).unwrap();
        }
        script.notes.iter().for_each(|note| writeln!(shown, "  note {note}").unwrap());
    }
    for left in &draft.left_out {
        writeln!(shown, "left out: {}", left.why).unwrap();
        left.notes.iter().for_each(|note| writeln!(shown, "  note {note}").unwrap());
    }
    shown
}
