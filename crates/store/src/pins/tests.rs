use std::os::unix::fs::PermissionsExt as _;

use fumehood_core::{Code, Coded as _, HostPath};
use fumehood_testkit::{Scratch, is_root};

use super::*;
use crate::settings::{InterpreterSetting, Settings};

fn home(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn pins(scratch: &Scratch) -> Pins {
    Pins::open(&home(scratch))
}

fn key(text: &str) -> InterpreterKey {
    InterpreterKey::parse(text).unwrap()
}

/// An interpreter that the deployer configured.
fn at(path: &str) -> InterpreterChoice {
    let path = HostPath::parse(path).unwrap();
    let setting = InterpreterSetting { key: key("mine"), path, arguments: None };
    let settings = Settings { interpreters: vec![setting], ..Settings::default() };
    settings.interpreter(&key("mine")).unwrap()
}

fn shell() -> InterpreterChoice {
    Settings::default().interpreter(&key("sh")).unwrap()
}

fn first(pins: &Pins, choice: &InterpreterChoice) -> FoundInterpreter {
    match pins.resolve(choice).unwrap() {
        Resolution::First(found) => found,
        other => panic!("{other:?}"),
    }
}

fn same(pins: &Pins, choice: &InterpreterChoice) -> PinnedInterpreter {
    match pins.resolve(choice).unwrap() {
        Resolution::Same(pinned) => pinned,
        other => panic!("{other:?}"),
    }
}

fn text(scratch: &Scratch) -> String {
    String::from_utf8(std::fs::read(scratch.at("state/interpreters.toml")).unwrap()).unwrap()
}

/// Changes the record as somebody with an editor could.
fn edit(scratch: &Scratch, change: impl FnOnce(String) -> String) {
    scratch.file("state/interpreters.toml", change(text(scratch)));
}

#[test]
fn an_interpreter_is_pinned_on_first_use_and_is_the_same_after() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let found = first(&pins, &shell());
    let real = std::fs::canonicalize(&found.candidate).unwrap();
    assert_eq!(found.path, real.to_str().unwrap());
    assert_eq!(found.sha256, Sha256::of(&std::fs::read(&real).unwrap()));
    // A look makes nothing.
    assert!(!scratch.at("state").exists());
    let pinned = pins.pin(&found, Some("sh 1.0")).unwrap();
    assert_eq!(
        pinned.identity,
        InterpreterIdentity::of_hashed_file(&found.path, Some("sh 1.0"), found.sha256)
    );
    assert_eq!(same(&pins, &shell()), pinned);
    let pin =
        Pin { path: found.path.clone(), sha256: found.sha256.to_string(), version: Some("sh 1.0".into()) };
    assert_eq!(pins.get(&key("sh")), Ok(Some(pin)));
    assert_eq!(pins.get(&key("bash")), Ok(None));
    let mode = |path| scratch.at(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("state"), mode("state/interpreters.toml")), (0o700, 0o600));
}

// The argument for it is in the module's documentation. A planted digest shows that the file was not read.
#[test]
fn what_is_roots_alone_and_untouched_is_not_hashed_again_and_anything_else_is() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let found = first(&pins, &shell());
    pins.pin(&found, None).unwrap();
    let (real, planted) = (found.sha256.to_string(), Sha256::of(b"planted").to_string());
    edit(&scratch, |text| text.replace(&real, &planted));
    assert_eq!(same(&pins, &shell()).identity.sha256(), Sha256::of(b"planted"));
    // One nanosecond, one byte, one inode off, or nothing on record: hashed, and seen to be another file.
    let seen = found.seen.clone();
    for other in [seen.replace(' ', " 1"), format!("{seen}1"), format!("1{seen}"), String::new()] {
        edit(&scratch, |text| text.replace(&seen, &other));
        let Resolution::Changed(change) = pins.resolve(&shell()).unwrap() else { panic!("{other}") };
        assert_eq!((change.pinned.sha256.as_str(), change.found.sha256), (planted.as_str(), found.sha256));
        edit(&scratch, |_| toml::to_string(&record_file(&found, &planted, &seen)).unwrap());
    }
    // The same bytes, touched: the same, and spared from then on.
    edit(&scratch, |_| toml::to_string(&record_file(&found, &real, "")).unwrap());
    assert_eq!(same(&pins, &shell()).identity.sha256(), found.sha256);
    assert!(text(&scratch).contains(&seen), "{}", text(&scratch));
}

