//! What is refused of an overlay, each with what is accepted in its place.

use super::RefusedReason as Reason;
use super::*;

/// One thing that a run writes, by what it is refused.
fn refused_alone(make: impl Fn(&Desk), path: &str, reason: Reason) {
    let desk = Desk::new();
    desk.file("ws/a", "1");
    // One refusal refuses all.
    let refused = desk.refused(|| {
        desk.file("changes/good", "g");
        make(&desk);
    });
    assert_eq!(refused, [(path.to_owned(), reason)]);
}

#[test]
fn a_plain_file_is_accepted() {
    let desk = Desk::new();
    assert_eq!(desk.run(|| drop(desk.file("changes/good", "g"))).unwrap().len(), 1);
}

// DESIGN 5: links and special files.
#[test]
fn what_is_no_plain_file_is_refused() {
    refused_alone(|desk| drop(desk.scratch.link("changes/x", "/etc/passwd")), "x", Reason::Link);
    refused_alone(|desk| drop(desk.scratch.link("changes/x", "a")), "x", Reason::Link);
    refused_alone(|desk| drop(desk.scratch.fifo("changes/x")), "x", Reason::Special);
    refused_alone(|desk| drop(desk.scratch.socket("changes/x")), "x", Reason::Special);
    // A link where the workspace has a folder leads nowhere.
    refused_alone(
        |desk| {
            desk.file("outside/secret", "s");
            desk.scratch.link("changes/sub", desk.scratch.at("outside"));
        },
        "sub",
        Reason::Link,
    );
    if fumehood_testkit::is_root() {
        let device = |desk: &Desk| {
            let path = desk.scratch.at("changes/x");
            let null = rustix::fs::makedev(1, 3);
            let mode = Mode::from_raw_mode(0o666);
            rustix::fs::mknodat(rustix::fs::CWD, path, FileType::CharacterDevice, mode, null).unwrap();
        };
        refused_alone(device, "x", Reason::Special);
    }
}

// DESIGN 5: more than one hard link.
#[test]
fn a_written_file_with_a_second_name_is_refused() {
    let link = |desk: &Desk| {
        let secret = desk.file("outside/secret", "s");
        fs::hard_link(secret, desk.scratch.at("changes/x")).unwrap();
    };
    refused_alone(link, "x", Reason::LinkedSource);
}

// DESIGN 5: names with a leading dot, .git.
#[test]
fn protected_names_are_refused_at_every_depth_and_however_written() {
    for path in [".profile", ".git/hooks/pre-commit", ".GIT/x", "sub/.hidden", "sub/.git", "\u{ff0e}git/x"] {
        let top = if path.starts_with("sub/") { path } else { path.split('/').next().unwrap() };
        refused_alone(|desk| drop(desk.file(&format!("changes/{path}"), "x")), top, Reason::Protected);
    }
    refused_alone(|desk| desk.whiteout("changes/.profile"), ".profile", Reason::Protected);
    refused_alone(|desk| drop(desk.file("changes/a\u{1b}[2Jb", "")), "a\u{1b}[2Jb", Reason::HiddenCharacter);
    refused_alone(|desk| drop(desk.file("changes/a\u{200b}", "")), "a\u{200b}", Reason::HiddenCharacter);
    let not_text = |desk: &Desk| {
        use std::os::unix::ffi::OsStrExt as _;
        desk.scratch.file(Path::new("changes").join(std::ffi::OsStr::from_bytes(b"a\xff")), "");
    };
    refused_alone(not_text, "a\u{fffd}", Reason::Encoding);
}

