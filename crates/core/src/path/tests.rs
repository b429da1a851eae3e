use super::*;

fn refused(text: &str) -> Option<PathReason> {
    RelPath::parse(text).err().map(|e| e.reason)
}

// CHK-090, EXE-48, EXE-60: one case for each reason, and its accepted twin.
#[test]
fn every_rejection_has_its_reason() {
    let long = "a/".repeat(512) + "a";
    let wide = "a".repeat(256);
    let deep = vec!["a"; 33].join("/");
    let cases = [
        ("", PathReason::Empty),
        (&long, PathReason::TooLong),
        (&deep, PathReason::TooDeep),
        (&wide, PathReason::ComponentTooLong),
        ("a\0b", PathReason::Nul),
        ("a\nb", PathReason::Control),
        ("a\u{9b}b", PathReason::Control),
        ("/etc/passwd", PathReason::Absolute),
        ("//host/share", PathReason::Unc),
        ("\\\\host\\share", PathReason::Unc),
        ("\\\\?\\C:\\x", PathReason::Device),
        ("\\\\.\\pipe\\x", PathReason::Device),
        ("C:x", PathReason::Drive),
        ("c:/x", PathReason::Drive),
        ("~/x", PathReason::Home),
        ("~root", PathReason::Home),
        ("..", PathReason::Parent),
        ("a/../b", PathReason::Parent),
        ("./a", PathReason::Current),
        ("a/.", PathReason::Current),
        ("a//b", PathReason::EmptyComponent),
        ("a/", PathReason::EmptyComponent),
        ("a\\b", PathReason::Backslash),
        ("ab:c", PathReason::Colon),
        ("a*", PathReason::Reserved),
        ("NUL", PathReason::DeviceName),
        ("x/aux.txt", PathReason::DeviceName),
        ("com1", PathReason::DeviceName),
        ("LPT¹.md", PathReason::DeviceName),
        ("con .txt", PathReason::DeviceName),
        ("a.", PathReason::TrailingDotOrSpace),
        ("a /b", PathReason::TrailingDotOrSpace),
        ("...", PathReason::TrailingDotOrSpace),
    ];
    for (text, reason) in cases {
        assert_eq!(refused(text), Some(reason), "{text:?}");
    }
    let longest = "a/".repeat(31) + &"b".repeat(255);
    for good in [
        "SKILL.md",
        "a/~b",
        "a b/c.d",
        ".hidden",
        "..a",
        "com10",
        "console",
        "nul1",
        "auxiliary.md",
        &longest,
    ] {
        assert_eq!(refused(good), None, "{good:?}");
    }
}

// CHK-090
#[test]
fn collisions_ignore_case_and_unicode_form() {
    let pairs = [
        ("a/B.md", "A/b.md"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("x", "x"),
        ("ﬁle", "file"),
        ("Å", "A\u{30a}"),
        // Found by the fuzzer: lower case alone keeps apart what case folding makes one.
        ("straße", "STRASSE"),
        ("Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"),
        ("ŉ", "ʼN"),
        ("ı", "I"),
        ("\u{1e9e}\u{307}", "s\u{1e61}"),
        // A file where the other has a folder, in both orders.
        ("a/b/c", "a"),
        ("A/B", "a/b/c"),
        ("caf\u{e9}/x", "cafe\u{301}"),
    ];
    for (a, b) in pairs {
        let mut set = PathSet::default();
        let (a, b) = (RelPath(a.to_owned()), RelPath(b.to_owned()));
        assert_eq!(set.insert(&a), Ok(()));
        assert_eq!(set.insert(&b), Err(a.clone()), "{a} {b}");
    }
    let mut set = PathSet::default();
    for different in ["a", "b", "c/d", "c/e", "ab", "a.d/x", "c-/x"] {
        assert_eq!(set.insert(&RelPath(different.to_owned())), Ok(()));
    }
}

#[test]
fn parts() {
    let path = RelPath("a/b/c.tar.gz".to_owned());
    assert_eq!((path.file_name(), path.extension()), ("c.tar.gz", Some("gz")));
    assert_eq!(RelPath("a/.env".to_owned()).extension(), None);
    assert_eq!(RelPath("Makefile".to_owned()).extension(), None);
    assert!(path.join("..").is_err());
    assert_eq!(path.join("d").map(|p| p.as_str().to_owned()), Ok("a/b/c.tar.gz/d".to_owned()));
}

proptest::proptest! {
    #[test]
    fn accepted_paths_stay_inside(text in "[a-zA-Z0-9./\\\\:~ \u{0}-\u{1f}é]{0,40}") {
        if let Ok(path) = RelPath::parse(&text) {
            let joined = std::path::Path::new("/root").join(path.as_str());
            assert!(joined.starts_with("/root"));
            assert!(joined.components().all(|c| c != std::path::Component::ParentDir));
            assert_eq!(path.as_str(), text);
        }
    }
}
