use std::collections::BTreeMap;

use super::*;
use crate::limits::BUNDLE_FILES_MAX;
use crate::skill::{Found, read};

/// Files of a skill, and what happens to whoever asks for one that is not listed.
#[derive(Default)]
struct Files(BTreeMap<RelPath, Vec<u8>>);

impl FileBytes for Files {
    fn head(&self, path: &RelPath, bytes_max: usize) -> Result<Vec<u8>, Diagnostic> {
        let bytes = self.0.get(path).ok_or_else(|| Diagnostic::new(Code::FileNotFound, "gone"))?;
        Ok(bytes[..bytes.len().min(bytes_max)].to_vec())
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn fact(text: &str, size: u64) -> FileFact {
    FileFact { path: path(text), size, link: false }
}

/// A skill called `name` in a folder of that name, with these files beside its SKILL.md.
struct Sample {
    name: String,
    files: Files,
    facts: FolderFacts,
}

impl Sample {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::called("sample", files)
    }

    fn called(name: &str, files: &[(&str, &str)]) -> Self {
        let facts = FolderFacts { complete: true, ..FolderFacts::default() };
        let mut sample = Self { name: name.to_owned(), files: Files::default(), facts };
        let md = format!("---\nname: {name}\ndescription: d\n---\n");
        for (file, text) in [("SKILL.md", md.as_str())].iter().chain(files) {
            sample.facts.files.push(fact(file, text.len() as u64));
            sample.files.0.insert(path(file), text.as_bytes().to_vec());
        }
        sample.sort();
        sample
    }

    /// One more file, of which only the size is known.
    fn sized(mut self, file: &str, size: u64) -> Self {
        self.facts.files.push(fact(file, size));
        self.sort();
        self
    }

    fn linked(mut self, file: &str) -> Self {
        self.facts
            .files
            .iter_mut()
            .filter(|fact| fact.path.as_str() == file)
            .for_each(|fact| fact.link = true);
        self
    }

    fn sort(&mut self) {
        self.facts.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    fn look(&self) -> Inspection {
        let md = &self.files.0[&path("SKILL.md")];
        let reading = read(md, Found { directory: &self.name, file: "SKILL.md" });
        inspect(reading, self.facts.clone(), &self.files)
    }
}

fn execution(files: &[&str]) -> String {
    let files: Vec<_> = files.iter().map(|file| format!("\"{file}\"")).collect();
    format!(
        r#"{{"schemaVersion":1,"entrypoint":"{}","files":[{}],
            "inputSchema":{{"type":"object","properties":{{}},"additionalProperties":false}},
            "outputSchema":{{"type":"string"}}}}"#,
        files[0].trim_matches('"'),
        files.join(",")
    )
}

fn codes(inspection: &Inspection) -> Vec<(Code, &str)> {
    inspection.diagnostics.iter().map(|f| (f.code, f.path.as_deref().unwrap_or_default())).collect()
}

const REFUSED: (Code, &str) = (Code::ExecutionManifest, EXECUTION_JSON);

#[test]
fn a_skill_without_manifests_is_whole() {
    let inspection = Sample::new(&[]).look();
    assert!(inspection.is_loadable() && inspection.is_conformant());
    assert_eq!((inspection.execution.as_str(), inspection.fumehood.as_str()), ("absent", "absent"));
    assert_eq!(codes(&inspection), []);
    assert!(inspection.execution.accepted().is_none());
}

// CHK-075, CHK-086: accepted as written, or refused with a reason; prompt-only use goes on either way.
#[test]
fn a_manifest_is_accepted_or_refused() {
    let good = Sample::new(&[("execution.json", &execution(&["run.mjs"])), ("run.mjs", "")]).look();
    assert_eq!(good.execution.as_str(), "accepted");
    assert_eq!(good.execution.accepted().map(|m| m.entrypoint().as_str()), Some("run.mjs"));
    assert_eq!(codes(&good), []);

    for bad in ["", "{", "[]", "{\"schemaVersion\":2}", "{\"schemaVersion\":1,\"x\":1}"] {
        let inspection = Sample::new(&[("execution.json", bad), ("fumehood.json", bad)]).look();
        assert_eq!((inspection.execution.as_str(), inspection.fumehood.as_str()), ("refused", "refused"));
        let expected = [REFUSED, (Code::FumehoodManifest, FUMEHOOD_JSON)];
        assert_eq!(codes(&inspection), expected, "{bad}");
        assert!(inspection.is_loadable() && inspection.is_conformant(), "{bad}");
    }
}

