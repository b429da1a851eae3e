use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use fumehood_testkit::{Opens, Scratch, is_root};

use super::*;

fn home_of(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn trusts(home: &Home, project: &Path) -> bool {
    TrustedProjects::read(home).unwrap().contains(project)
}

fn record_file(scratch: &Scratch) -> PathBuf {
    scratch.at("state").join(FILE_NAME)
}

fn own(home: &Home) -> OwnDir {
    OwnDir::open(&home.state).unwrap()
}

#[test]
fn a_project_is_trusted_until_it_is_not() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let (one, two) = (scratch.folder("one"), scratch.folder("two"));
    assert!(!trusts(&home, &one));
    assert_eq!(TrustedProjects::set(&home, &one, true), Ok(true));
    assert_eq!(TrustedProjects::set(&home, &one, true), Ok(false));
    assert_eq!((trusts(&home, &one), trusts(&home, &two)), (true, false));
    scratch.link("link", "one");
    assert!(trusts(&home, &scratch.at("link")), "a link to the folder is the folder");
    assert!(!trusts(&home, scratch.path()) && !trusts(&home, &scratch.at("gone")));
    assert_eq!(TrustedProjects::set(&home, &two, false), Ok(false));
    assert_eq!(TrustedProjects::set(&home, &one, false), Ok(true));
    assert!(!trusts(&home, &one));
}

// The file system of this very test may give the new folder the number of the old one; the time of birth differs.
#[test]
fn another_folder_at_the_same_path_is_not_trusted() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    fs::remove_dir(&project).unwrap();
    // The clock of file times ticks every few milliseconds.
    std::thread::sleep(Duration::from_millis(30));
    scratch.folder("project");
    assert!(!trusts(&home, &project));
    // Trusting it replaces the record of the old one.
    TrustedProjects::set(&home, &project, true).unwrap();
    assert!(trusts(&home, &project));
    assert_eq!(TrustedProjects::read(&home).unwrap().records.len(), 1);

    scratch.folder("other");
    fs::rename(&project, scratch.at("moved")).unwrap();
    fs::rename(scratch.at("other"), &project).unwrap();
    assert!(!trusts(&home, &project) && !trusts(&home, &scratch.at("moved")));
}

#[test]
fn a_project_that_is_gone_can_be_forgotten() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    fs::remove_dir(&project).unwrap();
    assert_eq!(TrustedProjects::set(&home, &project, false), Ok(true));
    assert!(TrustedProjects::read(&home).unwrap().records.is_empty());
    assert!(matches!(TrustedProjects::set(&home, &project, true), Err(TrustError::Project(_))));
    assert!(matches!(TrustedProjects::set(&home, Path::new("gone"), false), Err(TrustError::Project(_))));
}

#[test]
fn files_are_private() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(scratch.at("state")), 0o700);
    assert_eq!((mode(record_file(&scratch)), mode(scratch.at("state/lock"))), (0o600, 0o600));
    let names: Vec<_> = fs::read_dir(scratch.at("state")).unwrap().collect();
    assert_eq!(names.len(), 2, "nothing temporary is left");
}

// What cannot be believed is an error, which callers treat as "no project is trusted", and is not overwritten.
#[test]
fn a_corrupted_record_fails_closed() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    let good = fs::read_to_string(record_file(&scratch)).unwrap();
    let bad = [
        String::new(),
        "schema_version = 2\n".to_owned(),
        "nonsense".to_owned(),
        good.replace("identity", "id"),
        format!("{good}extra = 1\n"),
        good[..good.len() - 3].to_owned(),
        good.replace("schema_version = 1", ""),
        // Cut at the bound, this would be a list without its last project.
        format!("{good}{}", "#".repeat(usize::try_from(FILE_BYTES_MAX).unwrap())),
    ];
    for text in bad {
        fs::write(record_file(&scratch), &text).unwrap();
        let read = TrustedProjects::read(&home);
        assert!(matches!(read, Err(TrustError::Unusable(_))), "{text:.80}: {read:?}");
        assert!(TrustedProjects::set(&home, scratch.path(), true).is_err());
        assert_eq!(fs::read_to_string(record_file(&scratch)).unwrap(), text);
    }
    fs::write(record_file(&scratch), b"\xff").unwrap();
    assert!(TrustedProjects::read(&home).is_err());
    fs::write(record_file(&scratch), good).unwrap();
    assert!(trusts(&home, &project));
}