#[test]
fn an_unlocked_name_is_accepted_and_no_other() {
    let desk = Desk::new();
    desk.file("ws/.github/a.yml", "1");
    desk.file("ws/.git/config", "1");
    let unlocked = [".github".to_owned()];
    let baseline = || Baseline::of(&desk.place("ws"), &unlocked, ChangeLimits::default()).unwrap();
    let before = baseline();
    desk.file("changes/.github/a.yml", "2");
    desk.file("changes/.github/.x", "2");
    let error = desk.overlay(before).unwrap_err();
    let TransactionError::Refused { refused, .. } = &error else { panic!("{error}") };
    assert_eq!(refused.len(), 1);
    assert!(refused[0].path.ends_with("/ws/.github/.x"), "{error}");
    assert_eq!(error.code(), Code::WorkspaceRefused);
    fs::remove_file(desk.scratch.at("changes/.github/.x")).unwrap();
    desk.apply(&desk.overlay(baseline()).unwrap()).unwrap();
    assert_eq!(fs::read(desk.scratch.at("ws/.github/a.yml")).unwrap(), b"2");
}

#[test]
fn names_that_are_one_on_some_systems_are_refused() {
    let desk = Desk::new();
    desk.file("ws/Readme", "1");
    desk.file("ws/caf\u{e9}", "1");
    let both = |desk: &Desk| {
        for name in ["README", "cafe\u{301}", "New", "new"] {
            desk.file(&format!("changes/{name}"), "x");
        }
    };
    let refused = desk.refused(|| both(&desk));
    let names: Vec<_> = refused.iter().map(|(path, reason)| (path.as_str(), *reason)).collect();
    let twin = Reason::CaseTwin;
    assert_eq!(names, [("README", twin), ("cafe\u{301}", twin), ("new", twin)]);
    // A file that has such a twin already is just a file.
    let desk = Desk::new();
    desk.file("ws/Readme", "1");
    desk.file("ws/README", "1");
    desk.run(|| drop(desk.file("changes/README", "2"))).unwrap();
    // And a rename is one.
    fs::remove_file(desk.scratch.at("changes/README")).unwrap();
    fs::remove_file(desk.scratch.at("ws/README")).unwrap();
    desk.run(|| {
        desk.file("changes/README", "3");
        desk.whiteout("changes/Readme");
    })
    .unwrap();
    assert_eq!(desk.ws(), files(&[("README", "3")]));
}

// DESIGN 5: targets with an execute bit or more than one hard link.
#[test]
fn files_of_the_person_that_are_more_than_files_are_neither_replaced_nor_removed() {
    let make: [Refusal; 6] = [
        (|desk| desk.scratch.mode("ws/t", 0o755), Reason::Executable),
        (|desk| desk.scratch.mode("ws/t", 0o645), Reason::Executable),
        (|desk| desk.scratch.mode("ws/t", 0o4644), Reason::SetId),
        (
            |desk| fs::hard_link(desk.scratch.at("ws/t"), desk.scratch.at("outside/t")).unwrap(),
            Reason::LinkedTarget,
        ),
        (
            |desk| {
                fs::remove_file(desk.scratch.at("ws/t")).unwrap();
                desk.file("outside/t", "1");
                desk.scratch.link("ws/t", desk.scratch.at("outside/t"));
            },
            Reason::Link,
        ),
        (
            |desk| {
                fs::remove_file(desk.scratch.at("ws/t")).unwrap();
                desk.scratch.fifo("ws/t");
            },
            Reason::Special,
        ),
    ];
    for (make, reason) in make {
        for write in
            [|desk: &Desk| drop(desk.file("changes/t", "2")), |desk: &Desk| desk.whiteout("changes/t")]
        {
            let desk = Desk::new();
            desk.file("ws/t", "1");
            make(&desk);
            assert_eq!(desk.refused(|| write(&desk)), [("t".to_owned(), reason)]);
        }
        // In a folder that is removed as a whole just so.
        let desk = Desk::new();
        desk.file("ws/t", "1");
        make(&desk);
        fs::create_dir(desk.scratch.at("ws/sub")).unwrap();
        fs::rename(desk.scratch.at("ws/t"), desk.scratch.at("ws/sub/t")).unwrap();
        assert_eq!(desk.refused(|| desk.whiteout("changes/sub")), [("sub/t".to_owned(), reason)]);
        assert_eq!(
            desk.refused(|| {
                fs::remove_file(desk.scratch.at("changes/sub")).unwrap();
                desk.opaque("changes/sub");
            }),
            [("sub/t".to_owned(), reason)]
        );
    }
}