fn record_file(found: &FoundInterpreter, sha256: &str, seen: &str) -> File {
    let record = Record {
        key: found.key.to_string(),
        path: found.path.clone(),
        sha256: sha256.to_owned(),
        version: None,
        seen: seen.to_owned(),
    };
    File { schema_version: SCHEMA_VERSION, pins: vec![record] }
}

/// Pins over a tree of the caller's that stands for `/`, since the folders above it are open to others.
fn pins_over(scratch: &Scratch, place: &Scratch) -> Pins {
    Pins { root: place.path().to_path_buf(), ..pins(scratch) }
}

#[test]
fn changed_bytes_and_another_file_are_refused_until_repinned() {
    let (scratch, place) = (Scratch::new(), Scratch::new());
    let pins = pins_over(&scratch, &place);
    for name in ["one", "two"] {
        place.file(name, "#!/bin/sh\n");
        place.mode(name, 0o755);
    }
    place.link("tool", "one");
    let choice = at("/tool");
    let old = pins.pin(&first(&pins, &choice), Some("1")).unwrap();
    assert_eq!(same(&pins, &choice), old);

    place.file("one", "#!/bin/sh\necho\n");
    let Resolution::Changed(change) = pins.resolve(&choice).unwrap() else { panic!() };
    assert_eq!(change.code(), Code::InterpreterChanged);
    assert!(change.to_string().contains("has other bytes"), "{change}");
    assert_eq!(change.pinned.sha256, Sha256::of(b"#!/bin/sh\n").to_string());
    let before = text(&scratch);
    let error = pins.pin(&change.found, None).unwrap_err();
    assert_eq!((error.code(), text(&scratch)), (Code::InterpreterChanged, before));

    let new = pins.repin(&change.found, Some("2")).unwrap();
    assert_eq!(new.identity.sha256(), Sha256::of(b"#!/bin/sh\necho\n"));
    assert_eq!(same(&pins, &choice), new);
    assert_eq!(new.identity.version(), Some("2"));

    // Back to the old bytes is a change as well, and so is another file with the same bytes.
    place.file("one", "#!/bin/sh\n");
    assert!(matches!(pins.resolve(&choice).unwrap(), Resolution::Changed(_)));
    place.file("one", "#!/bin/sh\necho\n");
    assert_eq!(same(&pins, &choice), new);
    std::fs::remove_file(place.at("tool")).unwrap();
    place.link("tool", "two");
    place.file("two", "#!/bin/sh\necho\n");
    let Resolution::Changed(change) = pins.resolve(&choice).unwrap() else { panic!() };
    assert!(change.to_string().contains("was pinned to"), "{change}");
}

// A file of the caller's is hashed each time: whoever can write it can write it back.
#[test]
fn a_file_that_is_not_roots_alone_is_hashed_each_time() {
    if is_root() {
        // The twin: everything here is root's, and spared, as the test above shows.
        return;
    }
    let (scratch, place) = (Scratch::new(), Scratch::new());
    let pins = pins_over(&scratch, &place);
    place.file("tool", "#!/bin/sh\n");
    place.mode("tool", 0o755);
    let found = first(&pins, &at("/tool"));
    assert_eq!(found.seen, "");
    pins.pin(&found, None).unwrap();
    edit(&scratch, |text| text.replace(&found.sha256.to_string(), &Sha256::of(b"planted").to_string()));
    assert!(matches!(pins.resolve(&at("/tool")).unwrap(), Resolution::Changed(_)));
}

#[test]
fn another_process_that_pinned_meanwhile_is_as_good_if_it_found_the_same() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let found = first(&pins, &shell());
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let (pins, found) = (pins.clone(), found.clone());
            std::thread::spawn(move || pins.pin(&found, Some(&number.to_string())).unwrap())
        })
        .collect();
    let all: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    // Whoever was first named the version, and everybody got that one.
    assert!(all.iter().all(|pinned| *pinned == all[0]));
    assert_eq!(same(&pins, &shell()), all[0]);
    assert_eq!(text(&scratch).matches("[[pins]]").count(), 1);
    let other = FoundInterpreter { sha256: Sha256::of(b"other"), ..found };
    assert_eq!(pins.pin(&other, None).unwrap_err().code(), Code::InterpreterChanged);
}

