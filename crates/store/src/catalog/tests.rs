use std::path::Path;

use fumehood_testkit::Scratch;

use super::*;
use crate::source::SourceKind;

fn configured(scratch: &Scratch, label: &str) -> Source {
    Source { label: label.into(), kind: SourceKind::Configured, path: scratch.at(label) }
}

fn project(scratch: &Scratch, trusted: bool) -> Source {
    let below = PathBuf::from(".agents/skills");
    let kind = SourceKind::Project { project: scratch.at("project"), below: below.clone(), trusted };
    Source { label: "project-agents".into(), kind, path: scratch.at("project").join(below) }
}

fn build(sources: Vec<Source>) -> Catalog {
    Catalog::build(sources, WalkLimits::default(), &mut |_| {})
}

/// A skill whose folder and declared name differ.
fn skill(scratch: &Scratch, folder: &str, name: &str) {
    scratch.file(format!("{folder}/SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\n"));
}

fn found<'c>(catalog: &'c Catalog, scratch: &Scratch, name: &str) -> Result<&'c str, LookupError> {
    let entry = catalog.find(name)?;
    Ok(entry.path.strip_prefix(scratch.path()).unwrap().to_str().unwrap())
}

// C4: the folder that has the name comes before those that claim it; then the order of sources, then of paths.
#[test]
fn precedence_is_the_same_every_time() {
    let scratch = Scratch::new();
    skill(&scratch, "one/aaa", "tool");
    skill(&scratch, "one/tool", "tool");
    skill(&scratch, "one/zzz", "tool");
    skill(&scratch, "two/tool", "tool");
    skill(&scratch, "two/other", "other");
    skill(&scratch, "two/an-other", "other");
    let expected = [
        ("one/tool", None),
        ("one/aaa", Some(0)),
        ("one/zzz", Some(0)),
        ("two/other", None),
        ("two/an-other", Some(3)),
        ("two/tool", Some(0)),
    ];
    for _ in 0..20 {
        let catalog = build(vec![configured(&scratch, "one"), configured(&scratch, "two")]);
        let entries: Vec<_> = catalog
            .entries
            .iter()
            .map(|e| (e.path.strip_prefix(scratch.path()).unwrap().to_str().unwrap(), e.shadowed_by))
            .collect();
        assert_eq!(entries, expected);
        assert_eq!(found(&catalog, &scratch, "tool"), Ok("one/tool"));
        assert_eq!(found(&catalog, &scratch, "two:tool"), Ok("two/tool"));
    }
    let turned = build(vec![configured(&scratch, "two"), configured(&scratch, "one")]);
    assert_eq!(found(&turned, &scratch, "tool"), Ok("two/tool"));
    let note = shadow_note(&turned.entries[0]);
    assert!(
        note.code == Code::Shadowed && note.message.contains("an-other") | note.message.contains("other")
    );
}

// CHK-075: a skill that cannot be used neither shadows one that can nor hides it from its qualified name.
#[test]
fn a_broken_skill_shadows_nothing() {
    let scratch = Scratch::new();
    scratch.file("one/tool/SKILL.md", "no frontmatter");
    skill(&scratch, "one/usable", "tool");
    scratch.file("one/alone/SKILL.md", "no frontmatter");
    let catalog = build(vec![configured(&scratch, "one")]);
    assert!(catalog.entries.iter().all(|entry| entry.shadowed_by.is_none()));
    assert_eq!(found(&catalog, &scratch, "tool"), Ok("one/usable"));
    assert_eq!(found(&catalog, &scratch, "one:tool"), Ok("one/usable"));
    // Alone, it is what the person means and wants to see the findings of.
    assert_eq!(found(&catalog, &scratch, "alone"), Ok("one/alone"));
    assert_eq!(found(&catalog, &scratch, "one:alone"), Ok("one/alone"));
    assert!(!catalog.find("alone").unwrap().loadable);
}

#[test]
fn names_are_found_as_declared() {
    let scratch = Scratch::new();
    skill(&scratch, "one/my-tool", "My Tool");
    let catalog = build(vec![configured(&scratch, "one")]);
    let entry = catalog.find("My Tool").unwrap();
    assert_eq!((entry.name.as_str(), entry.declared_name.as_deref()), ("my-tool", Some("My Tool")));
    assert_eq!(found(&catalog, &scratch, "my-tool"), Ok("one/my-tool"));
    assert_eq!(found(&catalog, &scratch, "one:my-tool"), Ok("one/my-tool"));
}

#[test]
fn one_declared_name_for_two_is_ambiguous() {
    let scratch = Scratch::new();
    // Nothing is left of these names, so the folders' names are used.
    skill(&scratch, "one/first", "\"!!!\"");
    let catalog = build(vec![configured(&scratch, "one")]);
    assert_eq!(found(&catalog, &scratch, "!!!"), Ok("one/first"));
    skill(&scratch, "one/second", "\"!!!\"");
    let catalog = build(vec![configured(&scratch, "one")]);
    assert_eq!(found(&catalog, &scratch, "!!!"), Err(LookupError::Ambiguous));
    assert_eq!(found(&catalog, &scratch, "second"), Ok("one/second"));
}

