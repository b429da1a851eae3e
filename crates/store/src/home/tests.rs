use std::fs;

use fumehood_testkit::{Scratch, is_root};

use super::*;
use crate::settings::Settings;
use crate::source::{Source, SourceKind};

fn around(home: Option<PathBuf>, fumehood_home: Option<PathBuf>, current: PathBuf) -> Surroundings {
    Surroundings { home, fumehood_home, current }
}

fn reason(surroundings: &Surroundings) -> &'static str {
    match Home::find(surroundings) {
        Err(HomeError::Refused { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn folders_lie_below_home() {
    let home = Home::find(&around(Some("/h".into()), None, "/w".into())).unwrap();
    assert_eq!(home.config, Path::new("/h/.config/fumehood"));
    assert_eq!(home.state, Path::new("/h/.local/share/fumehood"));
}

#[test]
fn a_home_that_is_no_absolute_path_is_none() {
    for home in [None, Some("".into()), Some(".".into()), Some("relative/home".into())] {
        let surroundings = around(home, None, "/w".into());
        assert_eq!(Home::find(&surroundings), Err(HomeError::Unknown), "{surroundings:?}");
    }
}

#[test]
fn fumehood_home_replaces_both_if_it_is_private() {
    let scratch = Scratch::new();
    scratch.folder("own");
    scratch.folder("work");
    scratch.file("file", "");
    scratch.link("link", "own");
    scratch.mode("file", 0o700);
    let given = |path: PathBuf| around(Some("/h".into()), Some(path), scratch.at("work"));
    for mode in [0o700, 0o500] {
        scratch.mode("own", mode);
        for name in ["own", "link"] {
            let home = Home::find(&given(scratch.at(name))).unwrap();
            assert_eq!((home.config, home.state), (scratch.at("own"), scratch.at("own")));
        }
    }
    for mode in [0o701, 0o710, 0o750, 0o755, 0o777, 0o1777] {
        scratch.mode("own", mode);
        assert!(reason(&given(scratch.at("own"))).contains("open to others"), "{mode:o}");
    }
    assert!(reason(&given("own".into())).contains("absolute"));
    assert!(reason(&given(scratch.at("gone"))).contains("does not exist"));
    assert!(reason(&given(scratch.at("file"))).contains("not a folder"));
    let others = if is_root() {
        scratch.mode("own", 0o700);
        std::os::unix::fs::chown(scratch.at("own"), Some(65534), None).unwrap();
        scratch.at("own")
    } else {
        // Root's, and there is one everywhere.
        PathBuf::from("/")
    };
    assert!(reason(&given(others)).contains("somebody else"));
}

#[test]
fn fumehood_home_lies_outside_the_project() {
    let scratch = Scratch::new();
    scratch.folder("repository/.git");
    scratch.folder("repository/deep/below");
    for own in ["repository/own", "beside", "repository-2", "plain/own"] {
        scratch.folder(own);
        scratch.mode(own, 0o700);
    }
    let given = |own: &str, current: &str| around(None, Some(scratch.at(own)), scratch.at(current));
    assert!(reason(&given("repository/own", "repository/deep/below")).contains("project"));
    assert!(reason(&given("plain/own", "plain")).contains("project"));
    assert!(Home::find(&given("beside", "repository/deep/below")).is_ok());
    assert!(Home::find(&given("repository-2", "repository")).is_ok());
    assert!(Home::find(&given("plain/own", "beside")).is_ok());
    // In the home folder, and in `/`, a person works in no project.
    let own = Some(scratch.at("plain/own"));
    assert!(Home::find(&around(Some(scratch.at("plain")), own.clone(), scratch.at("plain"))).is_ok());
    assert!(Home::find(&around(None, own, "/".into())).is_ok());
}

// B10: the root of a linked worktree holds a file called .git.
#[test]
fn a_project_is_the_nearest_folder_with_git() {
    let scratch = Scratch::new();
    scratch.folder("main/.git");
    scratch.folder("main/src/deep");
    scratch.file("main/tree/.git", "gitdir: ../.git/worktrees/tree");
    scratch.folder("main/tree/src");
    scratch.folder("dangling/src");
    scratch.link("dangling/.git", "gone");
    scratch.folder("plain/src");
    let cases = [
        ("main/src/deep", "main"),
        ("main", "main"),
        ("main/tree/src", "main/tree"),
        ("dangling/src", "dangling"),
        ("plain/src", "plain/src"),
    ];
    for (current, project) in cases {
        assert_eq!(project_of(&scratch.at(current)), scratch.at(project), "{current}");
        let surroundings = around(None, None, scratch.at(current));
        assert_eq!(surroundings.project(), Some(scratch.at(project)).as_deref());
    }
}

fn conventional(surroundings: &Surroundings) -> Vec<(String, PathBuf)> {
    let sources = Source::conventional(&Settings::default(), surroundings, |_| false);
    sources.into_iter().map(|source| (source.label, source.path)).collect()
}

#[test]
fn conventional_sources_are_the_persons_then_the_projects() {
    let scratch = Scratch::new();
    scratch.folder("project/.git");
    let home = scratch.folder("home");
    let current = scratch.folder("project/src");
    let surroundings = around(Some(home), None, current);
    let expected = [
        ("user-agents", "home/.agents/skills"),
        ("user-claude", "home/.claude/skills"),
        ("project-agents", "project/.agents/skills"),
        ("project-claude", "project/.claude/skills"),
    ];
    assert_eq!(
        conventional(&surroundings),
        expected.map(|(label, path)| (label.to_owned(), scratch.at(path)))
    );
    let trusted =
        Source::conventional(&Settings::default(), &surroundings, |project| project == scratch.at("project"));
    let inert: Vec<_> = trusted.iter().map(Source::is_inert).collect();
    assert_eq!(inert, [false; 4]);
    assert!(matches!(trusted[2].kind, SourceKind::Project { trusted: true, .. }));
}

#[test]
fn the_home_folder_is_no_project() {
    let scratch = Scratch::new();
    let home = scratch.folder("home");
    scratch.folder("home/.git");
    scratch.folder("home/docs");
    scratch.link("home-link", "home");
    for (home, current) in [(&home, "home"), (&home, "home/docs"), (&scratch.at("home-link"), "home")] {
        let sources = conventional(&around(Some(home.clone()), None, scratch.at(current)));
        assert_eq!(sources.len(), 2, "{current}");
        assert!(sources.iter().all(|(label, _)| label.starts_with("user-")));
    }
    assert_eq!(conventional(&around(Some(home), None, scratch.path().into())).len(), 4);
}

// A relative HOME would make folders of the current project those of the person, which need no trust.
#[test]
fn a_relative_home_gives_no_sources_of_a_person() {
    let scratch = Scratch::new();
    scratch.folder("project/.git");
    for home in ["", ".", "sub"] {
        let sources = conventional(&around(Some(home.into()), None, scratch.at("project")));
        assert!(sources.iter().all(|(label, _)| label.starts_with("project-")), "{home:?} {sources:?}");
    }
}

#[test]
fn the_state_folder_is_made_private() {
    let scratch = Scratch::new();
    let home = Home { config: scratch.at("c"), state: scratch.at("deep/state") };
    home.make_state().unwrap();
    assert_eq!(fs::metadata(&home.state).unwrap().mode() & 0o7777, 0o700);
    home.make_state().unwrap();
    scratch.mode("deep/state", 0o755);
    assert!(matches!(home.make_state(), Err(HomeError::Refused { .. })));
    let blocked = Home { config: scratch.at("c"), state: scratch.file("file", "").join("state") };
    assert!(matches!(blocked.make_state(), Err(HomeError::Refused { reason: "cannot be made", .. })));
}

#[test]
fn folders_of_ours_are_looked_at_and_left_alone() {
    let scratch = Scratch::new();
    let home = Home { config: scratch.at("config"), state: scratch.at("state") };
    let statuses = || (home.look_at_config().status, home.look_at_state().status);
    assert_eq!(statuses(), (FolderStatus::Absent, FolderStatus::Absent));
    assert_eq!((home.look_at_state().owner, home.look_at_state().mode), (None, None));
    assert!(!home.state.exists(), "a look makes nothing");
    scratch.folder("config");
    scratch.folder("state");
    let with = |mode| {
        scratch.mode("config", mode);
        scratch.mode("state", mode);
        assert_eq!((home.look_at_config().mode, home.look_at_state().mode), (Some(mode), Some(mode)));
        assert_eq!(home.look_at_state().owner, Some(caller()));
        statuses()
    };
    let (written, open) = ("can be written by others; set its mode to 0700", OPEN);
    assert_eq!(with(0o700), (FolderStatus::Private, FolderStatus::Private));
    assert_eq!(with(0o755), (FolderStatus::Visible, FolderStatus::Refused(open)));
    assert_eq!(with(0o701), (FolderStatus::Visible, FolderStatus::Refused(open)));
    assert_eq!(with(0o720), (FolderStatus::Refused(written), FolderStatus::Refused(open)));
    assert_eq!(with(0o1777), (FolderStatus::Refused(written), FolderStatus::Refused(open)));
    scratch.file("file", "");
    let file = Home { config: scratch.at("file"), state: scratch.at("file/below") };
    assert_eq!(file.look_at_config().status, FolderStatus::Refused("is not a folder"));
    assert_eq!(file.look_at_state().status, FolderStatus::Refused("cannot be read"));
    // Root's, seen by somebody else: settings for everybody are believed, a place for state is not.
    if !is_root() {
        let theirs = Home { config: "/usr".into(), state: "/usr".into() };
        assert_eq!(theirs.look_at_config().status, FolderStatus::Visible);
        assert_eq!(theirs.look_at_state().status, FolderStatus::Refused("belongs to somebody else"));
    }
}

const OPEN: &str = "is open to others; set its mode to 0700";
