use fumehood_testkit::{Opens, Scratch, is_root};

use super::interpreters::INTERPRETERS_MAX;
use super::tables::{ARTIFACT_STORE_BYTES_MAX, ARTIFACT_STORE_BYTES_MIN, SOURCES_MAX, UNLOCKED_MAX};
use super::*;

fn home_of(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn surroundings(home: Option<&str>) -> Surroundings {
    Surroundings { home: home.map(PathBuf::from), ..Surroundings::default() }
}

fn read_in(scratch: &Scratch, text: impl AsRef<[u8]>) -> Result<Settings, SettingsError> {
    scratch.file("config/fumehood.toml", text);
    scratch.mode("config/fumehood.toml", 0o600);
    scratch.mode("config", 0o700);
    Settings::read(&home_of(scratch), &surroundings(Some("/home/me")))
}

fn read(text: impl AsRef<[u8]>) -> Result<Settings, SettingsError> {
    read_in(&Scratch::new(), text)
}

fn source(name: &str, path: &str) -> String {
    format!("[[sources]]\nname = \"{name}\"\npath = \"{path}\"\n")
}

#[test]
fn a_missing_file_is_the_default() {
    assert_eq!(Settings::read(&home_of(&Scratch::new()), &surroundings(None)), Ok(Settings::default()));
    assert_eq!(read(""), Ok(Settings::default()));
}

#[test]
fn sources_keep_their_order_and_get_absolute_paths() {
    let scratch = Scratch::new();
    let text = [source("zeta", "/srv/skills"), source("alpha", "~/skills"), source("here", "below")].concat();
    let settings = read_in(&scratch, text).unwrap();
    let found: Vec<_> =
        settings.sources.iter().map(|source| (source.name.as_str(), source.path.clone())).collect();
    let expected = [
        ("zeta", PathBuf::from("/srv/skills")),
        ("alpha", PathBuf::from("/home/me/skills")),
        ("here", scratch.at("config/below")),
    ];
    assert_eq!(found, expected);
}

// each refusal, and nothing of the file is used. Its accepted twin is in the tests around.
#[test]
fn whatever_is_wrong_stops_everything() {
    let good = source("good", "/srv");
    let cases = [
        ("unknown = 1\n".to_owned(), "unknown"),
        ("[[source]]\nname = \"a\"\npath = \"/a\"\n".to_owned(), "source"),
        ("[[sources]]\nname = \"a\"\npath = \"/a\"\nmode = \"x\"\n".to_owned(), "mode"),
        ("[[sources]]\nname = \"a\"\n".to_owned(), "path"),
        ("[[sources]]\npath = \"/a\"\n".to_owned(), "name"),
        ("[[sources]]\nname = 1\npath = \"/a\"\n".to_owned(), "string"),
        ("sources = 1\n".to_owned(), "sources"),
        ("[[sources\n".to_owned(), ""),
        (source("a", ""), "empty path"),
        (source("good", "/other"), "two sources"),
        (source("", "/a"), "1 to 32"),
        (source("Upper", "/a"), "1 to 32"),
        (source("under_score", "/a"), "1 to 32"),
        (source("a:b", "/a"), "1 to 32"),
        (source("\u{e9}", "/a"), "1 to 32"),
        (source("user-agents", "/a"), "fumehood's own"),
        (source("path", "/a"), "fumehood's own"),
        (source("project-claude", "/a"), "fumehood's own"),
    ];
    for (text, expected) in cases {
        let error = read(format!("{good}{text}")).unwrap_err();
        assert_eq!(error.code, Code::ConfigInvalid, "{text}");
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
    assert!(read(good).is_ok());
    let error = read(b"# \xff\n").unwrap_err();
    assert!(error.message.contains("UTF-8"), "{}", error.message);
}

#[test]
fn what_is_hidden_in_the_file_is_shown_in_the_message() {
    let error = read("[[sources]]\nname = \"a\\u001b[2Jb\"\npath = \"/a\"\n").unwrap_err();
    assert!(!error.message.contains('\u{1b}'), "{:?}", error.message);
}

#[test]
fn limits_hold_on_both_sides() {
    let sources = |n: usize| (0..n).map(|i| source(&format!("s{i}"), "/a")).collect::<String>();
    assert_eq!(read(sources(SOURCES_MAX)).unwrap().sources.len(), 64);
    assert!(read(sources(SOURCES_MAX + 1)).unwrap_err().message.contains("64"));

    assert!(read(source(&"x".repeat(LABEL_CHARS_MAX), "/a")).is_ok());
    assert!(read(source(&"x".repeat(LABEL_CHARS_MAX + 1), "/a")).is_err());

    let max = usize::try_from(FILE.bytes_max).unwrap();
    let padded = |size: usize| {
        let text = source("a", "/a") + "#";
        text.clone() + &"x".repeat(size - text.len())
    };
    assert_eq!(read(padded(max)).unwrap().sources.len(), 1);
    assert!(read(padded(max + 1)).unwrap_err().message.contains("256 KiB"));
    // Too long is what is wrong with it, also where the bound cuts a character in half.
    let wide = "\u{e9}".repeat(max);
    assert!(read(format!("#{wide}")).unwrap_err().message.contains("256 KiB"));
    assert!(read(format!("##{wide}")).unwrap_err().message.contains("256 KiB"));
}

#[test]
fn home_must_be_absolute_for_a_tilde() {
    let scratch = Scratch::new();
    read_in(&scratch, source("a", "~/x")).unwrap();
    for home in [None, Some(""), Some("relative")] {
        let error = Settings::read(&home_of(&scratch), &surroundings(home)).unwrap_err();
        assert!(error.message.contains("HOME"), "{home:?}");
    }
}

// Others who can write the file, or put another in its place, would decide what is loaded.
#[test]
fn a_file_that_others_can_write_is_refused() {
    let scratch = Scratch::new();
    let read = || Settings::read(&home_of(&scratch), &surroundings(None)).map_err(|error| error.code);
    read_in(&scratch, "").unwrap();
    for mode in [0o644, 0o600, 0o400] {
        scratch.mode("config/fumehood.toml", mode);
        assert!(read().is_ok(), "{mode:o}");
    }
    for mode in [0o620, 0o602, 0o666, 0o664] {
        scratch.mode("config/fumehood.toml", mode);
        assert_eq!(read(), Err(Code::HomeRefused), "{mode:o}");
    }
    scratch.mode("config/fumehood.toml", 0o600);
    scratch.mode("config", 0o755);
    assert!(read().is_ok());
    for mode in [0o770, 0o775, 0o777, 0o1777] {
        scratch.mode("config", mode);
        assert_eq!(read(), Err(Code::HomeRefused), "{mode:o}");
    }
    scratch.mode("config", 0o700);
    assert!(read().is_ok());
    if is_root() {
        std::os::unix::fs::chown(scratch.at("config/fumehood.toml"), Some(65534), None).unwrap();
        assert_eq!(read(), Err(Code::HomeRefused));
    }
}

#[test]
fn a_folder_in_place_of_the_file_is_refused() {
    let scratch = Scratch::new();
    scratch.folder("config/fumehood.toml");
    scratch.mode("config", 0o700);
    let error = Settings::read(&home_of(&scratch), &surroundings(None)).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::ConfigInvalid, "is no regular file"));
}