fn near(catalog: &Catalog, name: &str) -> Vec<String> {
    match catalog.find(name) {
        Err(LookupError::Missing { near }) => near,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_name_gets_its_neighbours() {
    let scratch = Scratch::new();
    for name in ["pdf", "pdf-tools", "docx", "word-count", "pdg1", "pdg2", "pdg3", "pdg4", "pdg5"] {
        scratch.skill(format!("one/{name}"));
    }
    let catalog = build(vec![configured(&scratch, "one")]);
    assert_eq!(near(&catalog, "pdx"), ["pdf", "pdg1", "pdg2", "pdg3", "pdg4"]);
    assert_eq!(near(&catalog, "wordcount"), ["word-count"]);
    assert_eq!(near(&catalog, "tools"), ["pdf-tools"]);
    assert_eq!(near(&catalog, "entirely-different"), Vec::<String>::new());
    assert_eq!(near(&catalog, &"x".repeat(100_000)), Vec::<String>::new());
    // A name is looked up and never joined to a path.
    for path in ["../one/pdf", "one/pdf", "./pdf", "/etc"] {
        assert!(matches!(catalog.find(path), Err(LookupError::Missing { .. })), "{path}");
    }
}

#[test]
fn distances_are_counted_to_three() {
    let cases = [
        ("", "", 0),
        ("a", "", 1),
        ("abc", "abx", 1),
        ("abc", "acb", 2),
        ("abc", "xyz", 3),
        ("a", "abcd", 3),
    ];
    for (a, b, edits) in cases {
        assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
    }
    assert_eq!(distance(&"a".repeat(256), &"a".repeat(256)), 0);
    assert_eq!(distance(&"a".repeat(257), &"a".repeat(257)), 3);
}

// DESIGN 5: an untrusted project is counted, and says nothing.
#[test]
fn an_untrusted_project_is_inert() {
    let scratch = Scratch::new();
    scratch.skill("project/.agents/skills/secret-helper");
    scratch.skill("project/.agents/skills/shared");
    scratch.skill("one/shared");
    let sources = |trusted| vec![configured(&scratch, "one"), project(&scratch, trusted)];
    let catalog = build(sources(false));
    assert_eq!(catalog.entries.len(), 1);
    assert_eq!(catalog.sources[1].status, SourceStatus::Inert);
    assert_eq!(catalog.sources[1].report.found, 2);
    assert_eq!(found(&catalog, &scratch, "project-agents:secret-helper"), Err(LookupError::Inert));
    assert_eq!(near(&catalog, "secret-helper"), Vec::<String>::new());
    assert_eq!(near(&catalog, "project-agents-helper"), Vec::<String>::new());

    let catalog = build(sources(true));
    assert_eq!(catalog.sources[1].status, SourceStatus::Active);
    let secret = "project/.agents/skills/secret-helper";
    assert_eq!(found(&catalog, &scratch, "secret-helper"), Ok(secret));
    assert_eq!(found(&catalog, &scratch, "project-agents:secret-helper"), Ok(secret));
    // A project never comes before what the person or the deployer chose.
    assert_eq!(found(&catalog, &scratch, "shared"), Ok("one/shared"));
    assert_eq!(near(&catalog, "project-agents:none"), Vec::<String>::new());
}

#[test]
fn a_project_without_skills_is_not_called_inert() {
    let scratch = Scratch::new();
    scratch.folder("project");
    let catalog = build(vec![project(&scratch, false)]);
    assert_eq!(catalog.sources[0].status, SourceStatus::Missing);
    assert_eq!(catalog.sources[0].report.diagnostics, []);
    assert_eq!(near(&catalog, "project-agents:x"), Vec::<String>::new());
}

#[test]
fn a_project_root_that_leaves_is_reported() {
    let scratch = Scratch::new();
    scratch.skill("outside/skill");
    scratch.link("project/.agents/skills", "../../outside");
    let catalog = build(vec![project(&scratch, true)]);
    let source = &catalog.sources[0];
    assert_eq!((source.status, source.report.complete), (SourceStatus::Missing, false));
    assert_eq!(source.report.diagnostics[0].code, Code::LinkEscapes);
    assert!(catalog.entries.is_empty());
}

// B4: two roots, one of them a link to the other, or one inside the other.
#[test]
fn one_folder_is_one_skill() {
    let scratch = Scratch::new();
    scratch.skill("one/group/tool");
    scratch.link("two", "one");
    let inner = Source::given(&scratch.at("one/group"));
    let catalog = build(vec![configured(&scratch, "one"), configured(&scratch, "two"), inner]);
    let entries: Vec<_> = catalog.entries.iter().map(|entry| (entry.source, entry.shadowed_by)).collect();
    assert_eq!(entries, [(0, None)]);
    let found: Vec<_> = catalog.sources.iter().map(|source| source.report.found).collect();
    assert_eq!(found, [1, 1, 1]);
}

// A second, equal copy is another skill: it can change on its own.
#[test]
fn a_copy_is_shadowed_not_dropped() {
    let scratch = Scratch::new();
    scratch.skill("one/tool");
    scratch.skill("two/tool");
    let catalog = build(vec![configured(&scratch, "one"), configured(&scratch, "two")]);
    assert_eq!(catalog.entries[1].shadowed_by, Some(0));
}

#[test]
fn a_missing_source_is_reported_unless_conventional() {
    let scratch = Scratch::new();
    let user =
        Source { label: "user-agents".into(), kind: SourceKind::User, path: Path::new("/none").into() };
    let catalog = build(vec![configured(&scratch, "none"), user]);
    let codes: Vec<Vec<Code>> =
        catalog.sources.iter().map(|s| s.report.diagnostics.iter().map(|d| d.code).collect()).collect();
    assert_eq!(codes, [vec![Code::SourceMissing], vec![]]);
    assert!(!catalog.sources[0].report.complete && catalog.sources[1].report.complete);
}

#[test]
fn progress_counts_every_skill() {
    let scratch = Scratch::new();
    scratch.skill("one/a");
    scratch.skill("one/b");
    let mut counts = Vec::new();
    Catalog::build(vec![configured(&scratch, "one")], WalkLimits::default(), &mut |n| counts.push(n));
    assert_eq!(counts, [1, 2]);
}
