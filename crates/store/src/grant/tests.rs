use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use fumehood_core::manifest::PathAccess;
use fumehood_core::{Code, Coded as _, Frame};
use fumehood_testkit::{Opens, Scratch as Folder, is_root, without_privilege};

use super::*;
use crate::forbidden::ForbiddenKind;
use crate::home::Home;
use crate::stage::{Scratch, Staging};

/// A workspace `work`, a folder `other` beside it, and fumehood's own.
struct World {
    folder: Folder,
    forbidden: Forbidden,
    workspace: Workspace,
    base: std::path::PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        folder.folder("work/sub");
        folder.file("work/in.csv", "a,b\n");
        folder.file("work/sub/deep.csv", "c\n");
        folder.file("other/secret", "secret");
        folder.folder("other/sub");
        folder.file("state/journal", "secret");
        folder.mode("state", 0o700);
        folder.file("config/policy.toml", "secret");
        folder.file("skills/a/SKILL.md", "skill");
        let home = Home { config: folder.at("config"), state: folder.at("state") };
        let forbidden = Forbidden::of(&home).with(ForbiddenKind::Source, &folder.at("skills"));
        let workspace = Workspace::open(&folder.at("work"), &forbidden).unwrap();
        let base = folder.at("work");
        Self { folder, forbidden, workspace, base }
    }

    fn rules(&self) -> PathRules<'_> {
        PathRules {
            base: &self.base,
            beneath: Some(&self.workspace),
            forbidden: &self.forbidden,
            unlocked: &[],
        }
    }

    fn anywhere(&self) -> PathRules<'_> {
        PathRules { beneath: None, ..self.rules() }
    }

    fn path(&self, path: &str) -> String {
        self.folder.at(path).to_str().unwrap().to_owned()
    }

    fn scratch(&self) -> Scratch {
        let home = Home { config: self.folder.at("config"), state: self.folder.at("state") };
        Staging::open(&home).unwrap().scratch().unwrap()
    }
}

/// The three ways to be granted a path; those that would give one say where it leads.
fn all(rules: PathRules<'_>, value: &str) -> [Result<String, Code>; 3] {
    let written = |granted: Result<WriteGrant, GrantError>| {
        granted.map(|grant| grant.path().to_owned()).map_err(|error| error.code())
    };
    let read = rules.read(value).map(|grant| grant.path().to_owned()).map_err(|error| error.code());
    [read, written(rules.write(value)), written(rules.create(value))]
}

