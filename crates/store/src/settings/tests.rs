use fumehood_testkit::{Opens, Scratch, is_root};

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

    let max = usize::try_from(SETTINGS_BYTES_MAX).unwrap();
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