// In a folder that others can write, the file could be anything, and is not even opened.
#[test]
fn a_state_folder_open_to_others_is_not_believed() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    for mode in [0o755, 0o770, 0o707] {
        scratch.mode("state", mode);
        let opens = Opens::of(&record_file(&scratch));
        assert!(matches!(TrustedProjects::read(&home), Err(TrustError::Home(_))), "{mode:o}");
        assert!(matches!(TrustedProjects::set(&home, &project, false), Err(TrustError::Home(_))));
        assert_eq!(opens.count(), 0);
    }
    scratch.mode("state", 0o700);
    assert!(trusts(&home, &project));
    // With nothing in it there is nothing to believe.
    fs::remove_file(record_file(&scratch)).unwrap();
    scratch.mode("state", 0o755);
    assert!(!trusts(&home, &project));
}

// What fumehood wrote is a regular file of the caller's; anything else was put there.
#[test]
fn a_record_that_is_no_file_of_the_callers_is_not_believed() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    TrustedProjects::set(&home, &project, true).unwrap();
    let record = record_file(&scratch);
    let refused = || matches!(TrustedProjects::read(&home), Err(TrustError::Unusable(_)));
    if is_root() {
        std::os::unix::fs::chown(&record, Some(65534), None).unwrap();
        assert!(refused());
        std::os::unix::fs::chown(&record, Some(0), None).unwrap();
    }
    assert!(trusts(&home, &project));
    fs::rename(&record, scratch.at("elsewhere")).unwrap();
    scratch.link(&record, scratch.at("elsewhere"));
    assert!(refused());
    fs::remove_file(&record).unwrap();
    // It would hold every command until somebody writes into it.
    scratch.fifo(&record);
    assert!(refused());
}

// A link at the name of the temporary file is removed, not written through.
#[test]
fn a_link_at_the_temporary_name_is_not_followed() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let project = scratch.folder("project");
    home.make_state().unwrap();
    let victim = scratch.file("victim", "precious");
    scratch.link("state/trusted-projects.toml.new", &victim);
    TrustedProjects::set(&home, &project, true).unwrap();
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    assert!(trusts(&home, &project));
    // Nor does a file left open to others by a crash stay so.
    scratch.file("state/trusted-projects.toml.new", "");
    scratch.mode("state/trusted-projects.toml.new", 0o666);
    TrustedProjects::set(&home, &project, false).unwrap();
    assert_eq!(fs::metadata(record_file(&scratch)).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn changes_at_once_lose_nothing() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let projects: Vec<_> = (0..16).map(|number| scratch.folder(format!("p{number}"))).collect();
    std::thread::scope(|scope| {
        for part in projects.chunks(2) {
            let home = &home;
            scope.spawn(move || {
                for project in part {
                    assert_eq!(TrustedProjects::set(home, project, true), Ok(true));
                }
            });
        }
    });
    assert!(projects.iter().all(|project| trusts(&home, project)));
    std::thread::scope(|scope| {
        for pair in projects.chunks(2) {
            let home = &home;
            scope.spawn(move || {
                assert_eq!(TrustedProjects::set(home, &pair[0], true), Ok(false));
                assert_eq!(TrustedProjects::set(home, &pair[1], false), Ok(true));
            });
        }
    });
    let left: Vec<_> = projects.iter().map(|project| trusts(&home, project)).collect();
    let expected: Vec<_> = (0..16).map(|number| number % 2 == 0).collect();
    assert_eq!(left, expected);
}

#[test]
fn projects_are_limited() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    home.make_state().unwrap();
    let record = |number| Record { path: format!("/p{number}"), identity: "1:2".to_owned() };
    TrustedProjects { records: (0..PROJECTS_MAX - 1).map(record).collect() }.write(&own(&home)).unwrap();
    let (last, over) = (scratch.folder("last"), scratch.folder("over"));
    assert_eq!(TrustedProjects::set(&home, &last, true), Ok(true));
    assert_eq!(TrustedProjects::set(&home, &over, true), Err(TrustError::Full));
    assert_eq!((trusts(&home, &last), trusts(&home, &over)), (true, false));
    assert_eq!(TrustedProjects::set(&home, Path::new("/p0"), false), Ok(true));
    assert_eq!(TrustedProjects::set(&home, &over, true), Ok(true));
}

// What is written can be read again: paths so long that the file would be refused are refused first.
#[test]
fn long_paths_do_not_spoil_the_record() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    home.make_state().unwrap();
    let record = |path: String| Record { path, identity: "1:2".to_owned() };
    let long = "/long".repeat(1000);
    let records: Vec<_> = (0..PROJECTS_MAX).map(|number| record(format!("{long}{number}"))).collect();
    assert_eq!(TrustedProjects { records }.write(&own(&home)), Err(TrustError::Full));
    assert!(!record_file(&scratch).exists());
}
