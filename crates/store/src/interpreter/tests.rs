#![allow(clippy::unwrap_used, reason = "what is unexpected fails the test")]

use fumehood_testkit::{Scratch, is_root};

use super::*;

/// A tree that stands for `/` and in which root alone can change anything, if the test is root.
fn system() -> Scratch {
    let root = Scratch::new();
    root.file("usr/bin/tool", "#!/bin/sh\n");
    root.mode("usr/bin/tool", 0o755);
    root
}

fn found(root: &Scratch, candidate: &str) -> Result<PathBuf, (Option<PathBuf>, String)> {
    found_of(root, candidate, Owners::Root)
}

fn found_of(root: &Scratch, candidate: &str, owners: Owners) -> Result<PathBuf, (Option<PathBuf>, String)> {
    match at(root.path(), Path::new(candidate), owners) {
        Ok(program) => {
            assert_eq!(program.candidate, Path::new(candidate));
            assert_eq!(program.sha256(), Ok(Sha256::of(b"#!/bin/sh\n")));
            assert_eq!(program.is_roots_alone, is_root());
            Ok(program.path)
        }
        Err(error) => Err((error.path.clone(), error.to_string())),
    }
}

fn refused(root: &Scratch, candidate: &str) -> String {
    found(root, candidate).unwrap_err().1
}

#[test]
fn links_are_resolved_and_the_file_is_named() {
    let root = system();
    root.link("bin", "usr/bin");
    root.link("usr/bin/relative", "../../usr/./bin//tool");
    root.link("usr/bin/absolute", "/etc/alternatives/tool");
    root.link("etc/alternatives/tool", "/bin/relative");
    root.link("usr/bin/above", "../../../../usr/bin/tool");
    for candidate in ["/usr/bin/tool", "/bin/tool", "/bin/relative", "/usr/bin/absolute", "/bin/above"] {
        let path = match found(&root, candidate) {
            Ok(path) => path,
            // Nothing here is root's, but it was followed all the same.
            Err((path, _)) if !is_root() => path.unwrap(),
            Err((_, why)) => panic!("{candidate}: {why}"),
        };
        assert_eq!(path, Path::new("/usr/bin/tool"), "{candidate}");
    }
}

// A home folder, and whatever else its owner lets others pass through and not list.
#[test]
fn a_folder_that_may_only_be_entered_is_no_obstacle() {
    let root = system();
    root.mode("usr/bin", 0o311);
    let path = found_of(&root, "/usr/bin/tool", Owners::RootOrCaller);
    // For whoever removes it.
    root.mode("usr/bin", 0o755);
    assert_eq!(path.unwrap(), Path::new("/usr/bin/tool"));
}

#[test]
fn what_leads_nowhere_is_refused() {
    let root = system();
    root.link("usr/bin/dangling", "gone");
    root.link("usr/bin/round", "round");
    root.link("usr/bin/through", "tool/more");
    root.link("usr/bin/folder", "..");
    root.fifo("usr/bin/fifo");
    assert_eq!(refused(&root, "/usr/bin/dangling"), "/usr/bin/gone is not there");
    assert_eq!(refused(&root, "/usr/bin/round"), "/usr/bin/round is a link that leads on without end");
    assert_eq!(refused(&root, "/usr/bin/through"), "/usr/bin/tool is neither a program nor a folder");
    assert_eq!(refused(&root, "/usr/bin/folder"), "/usr is a folder");
    assert_eq!(refused(&root, "/usr/bin/fifo"), "/usr/bin/fifo is neither a program nor a folder");
}

#[test]
fn up_to_forty_links_are_followed() {
    let root = system();
    root.link("usr/bin/l0", "tool");
    for n in 1..=40 {
        root.link(format!("usr/bin/l{n}"), format!("l{}", n - 1));
    }
    assert!(found(&root, "/usr/bin/l39").map_or_else(|(path, _)| path.is_some(), |_| true));
    assert!(refused(&root, "/usr/bin/l40").ends_with("leads on without end"));
}