fn content(grant: ReadGrant) -> String {
    let mut text = String::new();
    fs::File::from(grant.into_file()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_path_grants_the_file_it_leads_to() {
    let world = World::new();
    world.folder.link("work/link", "sub");
    world.folder.link("work/sub/up", "../in.csv");
    world.folder.link("entry", world.folder.at("work"));
    for (value, path) in [
        ("in.csv", "work/in.csv"),
        ("./sub/../in.csv", "work/in.csv"),
        ("sub//deep.csv", "work/sub/deep.csv"),
        ("link/deep.csv", "work/sub/deep.csv"),
        ("sub/up", "work/in.csv"),
        (&world.path("work/in.csv"), "work/in.csv"),
        (&world.path("work/link/up"), "work/in.csv"),
        // By another way that ends inside.
        (&world.path("entry/in.csv"), "work/in.csv"),
    ] {
        let expected = world.path(path);
        for rules in [world.rules(), world.anywhere()] {
            let [read, write, create] = all(rules, value);
            assert_eq!((read, write), (Ok(expected.clone()), Ok(expected.clone())), "{value}");
            assert_eq!(create, Err(Code::FileExists), "{value}");
        }
        let grant = world.rules().read(value).unwrap();
        let metadata = fs::metadata(&expected).unwrap();
        let identity = grant.identity();
        assert_eq!(
            (identity.identity.device(), identity.identity.inode(), grant.size()),
            (metadata.dev(), metadata.ino(), metadata.len())
        );
        assert_eq!(content(grant), fs::read_to_string(&expected).unwrap(), "{value}");
    }
    // Where no workspace is given, the person's own place and the rest of the disk.
    let elsewhere = PathRules { base: world.folder.path(), ..world.anywhere() };
    let path = world.path("other/secret");
    for value in ["other/secret", &path, "work/../other/secret"] {
        assert_eq!(all(elsewhere, value)[0], Ok(path.clone()), "{value}");
    }
    // The person may stand in a folder of the workspace, or outside of it.
    let sub = world.folder.at("work/sub");
    assert_eq!(all(PathRules { base: &sub, ..world.rules() }, "../in.csv")[0], Ok(world.path("work/in.csv")));
    let outside = PathRules { base: world.folder.path(), ..world.rules() };
    assert_eq!(all(outside, "work/in.csv")[0], Ok(world.path("work/in.csv")));
}

// EXE-48, EXE-60
#[test]
fn nothing_outside_the_workspace_is_granted_or_told() {
    let world = World::new();
    world.folder.link("work/out", "../other");
    world.folder.link("work/secret", world.folder.at("other/secret"));
    world.folder.link("work/back", "../work/./in.csv");
    world.folder.fifo("other/fifo");
    for value in [
        "../other/secret",
        "sub/../../other/secret",
        // Even where it would come back.
        "../work/./in.csv",
        "back",
        "out/secret",
        "secret",
        "../other/missing",
        "out/missing",
        &world.path("other/secret"),
        &world.path("other/missing"),
        &world.path("other/fifo"),
        &world.path("other"),
        &world.path("state/journal"),
        &world.path("work/../other/secret"),
        &world.path("worker"),
        "/etc/passwd",
        "/proc/self/mem",
        "/",
        "..",
    ] {
        let granted = all(world.rules(), value);
        let expected = match value {
            // It is the folder of what is made that must be inside, and a link of that name is there.
            "back" | "secret" => [Err(Code::PlaceOutside), Err(Code::PlaceOutside), Err(Code::FileExists)],
            "/" => [Err(Code::NotAFile), Err(Code::NotAFile), Err(Code::ArgumentInvalid)],
            ".." => [Err(Code::PlaceOutside), Err(Code::PlaceOutside), Err(Code::ArgumentInvalid)],
            _ => [(); 3].map(|()| Err(Code::PlaceOutside)),
        };
        assert_eq!(granted, expected, "{value}");
    }
    assert_eq!(fs::read(world.folder.at("other/secret")).unwrap(), b"secret");
}

#[test]
fn what_is_forbidden_is_refused_everywhere() {
    let world = World::new();
    world.folder.link("work/state", world.folder.at("state"));
    let watched = Opens::of(&world.folder.at("state/journal"));
    let forbidden = Err(Code::PlaceForbidden);
    for value in [
        &world.path("state/journal"),
        &world.path("config/policy.toml"),
        "state/journal",
        "../state/journal",
        "/etc/passwd",
        "/usr/bin/env",
        "/proc/self/maps",
        "/proc/self/status",
        "/sys/kernel/uevent_seqnum",
    ] {
        let [read, write, _] = all(world.anywhere(), value);
        assert_eq!((read, write), (forbidden.clone(), forbidden.clone()), "{value}");
    }
    assert_eq!(watched.count(), 0, "nobody opens what is only to be refused");
    for value in [&world.path("state/new"), &world.path("config/new"), &world.path("skills/new"), "/etc/new"]
    {
        assert_eq!(all(world.anywhere(), value)[2], forbidden, "{value}");
    }
    // A skill may be read, not written.
    let skill = world.path("skills/a/SKILL.md");
    assert_eq!(all(world.anywhere(), &skill)[..2], [Ok(skill.clone()), forbidden]);
    assert!(all(world.anywhere(), &world.path("other/secret"))[0].is_ok(), "the positive control");
    // What a process has open is reached by no path.
    let file = fs::File::open(world.folder.at("other/secret")).unwrap();
    let open = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    assert_eq!(all(world.anywhere(), &open)[..2], [Err(Code::LinkEscapes), Err(Code::LinkEscapes)]);
}

#[test]
fn only_regular_files_are_opened_and_nobody_waits() {
    let world = World::new();
    let fifo = world.folder.fifo("work/fifo");
    world.folder.socket("work/socket");
    world.folder.link("work/to-fifo", "fifo");
    world.folder.link("work/nothing", "not-there");
    world.folder.link("work/circle", "circle");
    let opens = Opens::of(&fifo);
    for (value, code, create) in [
        ("fifo", Code::SpecialFile, Code::FileExists),
        ("socket", Code::SpecialFile, Code::FileExists),
        ("to-fifo", Code::SpecialFile, Code::FileExists),
        ("sub", Code::NotAFile, Code::FileExists),
        (".", Code::NotAFile, Code::ArgumentInvalid),
        ("nothing", Code::FileNotFound, Code::FileExists),
        ("in.csv/below", Code::FileNotFound, Code::FolderNotFound),
        ("in.csv/", Code::NotAFile, Code::ArgumentInvalid),
        ("missing/below", Code::FileNotFound, Code::FolderNotFound),
        ("fifo/below", Code::FileNotFound, Code::FolderNotFound),
    ] {
        for rules in [world.rules(), world.anywhere()] {
            assert_eq!(all(rules, value), [Err(code), Err(code), Err(create)], "{value}");
        }
    }
    assert_eq!(opens.count(), 0);
    assert_eq!(all(world.anywhere(), "circle")[0], Err(Code::LinkEscapes));
    assert_eq!(all(world.anywhere(), "/dev/null")[0], Err(Code::PlaceForbidden));
    if is_root() {
        let device = world.folder.at("work/device");
        let kind = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(rustix::fs::CWD, &device, kind, rustix::fs::Mode::RUSR, 0x103).unwrap();
        let special = Err(Code::SpecialFile);
        assert_eq!(all(world.anywhere(), "device")[..2], [special.clone(), special]);
    }
}

#[test]
fn a_path_that_is_no_path_is_refused() {
    let world = World::new();
    let long =
        |bytes: usize| format!("{}in.csv", "./".repeat((bytes - 6) / 2) + &"/".repeat((bytes - 6) % 2));
    assert_eq!(long(4095).len(), 4095);
    assert!(all(world.rules(), &long(4095)[1..].replacen('/', "./", 1))[0].is_ok());
    for value in ["", "a\0b", "in.csv\n", "\u{1b}[2J", "\u{9b}31m", &long(4096), &"x".repeat(4096)] {
        assert_eq!(all(world.rules(), value), [(); 3].map(|()| Err(Code::ArgumentInvalid)), "{value:?}");
    }
    // Nor is one behind a good name.
    for name in [b"bad\xff".as_slice(), b"new\nline"] {
        let folder = world.folder.folder(world.folder.at("work").join(OsStr::from_bytes(name)));
        fs::write(folder.join("file"), "x").unwrap();
        world.folder.link("work/link", &folder);
        for rules in [world.rules(), world.anywhere()] {
            let relative = std::path::Path::new(OsStr::from_bytes(name));
            world.folder.link("work/short", relative);
            assert_eq!(
                all(rules, "short/file")[..2],
                [Err(Code::ArgumentInvalid), Err(Code::ArgumentInvalid)]
            );
            assert_eq!(all(rules, "short/new")[2], Err(Code::ArgumentInvalid));
            fs::remove_file(world.folder.at("work/short")).unwrap();
        }
        fs::remove_file(world.folder.at("work/link")).unwrap();
    }
    for (value, code) in [
        ("sub/", Code::ArgumentInvalid),
        ("sub/.", Code::ArgumentInvalid),
        ("sub/..", Code::ArgumentInvalid),
        (&"n".repeat(256), Code::ArgumentInvalid),
    ] {
        assert_eq!(all(world.rules(), value)[2], Err(code), "{value}");
    }
    for value in ["new", "sub/new", &"n".repeat(255), "sub/../new", "a b", "ü", "a:b"] {
        assert!(all(world.rules(), value)[2].is_ok(), "{value}");
    }
}

#[test]
fn what_is_protected_is_not_written() {
    let world = World::new();
    let folder = &world.folder;
    for path in [".env", ".git/config", "sub/.hidden/a", "program", "read-only", "two-names"] {
        folder.file(format!("work/{path}"), "x");
    }
    folder.mode("work/program", 0o744);
    folder.mode("work/read-only", 0o444);
    fs::hard_link(folder.at("work/two-names"), folder.at("other/name")).unwrap();
    folder.link("work/innocent", ".env");
    folder.link("work/repository", ".git");
    let protected = Err(Code::TargetProtected);
    for value in [
        ".env",
        ".git/config",
        "sub/.hidden/a",
        "innocent",
        "repository/config",
        "program",
        "read-only",
        "two-names",
    ] {
        let [read, write, _] = all(world.rules(), value);
        assert!(read.is_ok(), "{value}");
        assert_eq!(write, protected, "{value}");
    }
    for value in [".new", ".git/hooks", "repository/new", "sub/.hidden/new", "..new"] {
        assert_eq!(all(world.rules(), value)[2], protected, "{value}");
    }
    // The deployer unlocks a name, and only that.
    let unlocked = [".env".to_owned()];
    let rules = PathRules { unlocked: &unlocked, ..world.rules() };
    assert!(all(rules, ".env")[1].is_ok());
    assert_eq!(all(rules, ".git/config")[1], protected);
    // Without a workspace, what is not below the base is judged from the top.
    folder.file("home/.profile.d/a", "x");
    let base = folder.at("home/.profile.d");
    assert_eq!(all(world.anywhere(), &world.path("home/.profile.d/a"))[1], protected);
    assert!(all(PathRules { base: &base, ..world.anywhere() }, "a")[1].is_ok());
}

#[test]
fn a_file_that_cannot_be_moved_into_place_is_refused_before_the_run() {
    let world = World::new();
    world.folder.mode("work/sub", 0o500);
    without_privilege(|| {
        assert_eq!(
            all(world.rules(), "sub/deep.csv")[1..],
            [Err(Code::TargetProtected), Err(Code::FileExists)]
        );
        assert_eq!(all(world.rules(), "sub/new")[2], Err(Code::TargetProtected));
    });
    world.folder.mode("work/sub", 0o700);
    without_privilege(|| assert!(all(world.rules(), "sub/deep.csv")[1].is_ok()));
    world.folder.mode("work/in.csv", 0o200);
    without_privilege(|| {
        assert_eq!(all(world.rules(), "in.csv")[..2], [Err(Code::FileUnreadable), Err(Code::FileUnreadable)]);
    });
}

#[test]
fn the_run_gets_copies_and_the_host_a_place_to_put_them() {
    let world = World::new();
    let out = world.scratch();
    let grants = vec![world.rules().write("in.csv").unwrap(), world.rules().create("sub/new").unwrap()];
    copy_originals(&grants, &out, 4).unwrap();
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    let copy = out.path().join("in.csv");
    assert_eq!(fs::read(&copy).unwrap(), b"a,b\n");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o7777, 0o600);
    let access: Vec<_> = grants.iter().map(|grant| (grant.access(), grant.original().is_some())).collect();
    assert_eq!(access, [(PathAccess::Write, true), (PathAccess::Create, false)]);
    let targets: Vec<_> = grants.into_iter().map(|grant| grant.target).collect();
    for (target, folder, name) in [(&targets[0], "work", "in.csv"), (&targets[1], "work/sub", "new")] {
        assert_eq!((target.folder_path.as_str(), target.name.as_str()), (world.path(folder).as_str(), name));
        let metadata = fs::metadata(world.folder.at(folder)).unwrap();
        assert_eq!(target.folder.identity().unwrap().inode(), metadata.ino());
    }
    let original = targets[0].original.unwrap();
    assert_eq!(original.size, 4);
    assert_eq!(original, targets[0].folder.stat(b"in.csv").unwrap().0);
}

#[test]
fn a_large_file_is_copied_whole() {
    let world = World::new();
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|number| number.to_le_bytes()[0]).collect();
    world.folder.file("work/large", &bytes);
    let grants = [world.rules().write("large").unwrap()];
    let small = copy_originals(&grants, &world.scratch(), 3_000_000);
    assert_eq!(small.unwrap_err().code(), Code::FileTooLarge);
    let out = world.scratch();
    copy_originals(&grants, &out, 3_000_001).unwrap();
    assert!(fs::read(out.path().join("large")).unwrap() == bytes);
}