#[test]
fn a_folder_that_holds_something_protected_is_not_removed() {
    for inside in ["sub/.git/config", "sub/deep/.env"] {
        let desk = Desk::new();
        desk.file(&format!("ws/{inside}"), "1");
        let refused = desk.refused(|| desk.whiteout("changes/sub"));
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].1, Reason::Protected);
    }
}

#[test]
fn a_file_whose_access_list_would_be_lost_is_not_replaced() {
    let desk = Desk::new();
    desk.file("ws/a", "1");
    // Version 2; the owner, the user 7, the group, the mask, the others.
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, u32::MAX), (2, 6, 7), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 4, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    match rustix::fs::setxattr(desk.scratch.at("ws/a"), "system.posix_acl_access", &list, XattrFlags::empty())
    {
        // Where there are no access lists, none can be lost.
        Err(rustix::io::Errno::NOTSUP) => return,
        set => set.unwrap(),
    }
    let refused = desk.refused(|| drop(desk.file("changes/a", "2")));
    assert_eq!(refused, [("a".to_owned(), Reason::OwnerOrAccess)]);
}

// DESIGN 5: files that somebody else changed meanwhile.
#[test]
fn what_somebody_else_changed_during_the_run_is_a_conflict() {
    let meanwhile: [fn(&Desk); 7] = [
        // The same size, within the same moment.
        |desk| drop(desk.file("ws/sub/a", "9")),
        |desk| fs::remove_file(desk.scratch.at("ws/sub/a")).unwrap(),
        |desk| {
            fs::write(desk.scratch.at("ws/other"), "1").unwrap();
            fs::rename(desk.scratch.at("ws/other"), desk.scratch.at("ws/sub/a")).unwrap();
        },
        |desk| desk.scratch.mode("ws/sub/a", 0o600),
        |desk| fs::hard_link(desk.scratch.at("ws/sub/a"), desk.scratch.at("outside/a")).unwrap(),
        |desk| {
            fs::rename(desk.scratch.at("ws/sub"), desk.scratch.at("outside/sub")).unwrap();
            desk.scratch.link("ws/sub", desk.scratch.at("outside/sub"));
        },
        |desk| {
            fs::rename(desk.scratch.at("ws/sub"), desk.scratch.at("outside/sub")).unwrap();
            desk.file("ws/sub/a", "1");
        },
    ];
    for (number, meanwhile) in meanwhile.into_iter().enumerate() {
        for write in [
            |desk: &Desk| drop(desk.file("changes/sub/a", "2")),
            |desk: &Desk| desk.whiteout("changes/sub/a"),
        ] {
            let desk = Desk::new();
            desk.file("ws/sub/a", "1");
            let baseline = desk.baseline();
            write(&desk);
            meanwhile(&desk);
            let (ws, outside) = (desk.ws(), tree(&desk.scratch.at("outside")));
            let error = desk.overlay(baseline).unwrap_err();
            assert_eq!(error.code(), Code::WorkspaceConflict, "{number}: {error}");
            assert_eq!((desk.ws(), tree(&desk.scratch.at("outside"))), (ws, outside));
        }
    }
    // What somebody made where the run makes something.
    let desk = Desk::new();
    let baseline = desk.baseline();
    desk.file("changes/a", "2");
    desk.file("ws/a", "somebody's");
    assert_eq!(desk.overlay(baseline).unwrap_err().code(), Code::WorkspaceConflict);
    // Whatever else somebody does in the folder is nobody's business.
    let desk = Desk::new();
    desk.file("ws/a", "1");
    let changed = desk.run(|| {
        desk.file("changes/a", "2");
        desk.file("ws/b", "somebody's");
    });
    assert_eq!(changed.unwrap().len(), 1);
}