// One manifest's refusal is not the other's.
#[test]
fn manifests_are_judged_apart() {
    let inspection =
        Sample::new(&[("execution.json", "{"), ("fumehood.json", "{\"schemaVersion\":1,\"scripts\":[]}")])
            .look();
    assert_eq!((inspection.execution.as_str(), inspection.fumehood.as_str()), ("refused", "accepted"));
}

// CHK-053: only the skill's own root counts.
#[test]
fn manifests_elsewhere_are_files_like_others() {
    let text = execution(&["run.mjs"]);
    let inspection = Sample::new(&[("lib/execution.json", &text), ("lib/run.mjs", "")]).look();
    assert_eq!(inspection.execution.as_str(), "absent");
    let other_case = Sample::new(&[("Execution.json", &text), ("run.mjs", "")]).look();
    assert_eq!(other_case.execution.as_str(), "absent");
}

// CHK-090
#[test]
fn declared_files_must_be_there_and_plain() {
    let text = execution(&["run.mjs", "data.json"]);
    let files = [("execution.json", text.as_str()), ("run.mjs", ""), ("data.json", "")];
    let missing = Sample::new(&files[..2]).look();
    assert_eq!(codes(&missing), [(Code::DeclaredFile, "data.json"), REFUSED]);
    for file in ["run.mjs", "data.json"] {
        let linked = Sample::new(&files).linked(file).look();
        assert_eq!(codes(&linked), [(Code::LinkRefused, file), REFUSED]);
        assert_eq!(linked.execution.as_str(), "refused");
    }
    let linked = Sample::new(&files).linked("execution.json").look();
    assert_eq!(codes(&linked), [(Code::LinkRefused, "execution.json")]);
    assert_eq!(linked.execution.as_str(), "refused");
    // A link that nobody declared is fine.
    assert_eq!(Sample::new(&files).sized("other", 1).linked("other").look().execution.as_str(), "accepted");
    assert_eq!(Sample::new(&files).look().execution.as_str(), "accepted");
}

// A FIFO or a link that leads out is not listed; that is not the same as absent.
#[test]
fn a_manifest_that_was_refused_by_the_folder_is_not_absent() {
    let with = |finding: Diagnostic| {
        let mut sample = Sample::new(&[]);
        sample.facts.refused = 1;
        sample.facts.diagnostics.push(finding);
        sample.look().execution.as_str()
    };
    let finding = |code, path: &str| Diagnostic::new(code, "").in_file(path);
    assert_eq!(with(finding(Code::SpecialFile, "execution.json")), "refused");
    assert_eq!(with(finding(Code::LinkEscapes, "execution.json")), "refused");
    assert_eq!(with(finding(Code::SpecialFile, "lib/execution.json")), "absent");
    assert_eq!(with(finding(Code::LinkFollowed, "execution.json")), "absent");
}

#[test]
fn what_reading_and_listing_both_met_is_said_once() {
    let pipe = |path: &str| Diagnostic::new(Code::SpecialFile, "").in_file(path);
    let reading = Reading { skill: None, diagnostics: vec![pipe("SKILL.md")] };
    let diagnostics = vec![pipe("SKILL.md"), pipe("other"), pipe("third")];
    let facts = FolderFacts { complete: true, refused: 3, diagnostics, ..FolderFacts::default() };
    let inspection = inspect(reading, facts, &Files::default());
    let expected = ["SKILL.md", "other", "third"].map(|path| (Code::SpecialFile, path));
    assert_eq!(codes(&inspection), expected);
}

// CHK-055, CHK-103
#[test]
fn a_manifest_has_64_kib_at_most() {
    let text = execution(&["run.mjs"]);
    let padded = |size: usize| text.clone() + &" ".repeat(size - text.len());
    let judged =
        |size| Sample::new(&[("execution.json", &padded(size)), ("run.mjs", "")]).look().execution.as_str();
    assert_eq!((judged(MANIFEST_BYTES_MAX), judged(MANIFEST_BYTES_MAX + 1)), ("accepted", "refused"));
}

