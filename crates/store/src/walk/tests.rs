use std::fs;

use fumehood_testkit::{Opens, Scratch, skill_md, without_privilege};

use super::*;
use crate::folder::Folder as _;

/// The paths of the skills relative to the scratch folder, and the report.
fn walk_of(scratch: &Scratch, root: Root, limits: WalkLimits) -> (Vec<String>, WalkReport) {
    let mut found = Vec::new();
    let report = root.walk(limits, &mut |folder| {
        let path = folder.path().strip_prefix(scratch.path()).unwrap_or(folder.path());
        found.push(path.to_str().unwrap().to_owned());
        Continue::Yes
    });
    assert_eq!(report.found, found.len());
    (found, report)
}

fn walk_with(scratch: &Scratch, root: &str, limits: WalkLimits) -> (Vec<String>, WalkReport) {
    walk_of(scratch, Root::open(&scratch.at(root)).unwrap(), limits)
}

fn walk(scratch: &Scratch, root: &str) -> (Vec<String>, WalkReport) {
    walk_with(scratch, root, WalkLimits::default())
}

/// The codes of the findings, each with the path's last component.
fn findings(report: &WalkReport) -> Vec<(Code, &str)> {
    report.diagnostics.iter().map(|f| (f.code, name_of(f))).collect()
}

fn name_of(finding: &Diagnostic) -> &str {
    finding.path.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default()
}

#[test]
fn the_order_is_that_of_the_bytes_of_paths() {
    let names = ["zeta", "Alpha", "alpha", "beta/inner", "beta-2", "10", "9"];
    let sorted = ["10", "9", "Alpha", "alpha", "beta/inner", "beta-2", "zeta"];
    let (one, other) = (Scratch::new(), Scratch::new());
    for name in names {
        one.skill(name);
    }
    for name in names.iter().rev() {
        other.skill(name);
    }
    assert_eq!(walk(&one, "").0, sorted);
    assert_eq!(walk(&other, "").0, sorted);
    assert!(walk(&one, "").1.complete);
}

#[test]
fn a_skill_is_not_searched_unless_asked() {
    let scratch = Scratch::new();
    scratch.skill("outer");
    scratch.skill("outer/sub/inner");
    assert_eq!(walk(&scratch, "").0, ["outer"]);
    let nested = WalkLimits { nested: true, ..WalkLimits::default() };
    assert_eq!(walk_with(&scratch, "", nested).0, ["outer", "outer/sub/inner"]);
    assert_eq!(walk(&scratch, "outer").0, ["outer"]);
}

#[test]
fn folders_deeper_than_the_limit_are_named_and_left() {
    let scratch = Scratch::new();
    let limit = ["d"; WALK_DEPTH_MAX - 1].join("/");
    scratch.skill(format!("{limit}/at"));
    scratch.skill("near");
    let (found, report) = walk(&scratch, "");
    assert_eq!((found.len(), report.complete, findings(&report)), (2, true, vec![]));
    scratch.skill(format!("{limit}/e/over"));
    scratch.skill(format!("{limit}/e/too"));
    let (found, report) = walk(&scratch, "");
    assert_eq!((found.len(), report.complete), (2, false));
    // One finding, however many there are.
    assert_eq!(findings(&report), [(Code::WalkDepth, "over")]);
    let deeper = WalkLimits { depth: WALK_DEPTH_MAX + 1, ..WalkLimits::default() };
    assert_eq!(walk_with(&scratch, "", deeper).0.len(), 4);
}

#[test]
fn folders_without_a_skill_are_limited() {
    let scratch = Scratch::for_many();
    // The root is one of them.
    for number in 1..WALK_DIRECTORIES_MAX {
        fs::create_dir(scratch.at(format!("{number:04}"))).unwrap();
    }
    scratch.skill("zz-skill");
    let (found, report) = walk(&scratch, "");
    assert_eq!((found, report.searched, report.complete), (vec!["zz-skill".into()], 2000, true));
    scratch.folder("9999");
    let (found, report) = walk(&scratch, "");
    assert_eq!((found, report.searched, report.complete), (vec![], 2000, false));
    assert_eq!(findings(&report), [(Code::WalkDirectories, "9999")]);
}