#[test]
fn marks_of_an_overlay_that_nobody_asked_for_are_refused() {
    for mark in ["redirect", "metacopy", "whiteout"] {
        let marked = |desk: &Desk| {
            let file = desk.file("changes/x", "");
            let name = format!("user.overlay.{mark}");
            rustix::fs::setxattr(file, name, b"/etc", XattrFlags::empty()).unwrap();
        };
        refused_alone(marked, "x", Reason::Mark);
    }
    let other = |desk: &Desk| {
        let folder = desk.scratch.folder("changes/sub");
        rustix::fs::setxattr(folder, "user.overlay.opaque", b"x", XattrFlags::empty()).unwrap();
    };
    let desk = Desk::new();
    desk.file("ws/sub/a", "1");
    assert_eq!(desk.refused(|| other(&desk)), [("sub".to_owned(), Reason::Mark)]);
    // Of what the overlay notes for itself, nothing is thought.
    let desk = Desk::new();
    desk.run(|| {
        let file = desk.file("changes/x", "");
        rustix::fs::setxattr(file, "user.overlay.origin", b"?", XattrFlags::empty()).unwrap();
    })
    .unwrap();
    // A mark that something is gone which never was.
    refused_alone(|desk| desk.whiteout("changes/never"), "never", Reason::Changed);
}

fn limited(changes: usize, bytes: u64) -> ChangeLimits {
    ChangeLimits::new(changes, bytes, 100).unwrap()
}

#[test]
fn more_than_may_be_changed_is_refused_before_anything_is_read() {
    let desk = Desk::new();
    desk.file("changes/a", "12345");
    desk.file("changes/sub/b", "12345");
    let with = |limits| Changes::of_overlay(desk.baseline(), open(&desk.scratch.at("changes")), limits);
    assert!(with(limited(3, 10)).is_ok());
    for limits in [limited(2, 10), limited(3, 9)] {
        assert_eq!(with(limits).unwrap_err().code(), Code::WorkspaceTooLarge);
    }
    // A terabyte that takes no room.
    desk.scratch.sparse("changes/huge", 1 << 40);
    assert_eq!(desk.overlay(desk.baseline()).unwrap_err().code(), Code::WorkspaceTooLarge);
    // What a removed folder holds counts too.
    let desk = Desk::new();
    desk.file("ws/sub/a", "1");
    desk.file("ws/sub/b", "1");
    let baseline = || desk.baseline();
    desk.whiteout("changes/sub");
    let with = |limits| Changes::of_overlay(baseline(), open(&desk.scratch.at("changes")), limits);
    assert!(with(limited(3, 1)).is_ok());
    assert_eq!(with(limited(2, 1)).unwrap_err().code(), Code::WorkspaceTooLarge);
}

#[test]
fn a_hundred_thousand_files_are_refused_soon() {
    let desk = Desk::of(Scratch::for_many());
    for number in 0..100_000 {
        fs::File::create(desk.scratch.at(format!("changes/{number}"))).unwrap();
    }
    let error = desk.overlay(desk.baseline()).unwrap_err();
    let TransactionError::Refused { refused, more } = &error else { panic!("{error}") };
    assert_eq!((refused.len(), *more, error.code()), (1, 0, Code::WorkspaceTooLarge));
}

// No receipt, no success: what a row of the journal has no room for is not applied.
#[test]
fn more_than_a_receipt_has_room_for_is_not_applied() {
    let apply = |files: usize| {
        let desk = Desk::of(Scratch::for_many());
        let deep = ["d"; 2].map(|name| name.repeat(250)).join("/");
        let baseline = desk.baseline();
        for number in 0..files {
            desk.file(&format!("changes/{deep}/{number:0>250}"), "1");
        }
        let changes = desk.overlay(baseline).unwrap();
        let applied = desk.transactions().apply(&changes, receipt(1), &|| false);
        (applied, desk)
    };
    let (applied, _desk) = apply(2000);
    let applied = applied.unwrap();
    let paths: usize = applied.applied().iter().map(|one| one.path.len()).sum();
    assert!(paths > 1 << 20, "{paths}");
    let _ = applied.acknowledge();
    // Fewer than may be changed, whose names are too long together.
    const { assert!(4000 < ChangeLimits::CHANGES_DEFAULT) };
    let (refused, desk) = apply(4000);
    assert_eq!(refused.unwrap_err().code(), Code::WorkspaceTooLarge);
    assert_eq!(fs::read_dir(desk.scratch.at("ws")).unwrap().count(), 0);
}