#[test]
fn two_files_of_one_name_are_refused() {
    let world = World::new();
    world.folder.file("work/sub/in.csv", "x");
    for second in
        [world.rules().write("sub/in.csv"), world.rules().write("./in.csv"), world.rules().create("sub/a")]
    {
        let second = second.unwrap();
        let clashes = second.name() == "in.csv";
        let out = world.scratch();
        let copied = copy_originals(&[world.rules().write("in.csv").unwrap(), second], &out, 100);
        assert_eq!(copied.err().map(|error| error.code()), clashes.then_some(Code::OutputNameClash));
    }
    let two = [world.rules().create("new").unwrap(), world.rules().create("sub/new").unwrap()];
    assert_eq!(copy_originals(&two, &world.scratch(), 0).unwrap_err().code(), Code::OutputNameClash);
}

#[test]
fn a_file_that_changed_since_it_was_granted_is_not_copied() {
    let world = World::new();
    let changes: [fn(&std::path::Path); 3] = [
        |path| fs::write(path, "more than it was").unwrap(),
        |path| fs::write(path, "").unwrap(),
        |path| fs::File::options().append(true).open(path).unwrap().set_len(3).unwrap(),
    ];
    for change in changes {
        fs::write(world.folder.at("work/in.csv"), "a,b\n").unwrap();
        let grants = [world.rules().write("in.csv").unwrap()];
        change(&world.folder.at("work/in.csv"));
        let copied = copy_originals(&grants, &world.scratch(), 1000);
        assert_eq!(copied.unwrap_err().code(), Code::FileChanged);
    }
}

#[test]
fn what_an_approval_is_bound_to_changes_with_the_file() {
    let world = World::new();
    let bound = || {
        let mut frame = Frame::new("test", 1);
        world.rules().read("in.csv").unwrap().identity().write_to(&mut frame);
        frame.into_bytes()
    };
    let before = bound();
    assert_eq!(bound(), before);
    world.folder.file("work/in.csv", "a;b\n");
    assert_ne!(bound(), before);
}