// A FIFO would hold every command until somebody writes into it.
#[test]
fn a_fifo_in_place_of_the_file_is_refused_at_once() {
    let scratch = Scratch::new();
    scratch.fifo("config/fumehood.toml");
    scratch.mode("config/fumehood.toml", 0o600);
    scratch.mode("config", 0o700);
    let error = Settings::read(&home_of(&scratch), &surroundings(None)).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::ConfigInvalid, "is no regular file"));
}

// In a folder that others can write, the file could be anything, and is not even opened.
#[test]
fn the_folder_is_checked_before_the_file_is_opened() {
    let scratch = Scratch::new();
    read_in(&scratch, "").unwrap();
    scratch.mode("config", 0o770);
    let opens = Opens::of(&scratch.at("config/fumehood.toml"));
    let error = Settings::read(&home_of(&scratch), &surroundings(None)).unwrap_err();
    assert_eq!((error.code, opens.count()), (Code::HomeRefused, 0));
}

fn refused(text: &str) -> String {
    let error = read(text).map(|_| ()).unwrap_err();
    assert_eq!(error.code, Code::ConfigInvalid, "{text}");
    assert!(!error.message.contains('\u{1b}'), "{:?}", error.message);
    error.message
}

const ROOTS: &str = "[envelope]\nread_roots = []\nwrite_roots = []\ninterpreter_read_paths = []\n";