// A flat collection of any size is fine: skills do not count as searched folders.
#[test]
fn ten_thousand_skills_are_found() {
    let scratch = Scratch::for_many();
    for number in 0..10_000 {
        let folder = scratch.at(format!("{number:05}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), "").unwrap();
    }
    let (found, report) = walk(&scratch, "");
    assert_eq!((found.len(), report.searched, report.complete), (10_000, 1, true));
    let most = WalkLimits { skills: 10_000, ..WalkLimits::default() };
    assert!(walk_with(&scratch, "", most).1.complete);
    let fewer = WalkLimits { skills: 9_999, ..WalkLimits::default() };
    let (found, report) = walk_with(&scratch, "", fewer);
    assert_eq!((found.len(), report.complete), (9_999, false));
    assert_eq!(findings(&report), [(Code::WalkSkills, "09999")]);
}

#[test]
fn stopping_is_incomplete() {
    let scratch = Scratch::new();
    scratch.skill("a");
    scratch.skill("b");
    let report = Root::open(scratch.path()).unwrap().walk(WalkLimits::default(), &mut |_| Continue::No);
    assert_eq!((report.found, report.complete), (1, false));
}

#[test]
fn dependencies_are_pruned() {
    let scratch = Scratch::new();
    for pruned in [".git", ".hg", ".svn", "node_modules", "__pycache__"] {
        scratch.skill(format!("{pruned}/skill"));
        scratch.skill(format!("tools/{pruned}/skill"));
    }
    scratch.file("anything/pyvenv.cfg", "");
    scratch.skill("anything/lib/skill");
    scratch.skill("git/skill");
    let (found, report) = walk(&scratch, "");
    assert_eq!((found, report.complete), (vec!["git/skill".to_owned()], true));
    // One finding, which names the first. Version control is not worth one: it is everywhere.
    assert_eq!(findings(&report), [(Code::WalkPruned, "__pycache__")]);
    assert!(report.diagnostics[0].message.starts_with("5 folders"), "{:?}", report.diagnostics);
    // What the person typed is searched whatever it is called.
    assert_eq!(walk(&scratch, "node_modules").0, ["node_modules/skill"]);
    let (found, report) = walk(&scratch, "anything");
    assert_eq!((found, findings(&report)), (vec!["anything/lib/skill".to_owned()], vec![]));
    // A file of such a name hides nothing; a link to a folder may.
    let scratch = Scratch::new();
    scratch.skill("skill");
    scratch.skill(".git/skill");
    scratch.file("node_modules", "");
    assert_eq!(findings(&walk(&scratch, "").1), []);
    scratch.link("__pycache__", "skill");
    assert_eq!(findings(&walk(&scratch, "").1), [(Code::WalkPruned, "__pycache__")]);
}

// To see that a folder is a virtual environment costs a listing.
#[test]
fn virtual_environments_count_against_the_limit() {
    let scratch = Scratch::new();
    for number in 0..10 {
        scratch.file(format!("{number}/pyvenv.cfg"), "");
    }
    let at = WalkLimits { directories: 11, ..WalkLimits::default() };
    assert!(walk_with(&scratch, "", at).1.complete);
    let over = WalkLimits { directories: 10, ..WalkLimits::default() };
    let (_, report) = walk_with(&scratch, "", over);
    assert_eq!((report.searched, report.complete), (10, false));
    assert!(report.diagnostics.last().is_some_and(|finding| finding.message.starts_with("9 folders")));
}

// Nothing is dropped in silence: a skill that holds a virtual environment's file is still a skill.
#[test]
fn a_skill_that_is_a_virtual_environment_is_found() {
    let scratch = Scratch::new();
    scratch.skill("skill");
    scratch.file("skill/pyvenv.cfg", "");
    assert_eq!(walk(&scratch, "").0, ["skill"]);
}

// B1, B2: a linked skill and a linked root are found; a linked category is named.
#[test]
fn links_lead_to_skills_only() {
    let scratch = Scratch::new();
    scratch.skill("store/one");
    scratch.skill("store/category/two");
    scratch.link("root/linked", "../store/one");
    scratch.link("root/more", "../store/category");
    scratch.link("root/dangling", "gone");
    scratch.link("root/file", "linked/SKILL.md");
    scratch.link("to-root", "root");
    for root in ["root", "to-root"] {
        let (found, report) = walk(&scratch, root);
        assert_eq!((found, report.complete), (vec!["store/one".to_owned()], true));
        assert_eq!(findings(&report), [(Code::WalkLink, "dangling"), (Code::WalkLink, "more")]);
    }
}

// B4: one folder is one skill, however many links lead to it.
#[test]
fn links_to_one_skill_are_one_skill() {
    let scratch = Scratch::new();
    scratch.skill("m-real");
    for number in 0..100 {
        scratch.link(format!("a{number}"), "m-real");
        scratch.link(format!("z{number}"), "m-real");
    }
    assert_eq!(walk(&scratch, "").0, ["m-real"]);
}

#[test]
fn circles_of_links_end() {
    let scratch = Scratch::new();
    scratch.link("a/to-b", "../b");
    scratch.link("b/to-a", "../a");
    scratch.link("b/up", "..");
    scratch.link("self", "self");
    scratch.skill("skill");
    scratch.link("skill/again", "..");
    let (found, report) = walk(&scratch, "");
    assert_eq!(found, ["skill"]);
    assert_eq!(findings(&report).len(), 4, "{:?}", report.diagnostics);
    let nested = WalkLimits { nested: true, ..WalkLimits::default() };
    assert_eq!(walk_with(&scratch, "", nested).0, ["skill"]);
}

// Looking at what a link leads to costs a listing, so links count like folders.
#[test]
fn links_to_folders_count_against_the_limit() {
    let scratch = Scratch::new();
    scratch.folder("big");
    for number in 0..10 {
        scratch.link(format!("link{number}"), "big");
    }
    scratch.skill("skill");
    let at = WalkLimits { directories: 12, ..WalkLimits::default() };
    assert_eq!(walk_with(&scratch, "", at).0, ["skill"]);
    let over = WalkLimits { directories: 11, ..WalkLimits::default() };
    let (found, report) = walk_with(&scratch, "", over);
    assert_eq!((found.len(), report.searched, report.complete), (1, 11, false));
    assert_eq!(report.diagnostics.last().map(|finding| finding.code), Some(Code::WalkDirectories));
}

// To resolve a link can cost tens of thousands of steps, and only then is it known to lead to a file, or to a skill
// that was met before.
#[test]
fn every_link_counts_wherever_it_leads() {
    for target in ["file", "m-skill", "gone"] {
        let scratch = Scratch::new();
        scratch.file("file", "");
        scratch.skill("m-skill");
        for number in 0..10 {
            scratch.link(format!("link{number}"), target);
        }
        let at = WalkLimits { directories: 11, ..WalkLimits::default() };
        let (found, report) = walk_with(&scratch, "", at);
        assert_eq!((found.len(), report.searched, report.complete), (1, 11, true), "{target}");
        let over = WalkLimits { directories: 10, ..WalkLimits::default() };
        let report = walk_with(&scratch, "", over).1;
        assert_eq!((report.searched, report.complete), (10, false), "{target}");
        assert_eq!(findings(&report).last(), Some(&(Code::WalkDirectories, "link9")), "{target}");
    }
}

// Its refused twin is every other link to it: each is named, but the folder is not listed again.
#[test]
fn a_large_folder_is_listed_once_however_many_links_lead_to_it() {
    let scratch = Scratch::for_many();
    for number in 0..20_000 {
        fs::write(scratch.ready("store/large/x").with_file_name(format!("{number}")), "").unwrap();
    }
    for number in 0..WALK_DIRECTORIES_MAX - 1 {
        scratch.link(format!("root/{number}"), "../store/large");
    }
    let start = std::time::Instant::now();
    let (found, report) = walk(&scratch, "root");
    let took = start.elapsed();
    assert_eq!((found.len(), report.searched, report.complete), (0, WALK_DIRECTORIES_MAX, true));
    assert_eq!(report.diagnostics.len(), WALK_DIRECTORIES_MAX - 1);
    assert!(took < std::time::Duration::from_secs(2), "{took:?}");
}

fn project(scratch: &Scratch) -> (Vec<String>, WalkReport) {
    let root = Root::open_in_project(&scratch.at("project"), Path::new(".agents/skills")).unwrap();
    walk_of(scratch, root, WalkLimits::default())
}

// CHK-072, CHK-132: what leaves the project is refused; the twin that stays inside is followed.
#[test]
fn a_project_is_fenced() {
    let scratch = Scratch::new();
    scratch.skill("outside");
    scratch.skill("project/lib/inside");
    scratch.skill("project/.agents/skills/own");
    scratch.link("project/.agents/skills/in", "../../lib/inside");
    scratch.link("project/.agents/skills/out", "../../../outside");
    scratch.link("project/.agents/skills/out-absolute", scratch.at("outside"));
    scratch.link("project/.agents/skills/out-chain", "out");
    scratch.link("project/.agents/skills/magic", "/proc/self/cwd");
    scratch.link("project/.agents/skills/gone", "nothing");
    scratch.link("project/.agents/skills/file", "own/SKILL.md");
    let opens = Opens::of(&scratch.at("outside/SKILL.md"));
    let (found, report) = project(&scratch);
    assert_eq!(found, ["project/lib/inside", "project/.agents/skills/own"]);
    let refused = ["gone", "magic", "out", "out-absolute", "out-chain"].map(|name| (Code::WalkLink, name));
    assert_eq!(findings(&report), refused);
    assert_eq!(opens.count(), 0);
    // The same folder, typed by a person, has no fence.
    assert_eq!(walk(&scratch, "project/.agents/skills").0.len(), 3);
}

#[test]
fn a_project_root_may_not_leave_the_project() {
    let scratch = Scratch::new();
    scratch.skill("outside/skill");
    scratch.skill("project/lib/skill");
    let open = || Root::open_in_project(&scratch.at("project"), Path::new(".agents/skills"));
    assert_eq!(open().err(), Some(OpenRootError::Missing));
    scratch.link("project/.agents/skills", "../lib");
    assert_eq!(project(&scratch).0, ["project/.agents/skills/skill"]);
    for target in ["../../outside", "/", "skills"] {
        fs::remove_file(scratch.at("project/.agents/skills")).unwrap();
        scratch.link("project/.agents/skills", target);
        assert_eq!(open().err(), Some(OpenRootError::Escapes), "{target}");
    }
    fs::remove_file(scratch.at("project/.agents/skills")).unwrap();
    scratch.file("project/.agents/skills", "");
    assert_eq!(open().err(), Some(OpenRootError::Missing));
}

// Whatever SKILL.md is, the folder is reported as a skill, but for a folder of that name, which is no file.
#[test]
fn skill_md_of_any_kind_makes_a_skill() {
    let scratch = Scratch::new();
    scratch.file("a-two/SKILL.md", skill_md("a-two"));
    scratch.file("a-two/skill.md", skill_md("a-two"));
    scratch.fifo("b-fifo/SKILL.md");
    scratch.link("c-dangling/SKILL.md", "gone");
    scratch.link("d-loop/SKILL.md", "SKILL.md");
    scratch.socket("e-socket/SKILL.md");
    scratch.file("f-folder/SKILL.md/x", "");
    let opens = Opens::of(&scratch.at("b-fifo/SKILL.md"));
    let mut codes = Vec::new();
    Root::open(scratch.path()).unwrap().walk(WalkLimits::default(), &mut |folder| {
        let reading = folder.skill_md().reading(folder.directory_name());
        assert!(reading.skill.is_none());
        codes.push((folder.directory_name().to_owned(), reading.diagnostics[0].code));
        Continue::Yes
    });
    let expected = [
        ("a-two", Code::SkillMdAmbiguous),
        ("b-fifo", Code::SpecialFile),
        ("c-dangling", Code::LinkEscapes),
        ("d-loop", Code::LinkEscapes),
        ("e-socket", Code::SpecialFile),
    ];
    assert_eq!(codes, expected.map(|(name, code)| (name.to_owned(), code)));
    assert_eq!(opens.count(), 0);
}

#[test]
fn an_unreadable_folder_is_named() {
    let scratch = Scratch::new();
    scratch.skill("closed/skill");
    scratch.skill("open");
    scratch.mode("closed", 0o000);
    let (found, report) = without_privilege(|| walk(&scratch, ""));
    let root = without_privilege(|| Root::open(&scratch.at("closed")).err());
    let below = without_privilege(|| Root::open(&scratch.at("closed/skill")).err());
    scratch.mode("closed", 0o700);
    assert_eq!((found, report.complete), (vec!["open".to_owned()], false));
    assert_eq!(findings(&report), [(Code::WalkUnreadable, "closed")]);
    assert_eq!((root, below), (Some(OpenRootError::Unreadable), Some(OpenRootError::Unreadable)));
    assert_eq!(Root::open(&scratch.at("missing")).err(), Some(OpenRootError::Missing));
    assert_eq!(Root::open(&scratch.at("open/SKILL.md")).err(), Some(OpenRootError::Missing));
}
