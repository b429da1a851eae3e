//! Files that a run was asked for, and folders for all the rest.

use super::RefusedReason as Reason;
use super::*;

impl Desk {
    fn outputs(&self, expected: Vec<Expected>, rest: Option<&Place>) -> Result<Changes, TransactionError> {
        Changes::of_outputs(open(&self.scratch.at("out")), expected, rest, ChangeLimits::default())
    }

    /// Why outputs are refused when all of `out` goes to `ws`.
    fn rest_refused(&self) -> Vec<Reason> {
        let (before, outside) = (self.ws(), tree(&self.scratch.at("outside")));
        let error = self.outputs(Vec::new(), Some(&self.place("ws"))).unwrap_err();
        let TransactionError::Refused { refused, .. } = error else { panic!("{error}") };
        assert_eq!((self.ws(), tree(&self.scratch.at("outside"))), (before, outside));
        refused.into_iter().map(|refused| refused.reason).collect()
    }
}

// DESIGN 5: never over an existing file for create.
#[test]
fn a_created_file_is_made_where_nothing_is() {
    let desk = Desk::new();
    let create = || Expected::create("report", &desk.place("ws"), "report.txt");
    let expected = create().unwrap();
    desk.file("out/report", "r");
    desk.apply(&desk.outputs(vec![expected], None).unwrap()).unwrap();
    assert_eq!(desk.ws(), files(&[("report.txt", "r")]));
    assert_eq!(create().unwrap_err().code(), Code::WorkspaceRefused);
    // It comes to be between the two looks, or between the second one and the move.
    fs::remove_file(desk.scratch.at("ws/report.txt")).unwrap();
    let (early, late) = (create().unwrap(), create().unwrap());
    let changes = desk.outputs(vec![late], None).unwrap();
    desk.file("ws/report.txt", "somebody's");
    assert_eq!(desk.outputs(vec![early], None).unwrap_err().code(), Code::WorkspaceRefused);
    assert_eq!(desk.apply(&changes).unwrap_err().code(), Code::WorkspaceConflict);
    assert_eq!(desk.ws(), files(&[("report.txt", "somebody's")]));
    desk.no_trace();
}

// DESIGN 5: moved into place if the original is unchanged.
#[test]
fn a_written_file_replaces_the_original_if_that_is_unchanged() {
    let desk = Desk::new();
    // The person named it, so the dot is theirs.
    desk.file("ws/.env", "1");
    let write = || Expected::write("env", &desk.place("ws"), ".env").unwrap();
    let expected = write();
    desk.file("out/env", "2");
    desk.apply(&desk.outputs(vec![expected], None).unwrap()).unwrap();
    assert_eq!(desk.ws(), files(&[(".env", "2")]));
    let (early, late) = (write(), write());
    desk.file("out/env", "3");
    let changes = desk.outputs(vec![late], None).unwrap();
    desk.file("ws/.env", "9");
    assert_eq!(desk.outputs(vec![early], None).unwrap_err().code(), Code::WorkspaceConflict);
    assert_eq!(desk.apply(&changes).unwrap_err().code(), Code::WorkspaceConflict);
    assert_eq!(desk.ws(), files(&[(".env", "9")]));
    // What the run did not write is no change, and no removal.
    let expected = write();
    fs::remove_file(desk.scratch.at("out/env")).unwrap();
    assert!(desk.outputs(vec![expected], None).unwrap().is_empty());
}

#[test]
fn what_a_person_may_not_have_written_is_refused_before_the_run() {
    let desk = Desk::new();
    desk.file("ws/tool", "");
    desk.scratch.mode("ws/tool", 0o755);
    desk.file("ws/two", "");
    fs::hard_link(desk.scratch.at("ws/two"), desk.scratch.at("outside/two")).unwrap();
    desk.scratch.link("ws/link", "two");
    desk.scratch.fifo("ws/fifo");
    desk.scratch.folder("ws/folder");
    let place = desk.place("ws");
    for (name, reason) in [
        ("tool", Reason::Executable),
        ("two", Reason::LinkedTarget),
        ("link", Reason::Link),
        ("fifo", Reason::Special),
        ("folder", Reason::Exists),
    ] {
        let error = Expected::write("x", &place, name).unwrap_err();
        let TransactionError::Refused { refused, .. } = error else { panic!("{error}") };
        assert_eq!(refused[0].reason, reason, "{name}");
    }
    for name in ["none", "..", ".", "", "sub/x", "/x", "a\nb", ".fumehood-x"] {
        assert_eq!(Expected::write("x", &place, name).unwrap_err().code(), Code::WorkspaceFailed, "{name:?}");
    }
    for name in ["..", ".", "", "sub/x", "/x", "a\nb", ".fumehood-x"] {
        assert_eq!(
            Expected::create("x", &place, name).unwrap_err().code(),
            Code::WorkspaceFailed,
            "{name:?}"
        );
    }
}