#[test]
fn many_keys_at_once_lose_nothing() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let found = first(&pins, &shell());
    let of = |n: usize| FoundInterpreter { key: key(&format!("k{n}")), ..found.clone() };
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (pins, found) = (&pins, of(n));
            scope.spawn(move || pins.pin(&found, None).unwrap());
        }
    });
    for n in 16..PINS_MAX {
        pins.pin(&of(n), None).unwrap();
    }
    assert!((0..PINS_MAX).all(|n| pins.get(&key(&format!("k{n}"))).unwrap().is_some()));
    assert_eq!(pins.pin(&of(PINS_MAX), None), Err(PinError::Full));
    // One that is there is no more.
    assert!(pins.repin(&of(0), None).is_ok());
}

#[test]
fn a_version_is_cut_and_hidden_characters_stay_in_the_file_as_escapes() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let version = format!("\u{1b}[2J\u{202e}\"\n{}", "v".repeat(VERSION_CHARS_MAX));
    let pinned = pins.pin(&first(&pins, &shell()), Some(&version)).unwrap();
    let kept: String = version.chars().take(VERSION_CHARS_MAX).collect();
    assert_eq!(pinned.identity.version(), Some(kept.as_str()));
    assert_eq!(same(&pins, &shell()), pinned);
}

// EXE-61
#[test]
fn what_is_not_there_or_not_fit_has_its_code() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let code = |path: &str| pins.resolve(&at(path)).unwrap_err().code();
    assert_eq!(code("/nowhere/python"), Code::InterpreterUnknown);
    assert_eq!(code("/etc/passwd"), Code::InterpreterRefused);
    assert_eq!(code("/usr"), Code::InterpreterRefused);
    scratch.file("open/tool", "#!/bin/sh\n");
    scratch.mode("open/tool", 0o755);
    scratch.mode("open", 0o777);
    let error = pins.resolve(&at(scratch.at("open/tool").to_str().unwrap())).unwrap_err();
    assert_eq!(error.code(), Code::InterpreterRefused);
    assert!(error.to_string().contains("can be written by others"), "{error}");
}

#[test]
fn a_hostile_record_stops_everything() {
    let scratch = Scratch::new();
    let pins = pins(&scratch);
    let found = first(&pins, &shell());
    pins.pin(&found, None).unwrap();
    let good = text(&scratch);
    let again = good[good.find("[[pins]]").unwrap()..].to_owned();
    for bad in [
        String::new(),
        "\u{0}".to_owned(),
        good.replace("schema_version = 1", "schema_version = 2"),
        good.replace("[[pins]]", "[[pins]]\nmore = 1"),
        good.replace("sh\"", "SH\""),
        good.replace(&found.sha256.to_string(), &found.sha256.to_string().to_uppercase()),
        good.replace(&format!("\"{}", found.path), "\"relative"),
        format!("{good}{again}"),
        format!("{good}version = \"{}\"\n", "v".repeat(VERSION_CHARS_MAX + 1)),
        format!("{good}#{}", "x".repeat(FILE_BYTES_MAX)),
    ] {
        assert_ne!(bad, good);
        scratch.file("state/interpreters.toml", &bad);
        for error in [pins.resolve(&shell()).unwrap_err(), pins.pin(&found, None).unwrap_err()] {
            assert_eq!(error.code(), Code::StateUnavailable, "{bad}");
        }
        assert_eq!(text(&scratch), bad, "it is not written over");
    }
    scratch.file("state/interpreters.toml", &good);
    assert!(pins.get(&key("sh")).unwrap().is_some());
    scratch.mode("state/interpreters.toml", 0o622);
    assert!(pins.get(&key("sh")).is_err());
    scratch.mode("state/interpreters.toml", 0o600);
    let link = || scratch.link("state/interpreters.toml", "/etc/passwd");
    let fifo = || scratch.fifo("state/interpreters.toml");
    for put in [&link as &dyn Fn() -> PathBuf, &fifo] {
        std::fs::remove_file(scratch.at("state/interpreters.toml")).unwrap();
        put();
        assert_eq!(pins.get(&key("sh")).unwrap_err().code(), Code::StateUnavailable);
    }
    scratch.mode("state", 0o750);
    assert_eq!(pins.get(&key("sh")).unwrap_err().code(), Code::HomeRefused);
}