// EXE-40: each list is there, if only to say that it is empty.
#[test]
fn an_envelope_says_all_its_places() {
    let settings = read(ROOTS).unwrap();
    let parts = settings.envelope.parts();
    for roots in [&parts.read_roots, &parts.write_roots, &parts.interpreter_read_paths] {
        assert_eq!(roots.listed(), Some(&[][..]));
    }
    assert_eq!((parts.timeout_seconds_default, parts.timeout_seconds_max), (60, 600));
    assert_eq!(parts.limits, Envelope::of_a_person().parts().limits);
    for key in ["read_roots", "write_roots", "interpreter_read_paths"] {
        let kept: Vec<_> = ROOTS.lines().filter(|line| !line.starts_with(key)).collect();
        assert!(refused(&kept.join("\n")).contains(key), "{key}");
    }
}

// EXE-38, X-06: out of range is refused by its key and never moved to the edge.
#[test]
fn an_envelope_keeps_its_ranges() {
    for bound in fumehood_core::envelope::BOUNDS {
        let with = |value: String| format!("{ROOTS}{} = {value}\n", bound.key);
        // Above the maximum that holds when there is none, 600.
        let is_default = bound.key == "timeout_seconds_default";
        assert!(read(with(bound.min.to_string())).is_ok(), "{}", bound.key);
        assert_eq!(read(with(bound.max.to_string())).is_ok(), !is_default, "{}", bound.key);
        for value in ["0".to_owned(), (bound.max + 1).to_string()] {
            let message = refused(&with(value));
            assert!(message.contains(&format!("envelope.{} must be", bound.key)), "{message}");
        }
        for value in ["-1", "1.5", "\"1\"", "true"] {
            assert!(refused(&with(value.to_owned())).contains(bound.key), "{} = {value}", bound.key);
        }
    }
    let timeouts = |default: u64, max: u64| {
        read(format!("{ROOTS}timeout_seconds_default = {default}\ntimeout_seconds_max = {max}\n"))
    };
    assert_eq!(timeouts(60, 60).unwrap().envelope.parts().timeout_seconds_max, 60);
    assert!(timeouts(61, 60).unwrap_err().message.contains("timeout_seconds_default is above"));
    // A default that nobody wrote is no contradiction.
    let short = read(format!("{ROOTS}timeout_seconds_max = 5\n")).unwrap();
    assert_eq!(short.envelope.timeout_default(), std::time::Duration::from_secs(5));
    let floors = [("full", true), ("namespaces", true), ("kernel", true), ("none", false), ("Full", false)];
    for (floor, is_good) in floors {
        assert_eq!(read(format!("{ROOTS}level_floor = \"{floor}\"\n")).is_ok(), is_good, "{floor}");
    }
    assert!(refused(&format!("{ROOTS}network = true\n")).contains("network"));
}