#[test]
fn an_output_that_is_no_plain_file_is_refused() {
    let make: [Refusal; 5] = [
        (|desk| drop(desk.scratch.link("out/x", "/etc/passwd")), Reason::Link),
        (|desk| drop(desk.scratch.fifo("out/x")), Reason::Special),
        (|desk| drop(desk.scratch.socket("out/x")), Reason::Special),
        (|desk| desk.whiteout("out/x"), Reason::Special),
        (
            |desk| {
                let secret = desk.file("outside/secret", "s");
                fs::hard_link(secret, desk.scratch.at("out/x")).unwrap();
            },
            Reason::LinkedSource,
        ),
    ];
    for (make, reason) in make {
        let desk = Desk::new();
        let expected = Expected::create("x", &desk.place("ws"), "x").unwrap();
        make(&desk);
        let error = desk.outputs(vec![expected], None).unwrap_err();
        let TransactionError::Refused { refused, .. } = error else { panic!("{error}") };
        assert_eq!(refused[0].reason, reason);
        assert_eq!(desk.rest_refused(), [reason]);
    }
    let desk = Desk::new();
    let expected = Expected::create("x", &desk.place("ws"), "x").unwrap();
    desk.file("out/x/y", "");
    let error = desk.outputs(vec![expected], None).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceRefused);
}

#[test]
fn what_nobody_asked_for_is_refused_where_there_is_no_place_for_it() {
    let desk = Desk::new();
    desk.file("out/extra", "e");
    let error = desk.outputs(Vec::new(), None).unwrap_err();
    let TransactionError::Refused { refused, .. } = error else { panic!("{error}") };
    assert_eq!(refused[0].reason, Reason::Unexpected);
    let expected = Expected::create("named", &desk.place("outside"), "named").unwrap();
    desk.file("out/named", "n");
    let applied = desk.apply(&desk.outputs(vec![expected], Some(&desk.place("ws"))).unwrap()).unwrap();
    assert_eq!(applied.len(), 2);
    assert_eq!(desk.ws(), files(&[("extra", "e")]));
    assert_eq!(tree(&desk.scratch.at("outside")), files(&[("named", "n")]));
}

#[test]
fn all_files_of_an_output_folder_are_made_and_none_is_written_over() {
    let desk = Desk::new();
    desk.file("ws/have/a", "mine");
    desk.file("out/have/b", "b");
    desk.file("out/new/deep/c", "c");
    desk.apply(&desk.outputs(Vec::new(), Some(&desk.place("ws"))).unwrap()).unwrap();
    assert_eq!(desk.ws(), files(&[("have/a", "mine"), ("have/b", "b"), ("new/deep/c", "c")]));
    // Now all of it is there.
    assert_eq!(desk.rest_refused(), [Reason::Exists; 2]);
    for path in ["out/have/A", "out/.x", "out/HAVE/x"] {
        let desk = Desk::new();
        desk.file("ws/have/a", "mine");
        desk.file(path, "");
        assert_eq!(desk.rest_refused().len(), 1, "{path}");
    }
    // A link of the person is no folder, wherever it leads.
    let desk = Desk::new();
    desk.scratch.link("ws/sub", desk.scratch.at("outside"));
    desk.file("out/sub/x", "");
    assert_eq!(desk.rest_refused(), [Reason::Exists]);
}

// Files that are named one by one, and the folder for all others, may be of one folder of the person.
#[test]
fn several_files_go_to_one_folder() {
    let desk = Desk::new();
    desk.file("ws/report", "1");
    let write = Expected::write("report", &desk.place("ws"), "report").unwrap();
    let create = Expected::create("new", &desk.place("ws"), "made").unwrap();
    for name in ["report", "new", "rest"] {
        desk.file(&format!("out/{name}"), name);
    }
    let changes = desk.outputs(vec![write, create], Some(&desk.place("ws"))).unwrap();
    desk.apply(&changes).unwrap();
    assert_eq!(desk.ws(), files(&[("made", "new"), ("report", "report"), ("rest", "rest")]));
    desk.no_trace();
}
