//! Paths: what is accepted stays inside, and what is one file somewhere has one key.

use std::path::{Component, Path};

use fumehood_core::path::{COMPONENT_BYTES_MAX, PATH_BYTES_MAX, PATH_COMPONENTS_MAX};
use fumehood_core::{PathSet, RelPath};

use super::{assert_showable, text_of};

/// Each line is a path, and a set takes them in order.
pub fn relpath(bytes: &[u8]) {
    let mut set = PathSet::default();
    let mut taken: Vec<RelPath> = Vec::new();
    for line in text_of(bytes).split('\n') {
        let path = match RelPath::parse(line) {
            Ok(path) => path,
            Err(error) => {
                assert_showable(&error.to_string());
                continue;
            }
        };
        assert_plain(&path, line);
        assert_key_is_stable(&path);
        if taken.len() < COMPARED_MAX {
            assert_joins(&path, &taken);
            assert_set_takes(&mut set, &path, &mut taken);
        }
    }
}

/// Every pair of paths is compared, so only so many are.
const COMPARED_MAX: usize = 16;

fn assert_plain(path: &RelPath, text: &str) {
    assert_eq!(path.as_str(), text);
    assert!(text.len() <= PATH_BYTES_MAX);
    assert!(path.components().count() <= PATH_COMPONENTS_MAX);
    for component in path.components() {
        assert!(!component.is_empty() && component.len() <= COMPONENT_BYTES_MAX);
        assert!(component != "." && component != "..");
        assert!(!component.contains(['\\', ':', '<', '>', '"', '|', '?', '*']));
        assert!(!component.contains(char::is_control));
        assert!(!component.ends_with(['.', ' ']));
    }
    assert!(!text.starts_with('~'));
    let below: Vec<_> = Path::new(text).components().collect();
    assert!(below.iter().all(|component| matches!(component, Component::Normal(_))), "{text:?}");
    assert_eq!(below.len(), path.components().count());
    assert!(Path::new("/skill").join(text).starts_with("/skill"));
    assert_eq!(Some(path.file_name()), path.components().last());
}

fn assert_key_is_stable(path: &RelPath) {
    let key = path.collision_key();
    // A key need not be a path: full-width letters, which a path may hold, become the plain ones, which it may not.
    if let Ok(folded) = RelPath::parse(&key) {
        assert_eq!(folded.collision_key(), key, "{path:?}");
    }
    for other in [path.as_str().to_uppercase(), path.as_str().to_lowercase()] {
        if let Ok(other) = RelPath::parse(&other) {
            assert_eq!(other.collision_key(), key, "{path:?} and {other:?} differ by case only");
        }
    }
}

fn assert_joins(path: &RelPath, taken: &[RelPath]) {
    for below in taken.iter().chain([path]) {
        if let Ok(joined) = path.join(below.as_str()) {
            assert_eq!(joined.as_str(), format!("{path}/{below}"));
            assert_plain(&joined, joined.as_str());
        }
    }
    for climbing in ["..", ".", "", "/x", "../x", "x/../../y", "a\\b"] {
        assert!(path.join(climbing).is_err(), "{path} joined {climbing:?}");
    }
}

/// One file, or a file where the other has a folder.
fn collide(a: &RelPath, b: &RelPath) -> bool {
    let (a, b) = (a.collision_key(), b.collision_key());
    a == b || a.starts_with(&format!("{b}/")) || b.starts_with(&format!("{a}/"))
}

fn assert_set_takes(set: &mut PathSet, path: &RelPath, taken: &mut Vec<RelPath>) {
    let earlier: Vec<_> = taken.iter().filter(|other| collide(other, path)).cloned().collect();
    match set.insert(path) {
        Ok(()) => assert!(earlier.is_empty(), "a set took {path:?} beside {earlier:?}"),
        Err(other) => assert!(earlier.contains(&other), "{path:?} does not collide with {other:?}"),
    }
    if earlier.is_empty() {
        taken.push(path.clone());
    }
    assert!(set.insert(path).is_err(), "a set took {path:?} twice");
}
