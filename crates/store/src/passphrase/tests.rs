use std::time::Duration;

use fumehood_testkit::Scratch;

use super::*;
use crate::home::Home;

fn typed(text: &str) -> Option<Passphrase> {
    let read = Passphrase::read(|buffer| {
        let length = text.len().min(buffer.len());
        buffer[..length].copy_from_slice(&text.as_bytes()[..length]);
        Ok::<_, ()>(length)
    });
    read.unwrap()
}

fn passphrase(text: &str) -> Passphrase {
    typed(&format!("{text}\n")).unwrap()
}

/// The cheapest there may be.
fn cheap(text: &str) -> PassphraseHash {
    PassphraseHash::with(&passphrase(text), &[7; 16], 7168, 5).unwrap()
}

fn home() -> (Scratch, Home) {
    let scratch = Scratch::new();
    let home = Home { config: scratch.at("config"), state: scratch.at("state") };
    (scratch, home)
}

fn at(home: &Home, hash: &PassphraseHash, text: &str, milliseconds: u64) -> Result<(), PassphraseError> {
    check_passphrase(home, hash, &passphrase(text), || Duration::from_millis(milliseconds))
}

#[test]
fn a_passphrase_is_one_whole_line() {
    assert!(typed(&format!("{}\n", "x".repeat(1024))).is_some());
    for none in ["", "\n", "abc", &format!("{}\n", "x".repeat(1025))] {
        assert!(typed(none).is_none(), "{}", none.len());
    }
    assert_eq!(format!("{:?}", passphrase("secret words")), "Passphrase(…)");
    assert!(passphrase("12345678").is_new(&passphrase("12345678")));
    assert!(!passphrase("1234567").is_new(&passphrase("1234567")));
    assert!(!passphrase("12345678").is_new(&passphrase("12345679")));
}

#[test]
fn a_hash_is_of_one_passphrase() {
    let hash = PassphraseHash::of(&passphrase("correct horse")).unwrap();
    assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.as_str());
    assert!(PassphraseHash::parse(hash.as_str()).as_ref() == Ok(&hash));
    assert_ne!(hash, PassphraseHash::of(&passphrase("correct horse")).unwrap());
    assert_eq!(hash.matches(&passphrase("correct horse")), Ok(true));
    for wrong in ["correct hors", "correct horse ", "Correct horse"] {
        assert_eq!(hash.matches(&passphrase(wrong)), Ok(false));
    }
    assert_eq!(format!("{hash:?}"), "PassphraseHash(…)");
}

//
#[test]
fn bounds_of_a_hash_on_both_sides() {
    let hash = cheap("x");
    let with = |old: &str, new: &str| {
        let changed = hash.as_str().replace(old, new);
        assert_ne!(changed, hash.as_str(), "{old}");
        PassphraseHash::parse(&changed).map(drop)
    };
    for (new, is_good) in [
        ("m=7168,t=5,p=2", true),
        ("m=7168,t=4,p=1", false),
        ("m=7167,t=9,p=1", false),
        ("m=35840,t=1,p=1", true),
        ("m=35839,t=1,p=1", false),
        ("m=1048576,t=4,p=1", true),
        ("m=1048576,t=5,p=1", false),
        ("m=1048577,t=1,p=1", false),
        ("m=7168,t=64,p=1", true),
        ("m=7168,t=65,p=1", false),
        ("m=7168,t=0,p=1", false),
        ("m=7168,t=5,p=16", true),
        ("m=7168,t=5,p=17", false),
        ("m=7168,t=5,p=0", false),
        ("m=07168,t=5,p=1", false),
        ("m=+7168,t=5,p=1", false),
        ("t=5,m=7168,p=1", false),
        ("m=7168,t=5,p=1,x=1", false),
        ("m=99999999999,t=5,p=1", false),
    ] {
        assert_eq!(with("m=7168,t=5,p=1", new).is_ok(), is_good, "{new}");
    }
    for (old, new) in
        [("argon2id", "argon2i"), ("v=19", "v=16"), ("$v=19", ""), ("BwcHBwcHBwcHBwcHBwcHBw", "BwcHBwc")]
    {
        assert!(with(old, new).is_err(), "{new}");
    }
    let error = PassphraseHash::parse(&format!("{}!", hash.as_str())).unwrap_err();
    assert!(!error.contains("BwcH"), "{error}");
    assert!(PassphraseHash::parse(&"$".repeat(10_000)).is_err());
    assert!(PassphraseHash::parse("correct horse").is_err());
}