// EXE-51: places, and no patterns.
#[test]
fn roots_are_real_absolute_places() {
    let scratch = Scratch::new();
    scratch.folder("real/below");
    scratch.link("link", "real");
    let with = |root: &str| {
        let listed = format!("read_roots = [{}]", toml::Value::from(root));
        read_in(&scratch, ROOTS.replace("read_roots = []", &listed))
    };
    let real = scratch.at("real/below").to_str().unwrap().to_owned();
    for (root, written) in [
        ("/srv/not-there//x/", "/srv/not-there/x"),
        ("~/papers", "/home/me/papers"),
        (&real, &real),
        ("/", "/"),
    ] {
        let settings = with(root).unwrap();
        let listed = settings.envelope.parts().read_roots.listed().unwrap();
        assert_eq!(listed.iter().map(fumehood_core::HostPath::as_str).collect::<Vec<_>>(), [written]);
    }
    for (root, reason) in [
        ("", "is not absolute"),
        ("papers", "is not absolute"),
        ("~", "is not absolute"),
        ("/srv/../etc", "has a component '..'"),
        ("/srv/\u{1b}[2J", "holds a control character"),
        ("/srv/*", "no patterns"),
        ("*", "is not absolute"),
        ("/srv/a?", "no patterns"),
        (scratch.at("link/below").to_str().unwrap(), "leads through a link; write"),
    ] {
        let error = with(root).unwrap_err();
        assert_eq!(error.code, Code::ConfigInvalid);
        let message = error.message;
        assert!(message.contains(reason) && message.contains("read_roots"), "{root}: {message}");
        assert!(!message.contains('\u{1b}'));
    }
}

// EXE-61: what is not configured and not known cannot be chosen.
#[test]
fn interpreters_are_fixed_paths_by_key() {
    let key = |text: &str| InterpreterKey::parse(text).unwrap();
    let settings = read(
        "[interpreters.python3]\npath = \"/opt/py/bin/python\"\n\
         [interpreters.ruby]\npath = \"/usr/bin/ruby\"\narguments = [\"--disable-gems\"]\n\
         [interpreters.node]\npath = \"/opt/node\"\narguments = []\n",
    )
    .unwrap();
    let of = |text: &str| {
        let choice = settings.interpreter(&key(text)).unwrap();
        let path = choice.candidates[0].to_str().unwrap().to_owned();
        (path, choice.arguments.join(" "), choice.is_configured)
    };
    assert_eq!(of("python3"), ("/opt/py/bin/python".to_owned(), "-E -s -B".to_owned(), true));
    assert_eq!(of("ruby"), ("/usr/bin/ruby".to_owned(), "--disable-gems".to_owned(), true));
    assert_eq!(of("node"), ("/opt/node".to_owned(), String::new(), true));
    assert_eq!(of("sh"), ("/usr/bin/sh".to_owned(), String::new(), false));
    assert_eq!(settings.interpreter(&key("perl")), None);
    let keys: Vec<_> = settings.interpreter_choices().iter().map(|choice| choice.key.to_string()).collect();
    assert_eq!(keys, ["sh", "bash", "python3", "node", "ruby"]);
    let untouched = Settings::default().interpreter(&key("python3")).unwrap();
    assert_eq!((untouched.arguments.join(" "), untouched.is_configured), ("-E -s -B".to_owned(), false));

    let one = |key: &str, rest: &str| format!("[interpreters.{key}]\n{rest}\n");
    let arguments = |n: usize, bytes: usize| {
        let list = vec![format!("\"{}\"", "a".repeat(bytes)); n].join(",");
        one("x", &format!("path = \"/x\"\narguments = [{list}]"))
    };
    assert!(read(arguments(16, 256)).is_ok());
    for (text, expected) in [
        (one("x", ""), "path"),
        (one("x", "path = \"python3\""), "interpreters.x.path: the path is not absolute"),
        (one("x", "path = \"~/bin/x\""), "is not absolute"),
        (one("x", "path = \"/a/../x\""), "'..'"),
        (one("X", "path = \"/x\""), "the key \"X\""),
        (one("\"\\u001b[2J\"", "path = \"/x\""), "the key"),
        (one("x", "path = \"/x\"\nsearch = true"), "search"),
        (arguments(17, 1), "interpreters.x.arguments must be"),
        (arguments(1, 257), "interpreters.x.arguments must be"),
        (arguments(1, 0), "interpreters.x.arguments must be"),
        (one("x", "path = \"/x\"\narguments = [\"a\\u0000\"]"), "interpreters.x.arguments must be"),
    ] {
        assert!(refused(&text).contains(expected), "{text}: {}", refused(&text));
    }
    let many = |n: usize| (0..n).map(|i| one(&format!("k{i}"), "path = \"/x\"")).collect::<String>();
    assert_eq!(read(many(INTERPRETERS_MAX)).unwrap().interpreters.len(), 64);
    assert!(refused(&many(INTERPRETERS_MAX + 1)).contains("64"));
}

