use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use fumehood_core::{Code, Coded as _};
use fumehood_testkit::{Scratch, without_privilege};

use super::*;
use crate::forbidden::ForbiddenKind;
use crate::home::Home;

fn forbidden(scratch: &Scratch) -> Forbidden {
    let home =
        Home { config: scratch.at("home/.config/fumehood"), state: scratch.at("home/.state/fumehood") };
    Forbidden::of(&home)
        .with(ForbiddenKind::Home, &scratch.at("home"))
        .with(ForbiddenKind::Source, &scratch.at("home/skills"))
}

fn world() -> Scratch {
    let scratch = Scratch::new();
    for folder in ["home/.state/fumehood/staging", "home/.config", "home/skills/a", "home/project/src", "srv"]
    {
        scratch.folder(folder);
    }
    scratch
}

fn code(scratch: &Scratch, path: &str) -> Result<String, Code> {
    let opened = Workspace::open(&scratch.at(path), &forbidden(scratch));
    opened.map(|workspace| workspace.identity().resolved().to_owned()).map_err(|error| error.code())
}

// CHK-023
#[test]
fn a_workspace_is_the_folder_behind_all_links() {
    let scratch = world();
    scratch.link("short", "home/link");
    scratch.link("home/link", scratch.at("home/project"));
    let workspace = Workspace::open(&scratch.at("short/src/.."), &forbidden(&scratch)).unwrap();
    let real = scratch.at("home/project");
    let metadata = fs::metadata(&real).unwrap();
    let expected =
        WorkspaceIdentity::of_open_directory(metadata.dev(), metadata.ino(), real.to_str().unwrap());
    assert_eq!(workspace.identity(), &expected);
    assert_eq!(workspace.path(), real);
    workspace.recheck().unwrap();
}

// DESIGN 5: never a workspace.
#[test]
fn what_is_never_a_workspace() {
    let scratch = world();
    scratch.link("srv/link", scratch.at("home/.state"));
    scratch.link("srv/good", scratch.at("home/project"));
    let allowed = ["home/project", "home/project/src", "srv", "srv/good"];
    for path in allowed {
        assert!(code(&scratch, path).is_ok(), "{path}");
    }
    let refused = [
        "home",
        "",
        "home/.state",
        "home/.state/fumehood",
        "home/.state/fumehood/staging",
        "home/.config",
        "home/skills",
        "home/skills/a",
        "srv/link",
        "home/project/..",
    ];
    for path in refused {
        assert_eq!(code(&scratch, path), Err(Code::PlaceForbidden), "{path}");
    }
    for path in ["/", "/tmp", "/usr", "/usr/bin", "/etc", "/proc/self", "/dev", "/sys", "/proc/self/root"] {
        let error = Workspace::open(Path::new(path), &forbidden(&scratch)).unwrap_err();
        let expected = if path == "/proc/self/root" { Code::LinkEscapes } else { Code::PlaceForbidden };
        assert_eq!(error.code(), expected, "{path}");
    }
}

#[test]
fn what_is_no_folder_is_no_workspace() {
    let scratch = world();
    scratch.file("srv/file", "x");
    scratch.fifo("srv/fifo");
    scratch.link("srv/nothing", "not-there");
    scratch.link("srv/circle", "circle");
    for path in ["srv/file", "srv/fifo", "srv/nothing", "srv/missing", "srv/file/below"] {
        assert_eq!(code(&scratch, path), Err(Code::FolderNotFound), "{path}");
    }
    assert_eq!(code(&scratch, "srv/circle"), Err(Code::LinkEscapes));
}

#[test]
fn a_path_that_cannot_be_shown_is_refused() {
    let scratch = world();
    for name in [b"bad\xff".as_slice(), b"new\nline", b"esc\x1b[2J"] {
        let folder = scratch.folder(scratch.at("srv").join(OsStr::from_bytes(name)));
        let named = Workspace::open(&folder, &forbidden(&scratch));
        assert_eq!(named.unwrap_err().code(), Code::ArgumentInvalid, "{name:?}");
        // Nor is it by a good name.
        scratch.link("srv/link", &folder);
        assert_eq!(code(&scratch, "srv/link"), Err(Code::ArgumentInvalid), "{name:?}");
        fs::remove_file(scratch.at("srv/link")).unwrap();
    }
    assert!(code(&scratch, "srv/../home/project").is_ok());
    let long = |bytes: usize| {
        let fill = "/".repeat(bytes - scratch.at("srv").as_os_str().len());
        Workspace::open(Path::new(&format!("{}{fill}", scratch.at("srv").display())), &forbidden(&scratch))
    };
    long(4095).unwrap();
    assert_eq!(long(4096).unwrap_err().code(), Code::ArgumentInvalid);
    assert_eq!(
        Workspace::open(Path::new(""), &forbidden(&scratch)).unwrap_err().code(),
        Code::ArgumentInvalid
    );
}

#[test]
fn a_folder_that_cannot_be_opened_is_no_workspace() {
    let scratch = world();
    scratch.mode("srv", 0);
    let opened = without_privilege(|| code(&scratch, "srv"));
    scratch.mode("srv", 0o700);
    assert_eq!(opened, Err(Code::FileUnreadable));
    assert!(without_privilege(|| code(&scratch, "srv")).is_ok());
}

// CHK-024
#[test]
fn a_folder_that_was_replaced_is_noticed() {
    let scratch = world();
    let open = || Workspace::open(&scratch.at("home/project"), &forbidden(&scratch)).unwrap();
    let workspace = open();
    fs::rename(scratch.at("home/project"), scratch.at("home/moved")).unwrap();
    assert_eq!(workspace.recheck().unwrap_err().code(), Code::FileChanged, "it is gone");
    scratch.link("home/project", scratch.at("home/moved"));
    assert_eq!(workspace.recheck().unwrap_err().code(), Code::FileChanged, "a link leads to it");
    fs::remove_file(scratch.at("home/project")).unwrap();
    scratch.folder("home/project");
    assert_eq!(workspace.recheck().unwrap_err().code(), Code::FileChanged, "another has its name");
    open().recheck().unwrap();
}