// CHK-057, CHK-103
#[test]
fn a_declared_file_has_1_mib_at_most() {
    let text = execution(&["run.mjs", "data"]);
    let judged = |size| {
        let sample = Sample::new(&[("execution.json", &text), ("run.mjs", "")]).sized("data", size);
        codes(&sample.look()).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    assert_eq!(judged(BUNDLE_FILE_BYTES_MAX), []);
    assert_eq!(judged(BUNDLE_FILE_BYTES_MAX + 1), [Code::DeclaredFile, Code::ExecutionManifest]);
    // A sparse file of any size is a sum without overflow.
    assert!(judged(u64::MAX).contains(&Code::DeclaredFile));
    // What is not declared may be as large as it likes.
    let other = Sample::new(&[("execution.json", &execution(&["run.mjs"])), ("run.mjs", "")]);
    assert_eq!(other.sized("data", BUNDLE_FILE_BYTES_MAX + 1).look().execution.as_str(), "accepted");
}

// CHK-103, CHK-149: manifest, instructions, files, names and framing together.
#[test]
fn a_bundle_has_4_mib_at_most() {
    let names = ["run.mjs", "a", "b", "c", "d"];
    let text = execution(&names);
    let judged = |last: u64| {
        let mut sample = Sample::new(&[("execution.json", &text), ("run.mjs", "")]);
        for name in ["a", "b", "c"] {
            sample = sample.sized(name, BUNDLE_FILE_BYTES_MAX);
        }
        sample.sized("d", last)
    };
    let names: u64 =
        ["execution.json", "SKILL.md"].iter().chain(&names).map(|name| 48 + name.len() as u64).sum();
    let others = judged(0).facts.bytes() + names;
    let room = BUNDLE_BYTES_MAX - others;
    assert!(room < BUNDLE_FILE_BYTES_MAX);
    assert_eq!(codes(&judged(room).look()), []);
    assert_eq!(codes(&judged(room + 1).look()), [(Code::DeclaredFile, "execution.json"), REFUSED]);
}

// CHK-057, CHK-103: the 65th file is refused by the manifest, 64 are taken.
#[test]
fn a_bundle_has_64_files_at_most() {
    let names: Vec<String> = (0..=BUNDLE_FILES_MAX).map(|number| format!("f{number}.mjs")).collect();
    let judged = |count: usize| {
        let listed: Vec<&str> = names[..count].iter().map(String::as_str).collect();
        let text = execution(&listed);
        let files: Vec<(&str, &str)> = [("execution.json", text.as_str())]
            .into_iter()
            .chain(listed.iter().map(|name| (*name, "")))
            .collect();
        Sample::new(&files).look().execution.as_str()
    };
    assert_eq!((judged(BUNDLE_FILES_MAX), judged(BUNDLE_FILES_MAX + 1)), ("accepted", "refused"));
}

#[test]
fn a_folder_has_a_revision_or_a_reason() {
    let facts = |files: Vec<FileFact>| FolderFacts { files, complete: true, ..FolderFacts::default() };
    let many = |count: usize| (0..count).map(|number| fact(&format!("f{number}"), 0)).collect();
    assert_eq!(facts(many(SKILL_FILES_MAX)).no_revision(), None);
    assert_eq!(facts(many(SKILL_FILES_MAX + 1)).no_revision(), Some(NoRevision::TooLarge));
    assert_eq!(facts(vec![fact("a", SKILL_BYTES_MAX)]).no_revision(), None);
    assert_eq!(facts(vec![fact("a", SKILL_BYTES_MAX + 1)]).no_revision(), Some(NoRevision::TooLarge));
    assert_eq!(FolderFacts { refused: 1, ..facts(vec![]) }.no_revision(), Some(NoRevision::Refused));
    assert_eq!(FolderFacts { complete: false, ..facts(vec![]) }.no_revision(), Some(NoRevision::TooLarge));
    // Three sparse files whose sizes add up to more than a u64 are not small.
    let sparse = facts(vec![fact("a", i64::MAX as u64), fact("b", i64::MAX as u64), fact("c", 3)]);
    assert_eq!((sparse.bytes(), sparse.no_revision()), (u64::MAX, Some(NoRevision::TooLarge)));
}

#[test]
fn a_large_skill_is_noted_and_stays_loadable() {
    let large = Sample::new(&[]).sized("data", SKILL_BYTES_MAX + 1).look();
    assert_eq!(codes(&large), [(Code::SkillTooLarge, "")]);
    assert!(large.is_loadable() && large.is_conformant());
    // Where not everything was listed, that has been said already.
    let mut sample = Sample::new(&[]).sized("data", SKILL_BYTES_MAX + 1);
    sample.facts.complete = false;
    assert_eq!(codes(&sample.look()), []);
}

// CHK-002, CHK-054: what is in the way of a checked tool is named, all of it; and nothing is where nothing is.
#[test]
fn what_keeps_a_checked_tool_from_running_is_named() {
    let bars = |inspection: &Inspection| -> Vec<Code> {
        inspection.execution_bars().into_iter().map(|(code, _)| code).collect()
    };
    assert_eq!(bars(&Sample::new(&[]).look()), [Code::ExecutionUnavailable]);
    let manifest = r#"{"schemaVersion":1,"entrypoint":"a.mjs","files":["a.mjs"],"inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"null"}}"#;
    let sample = || Sample::new(&[("execution.json", manifest), ("a.mjs", "")]);
    assert_eq!(bars(&sample().look()), []);
    let unlisted = Sample::new(&[("execution.json", manifest)]).look();
    assert_eq!(bars(&unlisted), [Code::ExecutionManifest]);
    let large = sample().sized("data", SKILL_BYTES_MAX + 1).look();
    assert_eq!(bars(&large), [Code::NoRevision]);
    let mut refused = sample();
    refused.facts.refused = 1;
    assert_eq!(bars(&refused.look()), [Code::NoRevision]);
    let mut misnamed = sample();
    misnamed.name = "other".to_owned();
    assert_eq!(bars(&misnamed.look()), [Code::NotConformant]);
    let mut broken = sample();
    broken.files.0.insert(path("SKILL.md"), b"nothing".to_vec());
    assert_eq!(bars(&broken.look()), [Code::NotLoadable]);
    for (chars, expected) in [(59, vec![]), (60, vec![Code::ToolNameTooLong])] {
        let name = "n".repeat(chars);
        let long = Sample::called(&name, &[("execution.json", manifest), ("a.mjs", "")]).look();
        assert_eq!(bars(&long), expected, "{chars}");
    }
}

fn scripts_manifest(tool: &str) -> String {
    format!(
        r#"{{"schemaVersion":1,"scripts":[{{"name":"{tool}","path":"go.py","description":"d","interpreter":"python3"}}]}}"#
    )
}

// Names are never shortened: too long for a client is a warning, too long for a tool a refusal.
#[test]
fn tool_names_have_a_length() {
    let judged = |tool: usize| {
        let manifest = scripts_manifest(&"t".repeat(tool));
        let skill = "s".repeat(30);
        let inspection = Sample::called(&skill, &[("fumehood.json", &manifest), ("go.py", "")]).look();
        assert!(inspection.is_loadable());
        let codes: Vec<_> = codes(&inspection).into_iter().map(|(code, _)| code).collect();
        (inspection.fumehood.as_str(), codes)
    };
    // How a tool's name is put together is the manifest's affair; here, where the verdict turns.
    let states: Vec<_> = (1..=40).map(judged).collect();
    let plain = states.iter().take_while(|state| **state == ("accepted", vec![])).count();
    let long = states.iter().filter(|state| **state == ("accepted", vec![Code::ToolNameLong])).count();
    let refused = states.iter().filter(|state| **state == ("refused", vec![Code::FumehoodManifest])).count();
    assert_eq!(plain + long + refused, 40, "{states:?}");
    // 48 characters, then 64, counted over the whole name.
    assert_eq!(long, 16, "{plain} {long} {refused}");
    assert!(plain > 0 && refused > 0);
}

// Without a conformant name there are no tool names, so nothing is too long, and nothing can run either.
#[test]
fn a_name_that_is_not_conformant_makes_no_tools() {
    let manifest = scripts_manifest(&"t".repeat(40));
    let inspection = Sample::called("Not Conformant", &[("fumehood.json", &manifest), ("go.py", "")]).look();
    assert!(inspection.is_loadable() && !inspection.is_conformant());
    assert_eq!(inspection.fumehood.as_str(), "accepted", "{:?}", inspection.diagnostics);
    assert!(inspection.execution_bars().iter().any(|(code, _)| *code == Code::NotConformant));
}

#[test]
fn scripts_that_nobody_declared_are_named() {
    let manifest = scripts_manifest("go");
    let sample = Sample::new(&[
        ("fumehood.json", &manifest),
        ("go.py", ""),
        ("other.py", ""),
        ("tool", "#!/bin/sh\n"),
        ("README.md", ""),
    ]);
    let inspection = sample.look();
    let found: Vec<_> = inspection
        .undeclared_scripts(&sample.files)
        .into_iter()
        .map(|script| script.path.to_string())
        .collect();
    assert_eq!(found, ["other.py", "tool"]);
    // A manifest that was refused declares nothing.
    let refused = Sample::new(&[("fumehood.json", "{"), ("go.py", "")]);
    assert_eq!(refused.look().undeclared_scripts(&refused.files).len(), 1);
}

// What cannot be read is refused with the reader's own words.
#[test]
fn a_manifest_that_cannot_be_read_is_refused() {
    let inspection = Sample::new(&[]).sized("execution.json", 10).look();
    assert_eq!(inspection.execution.as_str(), "refused");
    assert_eq!(codes(&inspection), [(Code::FileNotFound, "")]);
}