// X-16, EXE-56
#[test]
fn the_small_tables() {
    let settings = read(
        "[environment]\nTZ = \"UTC\"\nLANG = \"C\"\n[approve]\nrevision_flag = true\n[scripts]\n\
         fail_on_nonzero_exit = false\n[workspace]\nunlocked = [\".env\", \"...\"]\n",
    )
    .unwrap();
    assert!(settings.approve_by_revision_flag && !settings.fail_on_nonzero_exit);
    assert!(settings.environment.iter().any(|variable| variable == ("TZ", "UTC")));
    assert!(settings.unlocked.iter().eq(["...", ".env"]));
    let default = Settings::default();
    assert!(!default.approve_by_revision_flag && default.fail_on_nonzero_exit && default.unlocked.is_empty());
    assert_eq!(default.artifact_store_bytes_max, 10 << 30);
    for (text, expected) in [
        ("[environment]\nTZ = 1\n", "TZ"),
        ("[environment]\nNODE_OPTIONS = \"-r x\"\n", "environment.NODE_OPTIONS is refused"),
        ("[approve]\nrevision_flag = \"yes\"\n", "revision_flag"),
        ("[approve]\nrevision = true\n", "revision"),
        ("[scripts]\nfail_on_nonzero_exit = 0\n", "fail_on_nonzero_exit"),
        ("[scripts]\nfail = true\n", "fail"),
        ("[artifacts]\nmax = 1\n", "max"),
        ("[workspace]\nlocked = []\n", "locked"),
        ("[workspace]\nunlocked = [\"Makefile\"]\n", "begins with no dot"),
        ("[workspace]\nunlocked = [\".git\"]\n", "cannot be unlocked"),
        ("[workspace]\nunlocked = [\".GIT\"]\n", "cannot be unlocked"),
        ("[workspace]\nunlocked = [\"..\"]\n", "no name of a file"),
        ("[workspace]\nunlocked = [\".a/b\"]\n", "not one name"),
        ("[workspace]\nunlocked = [\".gi\\u200ct\"]\n", "not one name"),
        ("[workspace]\nunlocked = [\".env\", \".env\"]\n", "twice"),
    ] {
        assert!(refused(text).contains(expected), "{text}: {}", refused(text));
    }
    let store = |bytes: u64| read(format!("[artifacts]\nartifact_store_bytes_max = {bytes}\n"));
    for bytes in [ARTIFACT_STORE_BYTES_MIN, ARTIFACT_STORE_BYTES_MAX] {
        assert_eq!(store(bytes).unwrap().artifact_store_bytes_max, bytes);
    }
    for bytes in [0, ARTIFACT_STORE_BYTES_MIN - 1, ARTIFACT_STORE_BYTES_MAX + 1] {
        let message = store(bytes).unwrap_err().message;
        assert!(message.contains("artifacts.artifact_store_bytes_max must be"), "{message}");
    }
    let unlock = |n: usize| {
        let names: Vec<_> = (0..n).map(|i| format!(".{i}")).collect();
        read(format!("[workspace]\nunlocked = {names:?}\n"))
    };
    assert_eq!(unlock(UNLOCKED_MAX).unwrap().unlocked.len(), 64);
    assert!(unlock(UNLOCKED_MAX + 1).unwrap_err().message.contains("64"));
}

// A link that leads to nothing is no missing file: something was meant to be said.
#[test]
fn a_link_to_nothing_stops_everything() {
    let scratch = Scratch::new();
    scratch.link("config/fumehood.toml", scratch.at("nothing"));
    scratch.mode("config", 0o700);
    let error = Settings::read(&home_of(&scratch), &surroundings(None)).unwrap_err();
    assert_eq!(error.code, Code::StateUnavailable);
}
