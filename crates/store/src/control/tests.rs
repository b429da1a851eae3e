use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::thread;

use fumehood_testkit::Scratch;

use super::*;

const NONE: Duration = Duration::ZERO;
const PATIENT: Duration = Duration::from_secs(20);

fn home(folder: &Scratch, state: &str) -> Home {
    Home { config: folder.at("config"), state: folder.at(state) }
}

fn names(folder: &Scratch) -> Vec<String> {
    let names = fs::read_dir(folder.at("state/control")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != LOCK).collect()
}

/// The name that a process leaves which was killed.
fn leave_dead(folder: &Scratch, digit: char) -> PathBuf {
    let name = format!("{}{SUFFIX}", digit.to_string().repeat(32));
    let path = folder.at(format!("state/control/{name}"));
    drop(UnixListener::bind(&path).unwrap());
    path
}

#[test]
fn a_socket_is_there_as_long_as_its_process() {
    let folder = Scratch::new();
    let home = home(&folder, "state");
    assert!(Control::open_if_any(&home).unwrap().is_none());
    let control = Control::open(&home).unwrap();
    let first = control.listen().unwrap();
    let second = control.listen().unwrap();
    let mode = |below: &str| fs::symlink_metadata(folder.at(below)).unwrap().mode() & 0o7777;
    assert_eq!(mode("state/control"), 0o700);
    for name in names(&folder) {
        assert_eq!(mode(&format!("state/control/{name}")), 0o600);
    }
    let seen = Control::open_if_any(&home).unwrap().unwrap();
    let mut all = vec![first.name.clone(), second.name.clone()];
    all.sort();
    assert_eq!(seen.sockets().unwrap(), all);
    let stream = seen.connect(&first.name, NONE).unwrap().unwrap();
    // Looking for the living has connected, too.
    let mut accepted: Vec<_> = (0..3).map(|_| first.listener().accept().unwrap().0).collect();
    assert!(accepted.iter().all(is_of_caller) && is_of_caller(&stream));
    drop(stream);
    assert_eq!(accepted.pop().unwrap().read(&mut [0]).unwrap(), 0);

    drop(first);
    assert_eq!(seen.sockets().unwrap(), [second.name.as_str()]);
    drop(second);
    assert!(names(&folder).is_empty());
}

// The peer's user is the system's word, not the peer's.
#[test]
fn a_peer_of_another_user_is_none_of_ours() {
    let (stream, _other) = UnixStream::pair().unwrap();
    let own = rustix::process::geteuid();
    assert!(is_of(&stream, own));
    assert!(!is_of(&stream, Uid::from_raw(own.as_raw() ^ 1)));
}

// sun_path has room for 107 bytes.
#[test]
fn a_long_path_is_no_hindrance() {
    let folder = Scratch::new();
    let home = home(&folder, &["x".repeat(120), "y".repeat(120)].join("/"));
    let control = Control::open(&home).unwrap();
    let socket = control.listen().unwrap();
    assert!(control.connect(&socket.name, NONE).unwrap().is_some());
}

#[test]
fn names_of_the_dead_are_removed_and_nothing_else() {
    let folder = Scratch::new();
    let control = Control::open(&home(&folder, "state")).unwrap();
    let living = control.listen().unwrap();
    let dead = leave_dead(&folder, 'a');
    fs::write(folder.at("state/control/notes.sock"), b"").unwrap();
    fs::write(folder.at(format!("state/control/{}{SUFFIX}", "b".repeat(32))), b"").unwrap();
    let link = folder.at(format!("state/control/{}{SUFFIX}", "c".repeat(32)));
    symlink(folder.at(format!("state/control/{}", living.name)), &link).unwrap();
    // Somebody makes a socket just now: it could be the one that refuses.
    let lock = control.dir.lock(LOCK).unwrap();
    assert_eq!(control.sockets().unwrap().len(), 2);
    assert!(dead.symlink_metadata().is_ok());
    drop(lock);
    assert_eq!(control.sockets().unwrap(), [living.name.as_str()]);
    assert!(dead.symlink_metadata().is_err());
    assert_eq!(names(&folder).len(), 4);
    // Whoever starts removes them as well.
    let dead = leave_dead(&folder, 'd');
    let next = control.listen().unwrap();
    assert!(dead.symlink_metadata().is_err());
    // Neither a link nor a name of another form leads anywhere.
    for name in [link.file_name().unwrap().to_str().unwrap(), "../control/x.sock", "notes.sock", ""] {
        assert!(control.connect(name, NONE).unwrap().is_none(), "{name}");
    }
    assert!(control.connect(&next.name, NONE).unwrap().is_some());
}

#[test]
fn a_folder_that_is_not_ours_alone_is_refused() {
    for spoil in [
        (|folder| {
            fs::create_dir(folder.at("elsewhere")).unwrap();
            symlink("../elsewhere", folder.at("state/control")).unwrap();
        }) as fn(&Scratch),
        |folder| fs::write(folder.at("state/control"), b"").unwrap(),
        |folder| {
            fs::create_dir(folder.at("state/control")).unwrap();
            fs::set_permissions(folder.at("state/control"), fs::Permissions::from_mode(0o710)).unwrap();
        },
    ] {
        let folder = Scratch::new();
        let home = home(&folder, "state");
        home.make_state().unwrap();
        spoil(&folder);
        assert_eq!(Control::open(&home).unwrap_err(), ControlError::Refused);
        assert_eq!(Control::open_if_any(&home).unwrap_err(), ControlError::Refused);
        assert_eq!(ControlError::Refused.code(), Code::HomeRefused);
        let _ = fs::remove_file(folder.at("state/control"));
        let _ = fs::remove_dir(folder.at("state/control"));
        assert!(Control::open(&home).unwrap().sockets().unwrap().is_empty());
    }
}

#[test]
fn sixty_four_processes_hold_requests() {
    let folder = Scratch::new();
    let control = Control::open(&home(&folder, "state")).unwrap();
    let mut all: Vec<_> = (0..CONTROL_SOCKETS_MAX).map(|_| control.listen().unwrap()).collect();
    assert_eq!(control.listen().unwrap_err(), ControlError::Full);
    all.pop();
    let _last = control.listen().unwrap();
}

#[test]
fn closing_ends_the_wait_for_connections() {
    let folder = Scratch::new();
    let control = Control::open(&home(&folder, "state")).unwrap();
    let socket = control.listen().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| while socket.listener().accept().is_ok() {});
        socket.close();
        waiting.join().unwrap();
    });
    assert!(control.connect(&socket.name, NONE).unwrap().is_none());
}

// Whoever accepts nobody keeps nobody waiting for ever, and whoever is let in late is let in.
#[test]
fn a_full_queue_is_waited_for_and_not_for_ever() {
    let folder = Scratch::new();
    let control = Control::open(&home(&folder, "state")).unwrap();
    let socket = control.listen().unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        match control.connect(&socket.name, NONE) {
            Ok(stream) => waiting.push(stream.unwrap()),
            Err(error) => break error,
        }
        assert!(waiting.len() < 1000);
    };
    assert_eq!(full.code(), Code::StateUnavailable);
    // It is alive all the same.
    assert_eq!(control.sockets().unwrap(), [socket.name.as_str()]);
    thread::scope(|scope| {
        let late = scope.spawn(|| control.connect(&socket.name, PATIENT));
        let _let_in = socket.listener().accept().unwrap();
        assert!(late.join().unwrap().unwrap().is_some());
    });
}
