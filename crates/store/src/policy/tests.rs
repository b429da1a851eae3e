use fumehood_core::policy::Mode;
use fumehood_testkit::Scratch;

use super::*;

fn home_of(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn read_in(scratch: &Scratch, text: impl AsRef<[u8]>) -> PolicyFile {
    scratch.file("config/policy.toml", text);
    scratch.mode("config/policy.toml", 0o600);
    scratch.mode("config", 0o700);
    PolicyFile::read(&home_of(scratch))
}

fn refused(text: &str) -> PolicyError {
    let file = read_in(&Scratch::new(), text);
    assert_eq!(file.policy, Policy::blocked(), "{text}");
    file.error().unwrap_or_else(|| panic!("{text}")).clone()
}

// CHK-029
#[test]
fn a_missing_file_asks_and_an_empty_one_too() {
    let file = PolicyFile::read(&home_of(&Scratch::new()));
    assert_eq!((file.policy, file.state), (Policy::default(), PolicyState::Absent));
    let file = read_in(&Scratch::new(), "");
    assert_eq!((file.policy, file.state), (Policy::default(), PolicyState::Read));
}

// CHK-029, CHK-154: whatever is wrong, nothing runs, and the place is said.
#[test]
fn a_malformed_file_blocks_and_says_where() {
    for (text, place, message) in [
        ("mode = \"ask\"\nmood = 1\n", (2, 1), "unknown field `mood`"),
        ("mode = \"ask\"\nmode = \"ask\"\n", (2, 1), "the key mode is there twice"),
        ("mode = \"ask\n", (1, 12), "invalid basic string"),
        ("\n\n  mode = \"open\"\n", (3, 10), "mode: \"open\" is none of ask, blocked, trusted, workflow"),
        ("# ü\n[[rule]]\nname = \"a\"\n", (2, 1), "rule \"a\": it needs exactly one of deny, ask and allow"),
        (
            "[[rule]]\nname = \"ok\"\ndeny = {}\n\n[[rule]]\nname = \"b\"\ndeny = { tier = \"3\" }\n",
            (5, 1),
            "rule \"b\": deny.tier: \"3\" is none of remote",
        ),
        (
            "[[rule]]\nname = \"a\"\ndeny = {}\n[[rule]]\nname = \"a\"\ndeny = {}\n",
            (4, 1),
            "two rules have this name",
        ),
        ("[surfaces]\npage = [\"x\"]\n", (1, 1), "surfaces.page: \"x\" is none of once, revision"),
        (
            "[[case]]\nname = \"c\"\nexpect = \"ask\"\nfacts = { tier = \"x\" }\n",
            (1, 1),
            "case \"c\": facts.tier",
        ),
    ] {
        let error = refused(text);
        assert_eq!((error.place, error.code), (Some(place), Code::PolicyInvalid), "{text}: {error}");
        assert!(error.message.contains(message), "{error}");
        let (line, column) = place;
        assert!(
            error.to_string().contains(&format!("policy.toml: line {line}, column {column}: ")),
            "{error}"
        );
    }
    // What stands in the file is shown as safe text.
    let error = refused("[[rule]]\nname = \"a\\u001b[2Jb\"\ndeny = {}\n");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
}

// CHK-044, CHK-051: only what nobody else could have written is believed, and nothing else is taken for no file.
#[test]
fn a_file_of_others_blocks() {
    let scratch = Scratch::new();
    let code = |scratch: &Scratch| {
        let file = PolicyFile::read(&home_of(scratch));
        assert_eq!(file.policy, Policy::blocked());
        file.error().unwrap().code
    };
    read_in(&scratch, "mode = \"trusted\"\n");
    let mode = |scratch: &Scratch| PolicyFile::read(&home_of(scratch)).policy.mode();
    assert_eq!(mode(&scratch), Mode::Trusted);
    for bits in [0o620, 0o602, 0o666] {
        scratch.mode("config/policy.toml", bits);
        assert_eq!(code(&scratch), Code::HomeRefused, "{bits:o}");
    }
    scratch.mode("config/policy.toml", 0o600);
    for bits in [0o720, 0o702] {
        scratch.mode("config", bits);
        assert_eq!(code(&scratch), Code::HomeRefused, "{bits:o}");
    }
    scratch.mode("config", 0o700);
    assert_eq!(mode(&scratch), Mode::Trusted);
    std::fs::remove_file(scratch.at("config/policy.toml")).unwrap();
    scratch.link("config/policy.toml", scratch.at("nothing"));
    assert_eq!(code(&scratch), Code::StateUnavailable);
    std::fs::remove_file(scratch.at("config/policy.toml")).unwrap();
    scratch.folder("config/policy.toml");
    assert_eq!(code(&scratch), Code::PolicyInvalid);
    std::fs::remove_dir(scratch.at("config/policy.toml")).unwrap();
    scratch.fifo("config/policy.toml");
    assert_eq!(code(&scratch), Code::PolicyInvalid);
}

// each limit, and what is just within it.
#[test]
fn the_file_has_limits() {
    let scratch = Scratch::new();
    let max = usize::try_from(PolicyFile::BYTES_MAX).unwrap();
    let padded = |bytes: usize| format!("#{}\n", "x".repeat(bytes - 2));
    assert_eq!(read_in(&scratch, padded(max)).state, PolicyState::Read);
    let error = read_in(&scratch, padded(max + 1));
    assert!(error.error().unwrap().message.contains("larger than 1024 KiB"));
    assert!(read_in(&scratch, b"\xff").error().is_some());
    let rules = |count: usize| {
        (0..count).fold(String::new(), |text, n| text + &format!("[[rule]]\nname = \"{n}\"\ndeny = {{}}\n"))
    };
    assert_eq!(read_in(&scratch, rules(1024)).policy.rules().len(), 1024);
    assert!(read_in(&scratch, rules(1025)).error().unwrap().message.contains("more than 1024 rules"));
    let cases = |count: usize| "[[case]]\nname = \"c\"\nexpect = \"ask\"\nfacts = {}\n".repeat(count);
    assert_eq!(read_in(&scratch, cases(PolicyFile::CASES_MAX)).cases.len(), PolicyFile::CASES_MAX);
    assert!(read_in(&scratch, cases(PolicyFile::CASES_MAX + 1)).error().is_some());
}

// A place behind a link would match no real path, and whoever could turn the link would choose what it matches.
#[test]
fn a_place_behind_a_link_is_refused() {
    let scratch = Scratch::new();
    let real = scratch.folder("real");
    let real = std::fs::canonicalize(real).unwrap();
    let link = scratch.link("link", &real);
    let rule = |path: &std::path::Path| {
        format!("[[rule]]\nname = \"a\"\ndeny = {{ workspace = \"{}\" }}\n", path.display())
    };
    assert_eq!(read_in(&scratch, rule(&real)).state, PolicyState::Read);
    let file = read_in(&scratch, rule(&link));
    assert!(file.error().unwrap().message.contains("leads through a link"), "{:?}", file.state);
}

// CHK-048, CHK-154: the next read sees what was changed.
#[test]
fn every_read_is_fresh() {
    let scratch = Scratch::new();
    assert_eq!(read_in(&scratch, "mode = \"trusted\"\n").policy.mode(), Mode::Trusted);
    assert_eq!(read_in(&scratch, "mode = \"blocked\"\n").policy.mode(), Mode::Blocked);
    std::fs::remove_file(scratch.at("config/policy.toml")).unwrap();
    assert_eq!(PolicyFile::read(&home_of(&scratch)).state, PolicyState::Absent);
}
