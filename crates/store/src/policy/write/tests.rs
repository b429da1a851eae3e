use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use fumehood_core::{Code, Coded as _, HostPath};
use fumehood_testkit::Scratch;

use super::*;
use crate::policy::{PolicyDraft, PolicyState};

/// A scratch folder in which state and config are private, with this policy if any.
fn home(text: Option<&str>) -> (Scratch, Home) {
    let scratch = Scratch::new();
    let home = Home { config: scratch.at("config"), state: scratch.at("state") };
    for folder in ["config", "state"] {
        scratch.folder(folder);
        scratch.mode(folder, 0o700);
    }
    if let Some(text) = text {
        scratch.file("config/policy.toml", text);
        scratch.mode("config/policy.toml", 0o640);
    }
    (scratch, home)
}

fn write(home: &Home, roots: &Roots, shown: Option<&str>, new: &str) -> Result<(), Code> {
    let writer = PolicyWriter::begin(home, roots, shown).map_err(|error| error.code())?;
    writer.write(new).map_err(|error| error.code())
}

fn none() -> Roots {
    Roots::Within(Vec::new())
}

fn within(paths: &[&Path]) -> Roots {
    Roots::Within(paths.iter().map(|path| HostPath::parse(path.to_str().unwrap()).unwrap()).collect())
}

// CHK-028: whole, for the person alone, and nothing else beside it.
#[test]
fn a_policy_is_replaced_whole_and_made_if_there_is_none() {
    for old in [None, Some("mode = \"blocked\"\n")] {
        let (scratch, home) = home(old);
        let new = "# mine\nmode = \"ask\"\n";
        assert_eq!(write(&home, &Roots::AsNamed, old, new), Ok(()));
        let path = scratch.at("config/policy.toml");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), new);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        let names: Vec<_> =
            std::fs::read_dir(&home.config).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(names, ["policy.toml"]);
        assert_eq!(PolicyFile::read(&home).state, PolicyState::Read);
    }
}

// CHK-154: a malformed policy is refused, and what was there stays.
#[test]
fn what_cannot_be_read_back_is_never_written() {
    let old = "mode = \"ask\"\n";
    let (scratch, home) = home(Some(old));
    for new in ["mode = \"open\"\n", "mode = [\n", "mood = 1\n", &"#".repeat((1 << 20) + 1)] {
        assert_eq!(write(&home, &none(), Some(old), new), Err(Code::PolicyInvalid));
        assert_eq!(std::fs::read_to_string(scratch.at("config/policy.toml")).unwrap(), old);
    }
    // A malformed one can be replaced by a good one.
    scratch.file("config/policy.toml", "mode = [\n");
    assert_eq!(write(&home, &none(), Some("mode = [\n"), old), Ok(()));
}

#[test]
fn a_file_that_is_not_what_was_shown_stays() {
    let (scratch, home) = home(Some("mode = \"blocked\"\n"));
    for shown in [None, Some(""), Some("mode = \"ask\"\n")] {
        assert_eq!(write(&home, &none(), shown, ""), Err(Code::PolicyChanged));
    }
    std::fs::remove_file(scratch.at("config/policy.toml")).unwrap();
    assert_eq!(write(&home, &none(), Some(""), ""), Err(Code::PolicyChanged));
    assert!(!scratch.at("config/policy.toml").exists());
    assert_eq!(write(&home, &none(), None, ""), Ok(()));
}

// CHK-044: where a script may write, fumehood does not; by whatever name the place is called.
#[test]
fn a_policy_below_a_write_root_is_refused() {
    let (scratch, home) = home(None);
    let link = scratch.link("link", &home.config);
    let linked = Home { config: link.clone(), state: home.state.clone() };
    for (home, root) in [(&home, &home.config), (&linked, &home.config), (&linked, &link)] {
        assert_eq!(write(home, &within(&[root]), None, ""), Err(Code::PolicyWritable), "{root:?}");
    }
    let root = home.config.parent().unwrap();
    assert_eq!(write(&home, &within(&[root]), None, ""), Err(Code::PolicyWritable));
    let beside = scratch.at("configuration");
    let below = scratch.at("config/drafts");
    assert_eq!(write(&home, &within(&[&beside, &below]), None, ""), Ok(()));
}

#[test]
fn a_link_is_left_alone() {
    let (scratch, home) = home(None);
    scratch.file("dotfiles/policy.toml", "");
    let link = scratch.link("config/policy.toml", scratch.at("dotfiles/policy.toml"));
    assert_eq!(write(&home, &none(), Some(""), "mode = \"ask\"\n"), Err(Code::PolicyUneditable));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(scratch.at("dotfiles/policy.toml")).unwrap(), b"");
}

// CHK-044: what others could have written is nothing to go by.
#[test]
fn a_file_of_others_stays() {
    let (scratch, home) = home(Some(""));
    scratch.mode("config/policy.toml", 0o666);
    assert_eq!(write(&home, &none(), Some(""), ""), Err(Code::HomeRefused));
    scratch.mode("config/policy.toml", 0o600);
    assert_eq!(write(&home, &none(), Some(""), ""), Ok(()));
}