#[test]
fn what_others_can_change_is_refused_and_named() {
    if !is_root() {
        // The twin: nothing in the caller's own tree is root's.
        assert_eq!(refused(&system(), "/usr/bin/tool"), "/ does not belong to root");
        return;
    }
    let writable = "can be written by others than root";
    for (place, mode) in [("usr", 0o775), ("usr/bin", 0o777), ("usr/bin", 0o1777)] {
        let root = system();
        root.mode(place, mode);
        let (path, why) = found(&root, "/usr/bin/tool").unwrap_err();
        assert_eq!((path, why), (Some("/usr/bin/tool".into()), format!("/{place} {writable}")));
    }
    // The folder of a link decides as well: whoever can change it chooses where it leads.
    let root = system();
    root.link("opt/tool", "/usr/bin/tool");
    assert!(found(&root, "/opt/tool").is_ok());
    root.mode("opt", 0o757);
    assert_eq!(refused(&root, "/opt/tool"), format!("/opt {writable}"));
    for mode in [0o775, 0o757] {
        root.mode("usr/bin/tool", mode);
        assert_eq!(refused(&root, "/usr/bin/tool"), format!("/usr/bin/tool {writable}"));
    }
    root.mode("usr/bin/tool", 0o644);
    assert_eq!(refused(&root, "/usr/bin/tool"), "/usr/bin/tool is no program: nobody may execute it");
    root.mode("usr/bin/tool", 0o755);
    for place in ["usr/bin/tool", "usr/bin"] {
        std::os::unix::fs::chown(root.at(place), Some(65533), None).unwrap();
        assert_eq!(refused(&root, "/usr/bin/tool"), format!("/{place} does not belong to root"));
        std::os::unix::fs::chown(root.at(place), Some(0), None).unwrap();
    }
    assert!(found(&root, "/usr/bin/tool").is_ok());
}

// What the deployer names may be the caller's own; nobody else may be able to change it or what leads to it.
#[test]
fn what_is_configured_may_be_the_callers_own() {
    let root = system();
    root.link("bin", "usr/bin");
    let mine = |candidate: &str| found_of(&root, candidate, Owners::RootOrCaller).map_err(|error| error.1);
    for candidate in ["/usr/bin/tool", "/bin/tool"] {
        assert_eq!(mine(candidate), Ok("/usr/bin/tool".into()), "{candidate}");
    }
    for place in ["", "usr", "usr/bin", "usr/bin/tool"] {
        for mode in [0o775, 0o757] {
            root.mode(place, mode);
            let error = mine("/usr/bin/tool").unwrap_err();
            assert_eq!(error, format!("/{place} can be written by others than root and you"));
        }
        root.mode(place, 0o755);
        if is_root() {
            std::os::unix::fs::chown(root.at(place), Some(65533), None).unwrap();
            let error = mine("/usr/bin/tool").unwrap_err();
            assert_eq!(error, format!("/{place} belongs neither to root nor to you"));
            std::os::unix::fs::chown(root.at(place), Some(0), None).unwrap();
        }
    }
    assert!(mine("/usr/bin/tool").is_ok());
}

#[test]
fn a_file_at_the_limit_is_read_and_a_larger_one_is_not() {
    let root = Scratch::new();
    root.file("tool", vec![b'a'; PIECE_BYTES + 3]);
    let file = || Dir::open(root.path()).unwrap().open_file(b"tool").unwrap();
    let size = PIECE_BYTES as u64 + 3;
    assert_eq!(digest(&file(), size), Ok(Sha256::of(&vec![b'a'; PIECE_BYTES + 3])));
    assert_eq!(digest(&file(), size - 1), Err("is larger than 512 MiB"));
    root.sparse("tool", INTERPRETER_BYTES_MAX + 1);
    assert_eq!(digest(&file(), INTERPRETER_BYTES_MAX), Err("is larger than 512 MiB"));
    let opened = file();
    root.file("tool", "other");
    assert!(digest(&opened, u64::MAX).is_err());
}

#[test]
fn the_first_candidate_that_is_there_counts() {
    assert_eq!(Interpreter::find(&["/nowhere/sh", "/etc/passwd/sh"]), Ok(None));
    let shell = Interpreter::find(&["/nowhere/sh", "/bin/sh"]).unwrap().unwrap();
    assert_eq!(shell.candidate, Path::new("/bin/sh"));
    assert_eq!(shell.path, Path::new("/bin/sh").canonicalize().unwrap());
    // A wrong one is not passed over for a right one.
    let error = Interpreter::find(&["/etc/passwd", "/bin/sh"]).unwrap_err();
    assert_eq!(error.reason, "is no program: nobody may execute it");
}
