//! Whoever comes to the socket and means no good, or nothing at all: the others are served, and nothing is decided.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::Code;
use fumehood_core::consent::State;
use fumehood_testkit::{World, as_another_user, is_root};
use serde_json::{Value, json};

use super::stand::{Stand, host, not_open, now_unix_ms, open, question_of};
use super::{approve, ids, pending};
use crate::{text, world};

const FOLDER: &str = "home/.local/share/fumehood/control";

/// The only socket.
fn socket(world: &World) -> PathBuf {
    let names = fs::read_dir(world.path(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let mut sockets = names.filter(|path| path.extension().is_some_and(|extension| extension == "sock"));
    let only = sockets.next().unwrap();
    assert!(sockets.next().is_none());
    only
}

/// What is answered to these bytes, behind which nothing comes.
fn said(world: &World, bytes: &[u8]) -> Vec<u8> {
    let mut peer = connect(socket(world)).unwrap();
    // It may have heard enough before all of it is said.
    let _ = peer.write_all(bytes).and_then(|()| peer.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = peer.read_to_end(&mut answer);
    answer
}

fn decide(id: &str, answer: &str) -> String {
    json!({"schema_version": 1, "ask": {"decide": {"id": id, "answer": answer}}}).to_string()
}

#[test]
fn half_a_line_a_huge_one_and_nonsense_decide_nothing() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let yes = decide(&id, "yes");
    let mut huge = yes.clone().into_bytes();
    huge.splice(0..0, vec![b' '; 64 << 10]);
    huge.push(b'\n');
    for silent in [b"".as_slice(), b"{", yes.as_bytes(), &huge, &vec![b'x'; 8 << 20]] {
        assert_eq!(said(&world, silent), b"", "{} bytes", silent.len());
    }
    let other = yes.replace(r#""schema_version":1"#, r#""schema_version":2"#);
    let more = yes.replace(r#""schema_version":1"#, r#""schema_version":1,"note":"x""#);
    let twice = yes.replace(r#""answer":"yes""#, r#""answer":"no","answer":"yes""#);
    for wrong in ["", "yes", "\u{0}", &other, &more, &twice, &decide(&id, "Yes"), &format!("{yes}{yes}")] {
        let answer: Value = serde_json::from_slice(&said(&world, format!("{wrong}\n").as_bytes())).unwrap();
        assert_eq!(text(&answer["reply"]["fault"]["code"]), "E_CONTROL_INVALID", "{wrong}");
    }
    for (id, code) in [(&id[..12], "E_ID_INVALID"), (&format!("ask_{}", "0".repeat(32)), "E_CONSENT_UNKNOWN")]
    {
        let answer = said(&world, format!("{}\n", decide(id, "yes")).as_bytes());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(text(&answer["reply"]["fault"]["code"]), code);
    }
    assert_eq!(
        (stand.state(&id), stand.call("a").unwrap_err().0),
        (Some(State::Pending), Code::ConsentPending)
    );

    // The twin: one whole line, and what is behind it is not looked at.
    let answer: Value = serde_json::from_slice(&said(&world, format!("{yes}\n{{").as_bytes())).unwrap();
    assert_eq!(answer, json!({"schema_version": 1, "reply": {"state": {"state": "approved"}}}));
    assert_eq!(stand.call("a"), Ok(()));
}

// Whoever says nothing is heard out for some seconds and no longer, and keeps nobody out for good.
#[test]
fn who_says_nothing_keeps_nobody_out() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let (began, place) = (Instant::now(), socket(&world));
    let mut silent: Vec<_> = (0..40).map(|_| connect(&place).unwrap()).collect();
    // One says a letter now and then.
    let mut slow = silent.pop().unwrap();
    let trickle = thread::spawn(move || {
        while slow.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    open(&world, &id).decide(fumehood::report::Answer::Once, None).unwrap();
    trickle.join().unwrap();
    for peer in &mut silent {
        // Closed, without a word.
        assert!(matches!(peer.read(&mut [0]), Ok(0) | Err(_)));
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert_eq!(stand.call("a"), Ok(()));
}

// Who gave up while the process was busy or stopped has said nothing: they were told that nobody answers.
#[test]
fn a_yes_of_who_has_gone_is_none() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let place = socket(&world);
    let say = |stays: bool| {
        // As many as are listened to at once, so that the next one waits.
        let busy: Vec<_> = (0..16).map(|_| connect(&place).unwrap()).collect();
        let mut peer = connect(&place).unwrap();
        peer.write_all(format!("{}\n", decide(&id, "yes")).as_bytes()).unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        let peer = stays.then_some(peer);
        drop(busy);
        // Whoever comes later is heard later.
        let _ = host(&world).pending();
        let mut answer = Vec::new();
        peer.map(|mut peer| peer.read_to_end(&mut answer));
        stand.state(&id)
    };
    assert_eq!(say(false), Some(State::Pending));
    assert!(matches!(say(true), Some(State::Approved(_))));
}

#[test]
fn a_hundred_at_once_are_all_answered() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let (all, place) = (Barrier::new(100), socket(&world));
    let approved: usize = thread::scope(|scope| {
        let ask = |number: usize| {
            let (all, place, id) = (&all, &place, &id);
            scope.spawn(move || {
                all.wait();
                let mut peer = connect(place).unwrap();
                let line = if number.is_multiple_of(2) { decide(id, "yes") } else { decide(id, "no") };
                peer.write_all(format!("{line}\n").as_bytes()).unwrap();
                let mut answer = String::new();
                peer.read_to_string(&mut answer).unwrap();
                let answer: Value = serde_json::from_str(&answer).unwrap();
                match answer["reply"]["fault"]["code"].as_str() {
                    None => 1,
                    Some(code) => {
                        assert_eq!(code, "E_CONSENT_DECIDED");
                        0
                    }
                }
            })
        };
        let threads: Vec<_> = (0..100).map(ask).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // CHK-015: of all of them one counts.
    assert_eq!(approved, 1);
    assert!(matches!(stand.state(&id), Some(State::Approved(_) | State::Denied)));
}

// The system says who it is: another user is not heard, even where the folder would let them in.
#[test]
fn another_user_is_refused_unread() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let (place, line) = (socket(&world), format!("{}\n", decide(&id, "yes")));
    let ask = || {
        let mut peer = connect(&place)?;
        let _ = peer.write_all(line.as_bytes());
        let mut answer = Vec::new();
        let _ = peer.read_to_end(&mut answer);
        std::io::Result::Ok(answer)
    };
    let shut = as_another_user(ask).map(|answer| answer.map_err(|error| error.kind()));
    assert_eq!(shut, is_root().then_some(Err(std::io::ErrorKind::PermissionDenied)));
    let mut folder = world.path("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    for part in FOLDER.split('/') {
        folder.push(part);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(as_another_user(ask).map(Result::unwrap), is_root().then(Vec::new));
    assert_eq!(stand.state(&id), Some(State::Pending));
    // Nor does a person talk to what is open to others.
    assert_eq!(text(&world.fault(["pending"], 3)["code"]), "E_HOME_REFUSED");
    // The twin: the user whose it is.
    assert!(String::from_utf8(ask().unwrap()).unwrap().contains("approved"));
}

#[test]
fn a_folder_that_others_could_have_made_is_not_used() {
    let spoils: [fn(&World); 3] = [
        |world| {
            world.folder("elsewhere");
            symlink(world.path("elsewhere"), world.path(FOLDER)).unwrap();
        },
        |world| {
            world.folder(FOLDER);
            world.mode(FOLDER, 0o750);
        },
        |world| drop(world.write(FOLDER, "")),
    ];
    for spoil in spoils {
        let world = world();
        drop(Stand::new(&world, "claude"));
        world.remove(FOLDER);
        spoil(&world);
        assert_eq!(text(&world.fault(["pending"], 3)["code"]), "E_HOME_REFUSED");
        let desk = host(&world).requests(|_| None).unwrap();
        let refused = host(&world).serve_desk(std::sync::Arc::new(desk)).err().unwrap();
        assert_eq!(refused.code, Code::HomeRefused);
        assert!(!world.has("elsewhere/lock"));
    }
}

// One process that hangs keeps the requests of the others from nobody, and is told of.
#[test]
fn a_process_that_hangs_is_told_of() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let _hung = by_handle(&world.path(FOLDER).join(format!("{}.sock", "0".repeat(32))), |place| {
        UnixListener::bind(place)
    })
    .unwrap();
    let report = pending(&world);
    assert_eq!((ids(&report), &report["silent_processes"]), (vec![id.as_str()], &json!(1)));
    thread::scope(|scope| {
        let named = scope.spawn(|| open(&world, &id));
        let unknown = scope.spawn(|| not_open(&world, "ask_00000000"));
        assert_eq!(named.join().unwrap().question().id, id);
        // Whether it is with that one nobody knows.
        assert_eq!(unknown.join().unwrap().code, Code::ControlSilent);
    });
}

fn connect(socket: impl AsRef<Path>) -> io::Result<UnixStream> {
    by_handle(socket.as_ref(), |place| UnixStream::connect(place))
}

/// By way of the folder's handle: an address has room for 107 bytes of a path, and the place of the tests may be deeper.
fn by_handle<T>(socket: &Path, act: impl FnOnce(&str) -> io::Result<T>) -> io::Result<T> {
    let folder = fs::File::open(socket.parent().unwrap())?;
    let name = socket.file_name().unwrap().to_str().unwrap();
    act(&format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

// STYLE 10: whoever holds a request says what it is about and why there is no answer. Nothing of that reaches a terminal as it came.
#[test]
fn what_a_holder_says_drives_no_terminal() {
    const HOSTILE: &str = "\u{1b}]0;evil\u{7}\u{202e}\u{9b}2J\nfumehood: approved";
    let world = world();
    let real = {
        let stand = Stand::new(&world, "claude");
        stand.asks("a");
        pending(&world)["requests"][0].clone()
    };
    let id = text(&real["id"]).to_owned();
    let mut listed = real.clone();
    for value in
        listed.as_object_mut().unwrap().values_mut().filter(|value| value.is_string() && **value != id)
    {
        *value = json!(HOSTILE);
    }
    let name = world.path(FOLDER).join(format!("{}.sock", "f".repeat(32)));
    let mut question = serde_json::to_value(question_of(&id, "claude", now_unix_ms())).unwrap();
    question["why"] = json!(HOSTILE);
    question["level"] = json!(HOSTILE);
    question["axes"] = json!([{"name": HOSTILE, "enforced": "not_enforced", "mechanism": HOSTILE}]);
    question["limits"] = json!([{"name": HOSTILE, "value": HOSTILE, "enforced": HOSTILE}]);
    question["environment"] = json!([{"name": HOSTILE, "value": HOSTILE}]);
    question["unsafe_controls"] = json!([HOSTILE]);
    let listener = by_handle(&name, |path| UnixListener::bind(path)).unwrap();
    thread::spawn(move || {
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            let mut asked = [0; 4096];
            let length = peer.read(&mut asked).unwrap();
            let asked = String::from_utf8_lossy(&asked[..length]);
            let reply = if asked.contains("list") {
                json!({"list": {"requests": [listed]}})
            } else if asked.contains("question") {
                json!({"question": {"question": question}})
            } else {
                json!({"fault": {"code": "E_CONSENT_STALE", "message": HOSTILE, "advice": HOSTILE, "id": HOSTILE}})
            };
            let _ = writeln!(peer, "{}", json!({"schema_version": 1, "reply": reply}));
        }
    });
    let listed = world.run(["pending"]);
    let list = listed.text();
    assert!(list.contains("evil"), "{list}");
    let (shown, answer) = approve(&world, &id, "y\n");
    assert_ne!(answer.code, Some(0));
    assert!(shown.contains("evil"), "{shown} {}", answer.errors());
    let errors = answer.errors();
    assert!(errors.contains("evil"), "{errors}");
    for said in [list, listed.errors(), shown, errors] {
        assert!(!said.contains("\u{1b}]") && !said.contains(['\u{7}', '\u{202e}', '\u{9b}']), "{said:?}");
        assert!(!said.contains("\nfumehood: approved"), "{said:?}");
    }
}