// CHK-028: two commands at once take turns, and the second sees what the first wrote.
#[test]
fn writers_take_turns() {
    let (_scratch, home) = home(Some(""));
    let first = PolicyWriter::begin(&home, &none(), Some("")).unwrap();
    let second = std::thread::spawn({
        let home = home.clone();
        move || PolicyWriter::begin(&home, &none(), Some("")).map(drop)
    });
    first.write("mode = \"blocked\"\n").unwrap();
    assert_eq!(second.join().unwrap(), Err(PolicyWriteError::Changed));
}

#[test]
fn only_the_mode_changes() {
    let path = Path::new("/policy.toml");
    for (before, after) in [
        ("", "mode = \"trusted\"\n"),
        ("# only this", "# only this\nmode = \"trusted\"\n"),
        ("# a\nmode = \"ask\" # b\n", "# a\nmode = \"trusted\" # b\n"),
        ("mode='blocked'\r\n# c\r\n", "mode=\"trusted\"\r\n# c\r\n"),
        ("\"mode\" = \"\"\"ask\"\"\"", "\"mode\" = \"trusted\""),
        (
            "# mine\n\n# no net\n[[rule]]\nname = \"n\"\nask = { network = \"any\" }\n",
            "# mine\n\nmode = \"trusted\"\n\n# no net\n[[rule]]\nname = \"n\"\nask = { network = \"any\" }\n",
        ),
        ("surfaces.flag = []\n", "mode = \"trusted\"\n\nsurfaces.flag = []\n"),
        ("mode = \"trusted\"\n", "mode = \"trusted\"\n"),
        ("\u{feff}[surfaces]\n", "\u{feff}mode = \"trusted\"\n\n[surfaces]\n"),
        // A word of a rule is not the mode.
        (
            "[[rule]]\nname = \"mode = 1\"\ndeny = {}\n[[case]]\nname = \"mode\"\nexpect = \"deny\"\nfacts = {}\n",
            "mode = \"trusted\"\n\n[[rule]]\nname = \"mode = 1\"\ndeny = {}\n[[case]]\nname = \"mode\"\nexpect = \"deny\"\nfacts = {}\n",
        ),
    ] {
        assert_eq!(PolicyFile::with_mode(before, Mode::Trusted, path).as_deref(), Ok(after), "{before:?}");
    }
    // The default needs no word.
    assert_eq!(PolicyFile::with_mode("# a\n", Mode::Ask, path).as_deref(), Ok("# a\n"));
    let error = PolicyFile::with_mode("mode = \"ask\"\nmood = 1\n", Mode::Trusted, path).unwrap_err();
    assert_eq!(error.code(), Code::PolicyInvalid);
    assert!(error.to_string().contains("line 2, column 1"), "{error}");
}

#[test]
fn a_draft_is_a_copy_that_stays_until_it_is_removed() {
    let (scratch, home) = home(None);
    let now = SystemTime::now();
    let draft = PolicyDraft::make(&home, "# draft\n", now).unwrap();
    let folder = draft.path().parent().unwrap().to_path_buf();
    assert!(folder.starts_with(scratch.at("state/policy-drafts")));
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(draft.read().unwrap(), "# draft\n");
    // As editors do it: another file in its place, and one beside it.
    std::fs::write(folder.join(".policy.toml.swp"), "x").unwrap();
    std::fs::write(folder.join("new"), "# new\n").unwrap();
    std::fs::rename(folder.join("new"), draft.path()).unwrap();
    assert_eq!(draft.read().unwrap(), "# new\n");
    std::fs::write(draft.path(), [0xff]).unwrap();
    assert_eq!(draft.read().unwrap_err().code, Code::PolicyInvalid);
    std::fs::write(draft.path(), "#".repeat((1 << 20) + 1)).unwrap();
    assert!(draft.read().unwrap_err().message.contains("larger"));
    std::fs::remove_file(draft.path()).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", draft.path()).unwrap();
    assert_eq!(draft.read().unwrap_err().code, Code::PolicyInvalid);
    // Nor is it looked for where a link in its folder's place leads.
    let elsewhere = scratch.folder("elsewhere");
    std::fs::write(elsewhere.join("policy.toml"), "# elsewhere\n").unwrap();
    std::fs::rename(&folder, scratch.at("moved")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    assert_eq!(draft.read().unwrap_err().code, Code::PolicyInvalid);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(scratch.at("moved"), &folder).unwrap();
    draft.remove();
    assert!(!folder.exists());
    let made: Vec<_> = (0..18)
        .map(|second| {
            let at = now + std::time::Duration::from_secs(second);
            PolicyDraft::make(&home, "", at).unwrap().path().to_path_buf()
        })
        .collect();
    let kept: Vec<_> = made.iter().map(|path| path.exists()).collect();
    assert_eq!(kept, [vec![false; 2], vec![true; 16]].concat());
}