#[test]
fn three_are_free_and_then_the_wait_grows() {
    let (_scratch, home) = home();
    let hash = cheap("right");
    let mut now = 1_000_000;
    for _ in 0..3 {
        assert_eq!(at(&home, &hash, "wrong", now), Err(PassphraseError::Wrong));
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
        // Also the right one is not looked at.
        assert_eq!(at(&home, &hash, "right", now), Err(PassphraseError::Wait(wait)));
        assert_eq!(passphrase_wait(&home, || Duration::from_millis(now)), Err(PassphraseError::Wait(wait)));
        assert_eq!(at(&home, &hash, "right", now + wait * 1000 - 1), Err(PassphraseError::Wait(1)));
        now += wait * 1000;
        assert_eq!(passphrase_wait(&home, || Duration::from_millis(now)), Ok(()));
        assert_eq!(at(&home, &hash, "wrong", now), Err(PassphraseError::Wrong));
    }
    // The right one ends the count.
    now += 900_000;
    assert_eq!(at(&home, &hash, "right", now), Ok(()));
    for _ in 0..3 {
        assert_eq!(at(&home, &hash, "wrong", now), Err(PassphraseError::Wrong));
    }
}

// The clock of the last start says nothing about now but that the machine was started again.
#[test]
fn a_restart_shortens_no_wait() {
    let (_scratch, home) = home();
    let hash = cheap("right");
    for n in 0..6 {
        assert_eq!(at(&home, &hash, "wrong", 9_000_000 + n * 100_000), Err(PassphraseError::Wrong));
    }
    assert_eq!(at(&home, &hash, "right", 1_000), Err(PassphraseError::Wait(7)));
    assert_eq!(at(&home, &hash, "right", 8_000), Ok(()));
}

// A try is on record before it is looked at, so whoever is killed in between has tried.
#[test]
fn a_try_is_counted_before_it_is_looked_at() {
    let (scratch, home) = home();
    let hash = cheap("right");
    let counted = || std::fs::read_to_string(scratch.at("state/passphrase-tries")).unwrap_or_default();
    assert_eq!(at(&home, &hash, "wrong", 5), Err(PassphraseError::Wrong));
    assert_eq!(counted(), "1 5\n");
    assert_eq!(at(&home, &hash, "right", 6), Ok(()));
    assert_eq!(counted(), "");
    // A count that cannot be read or written is no count of nought.
    for text in ["", "1 5", "x 5\n", "1 5 6\n", "-1 5\n"] {
        scratch.file("state/passphrase-tries", text);
        assert!(matches!(at(&home, &hash, "right", 7), Err(PassphraseError::Unusable(_))), "{text:?}");
    }
    scratch.file("state/passphrase-tries", "2 5\n");
    assert_eq!(at(&home, &hash, "right", 7), Ok(()));
}

// Whoever tries side by side has as many tries as whoever tries in turn.
#[test]
fn tries_at_once_are_counted_one_by_one() {
    let (_scratch, home) = home();
    let hash = cheap("right");
    let tries: Vec<_> = (0..8)
        .map(|_| {
            let (home, hash) = (home.clone(), hash.clone());
            std::thread::spawn(move || at(&home, &hash, "wrong", 1_000))
        })
        .collect();
    let ends: Vec<_> = tries.into_iter().map(|one| one.join().unwrap()).collect();
    let wrong = ends.iter().filter(|end| **end == Err(PassphraseError::Wrong)).count();
    assert_eq!(wrong, 3, "{ends:?}");
}

#[test]
fn a_passphrase_travels_as_digits() {
    let told = passphrase("caf\u{e9} \u{1}").to_hex();
    assert_eq!(told.as_str(), "636166c3a92001");
    let long = passphrase(&"x".repeat(Passphrase::BYTES_MAX));
    assert!(Passphrase::of_hex(&long.to_hex()).unwrap().is_new(&long));
    for none in ["", "6", "6G", "+6", "C3", "c3 ", "\u{e9}", &"61".repeat(Passphrase::BYTES_MAX + 1)] {
        assert!(Passphrase::of_hex(none).is_none(), "{none}");
    }
}