#[test]
fn only_the_first_refusals_are_listed() {
    let desk = Desk::new();
    for number in 0..REFUSED_MAX + 3 {
        desk.scratch.link(format!("changes/{number}"), "x");
    }
    let error = desk.overlay(desk.baseline()).unwrap_err();
    let TransactionError::Refused { refused, more: 3 } = &error else { panic!("{error}") };
    assert_eq!(refused.len(), REFUSED_MAX);
    assert!(error.to_string().ends_with("is a link (and 66 more)"), "{error}");
}

#[test]
fn deep_folders_end_somewhere() {
    let desk = Desk::new();
    let deepest = "d/".repeat(31);
    desk.run(|| drop(desk.file(&format!("changes/{deepest}a"), "1"))).unwrap();
    assert!(desk.scratch.at(format!("ws/{deepest}a")).is_file());
    let desk = Desk::new();
    let baseline = desk.baseline();
    desk.scratch.chain("changes/d", 2000);
    let error = desk.overlay(baseline).unwrap_err();
    let TransactionError::Refused { refused, .. } = &error else { panic!("{error}") };
    assert_eq!(refused[0].reason, Reason::TooDeep);
}

#[test]
fn limits_have_a_floor_and_a_ceiling() {
    let (changes, bytes, entries) =
        (ChangeLimits::CHANGES_CEILING, ChangeLimits::BYTES_CEILING, ChangeLimits::ENTRIES_CEILING);
    assert!(ChangeLimits::new(changes, bytes, entries).is_ok() && ChangeLimits::new(1, 1, 1).is_ok());
    for (changes, bytes, entries) in
        [(0, 1, 1), (1, 0, 1), (1, 1, 0), (changes + 1, 1, 1), (1, bytes + 1, 1), (1, 1, entries + 1)]
    {
        assert_eq!(ChangeLimits::new(changes, bytes, entries).unwrap_err().code(), Code::ConfigInvalid);
    }
}

#[test]
fn a_folder_with_too_many_entries_cannot_be_given_to_write() {
    let desk = Desk::new();
    desk.file("ws/a", "");
    desk.file("ws/sub/b", "");
    // Nothing below a protected name can change, so nothing of it is counted.
    desk.file("ws/.git/c", "");
    let with = |entries| Baseline::of(&desk.place("ws"), &[], ChangeLimits::new(1, 1, entries).unwrap());
    assert!(with(4).is_ok());
    let error = with(3).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceTooLarge);
    assert!(error.to_string().contains("more than 3 entries"), "{error}");
}

// EXE-66
#[test]
fn a_place_is_an_open_folder_where_its_path_leads() {
    let desk = Desk::new();
    let (ws, outside) = (desk.scratch.at("ws"), desk.scratch.at("outside"));
    assert!(Place::of(open(&ws), &ws).is_ok());
    let link = desk.scratch.link("link", &ws);
    let file = desk.file("file", "");
    for (folder, path) in [(&ws, outside.as_path()), (&ws, &link), (&file, &file), (&ws, Path::new("ws"))] {
        assert_eq!(Place::of(open(folder), path).unwrap_err().code(), Code::WorkspaceFailed);
    }
    let hidden = desk.scratch.folder("a\u{202e}b");
    assert_eq!(Place::of(open(&hidden), &hidden).unwrap_err().code(), Code::WorkspaceFailed);
}
