//! Paths: what is accepted stays inside, and what is one file somewhere has one key.

use std::path::{Component, Path};

use fumehood_core::path::{COMPONENT_BYTES_MAX, PATH_BYTES_MAX, PATH_COMPONENTS_MAX};
use fumehood_core::{PathSet, RelPath};

use super::{assert_showable, text_of};

/// Each line is a path, and a set takes them in order.
pub fn relpath(bytes: &[u8]) {
    let mut set = PathSet::default();
    let mut taken: Vec<Taken> = Vec::new();
    for line in text_of(bytes).split('\n') {
        let path = match RelPath::parse(line) {
            Ok(path) => path,
            Err(error) => {
                assert_showable(&error.to_string());
                continue;
            }
        };
        assert_plain(&path, line);
        let key = path.collision_key();
        assert_key_is_stable(&path, &key);
        if taken.len() < COMPARED_MAX {
            assert_joins(&path, taken.last().map_or(&path, |last| &last.path));
            assert_set_takes(&mut set, Taken { path, key }, &mut taken);
        }
    }
}

/// A path in the set, and its key.
struct Taken {
    path: RelPath,
    key: String,
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

fn assert_key_is_stable(path: &RelPath, key: &str) {
    // A key need not be a path: full-width letters, which a path may hold, become the plain ones, which it may not.
    if let Ok(folded) = RelPath::parse(key) {
        assert_eq!(folded.collision_key(), key, "{path:?}");
    }
    for other in [path.as_str().to_uppercase(), path.as_str().to_lowercase()] {
        if let Ok(other) = RelPath::parse(&other) {
            assert_eq!(other.collision_key(), key, "{path:?} and {other:?} differ by case only");
        }
    }
}

fn assert_joins(path: &RelPath, below: &RelPath) {
    if let Ok(joined) = path.join(below.as_str()) {
        assert_eq!(joined.as_str(), format!("{path}/{below}"));
        assert_plain(&joined, joined.as_str());
    }
    for climbing in ["..", ".", "", "/x", "../x", "x/../../y", "a\\b"] {
        assert!(path.join(climbing).is_err(), "{path} joined {climbing:?}");
    }
}

/// One file, or a file where the other has a folder.
fn collide(a: &str, b: &str) -> bool {
    let is_inside = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    a == b || is_inside(a, b) || is_inside(b, a)
}

fn assert_set_takes(set: &mut PathSet, next: Taken, taken: &mut Vec<Taken>) {
    let Taken { path, key } = &next;
    let mut earlier = taken.iter().filter(|other| collide(&other.key, key)).map(|other| &other.path);
    let verdict = set.insert(path);
    assert!(set.insert(path).is_err(), "a set took {path:?} twice");
    match verdict {
        Ok(()) => {
            assert_eq!(earlier.next(), None, "a set took {path:?} beside it");
            taken.push(next);
        }
        Err(other) => {
            assert!(earlier.any(|path| *path == other), "{path:?} does not collide with {other:?}");
        }
    }
}
