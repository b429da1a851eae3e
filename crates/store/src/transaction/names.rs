//! Which names a run may give a file.

use fumehood_core::path::{COMPONENT_BYTES_MAX, PATH_BYTES_MAX, PATH_COMPONENTS_MAX, collision_key};
use fumehood_core::shown::is_hidden;

use super::error::RefusedReason;

/// What our own folders in the person's folders begin with. Never unlocked.
pub(super) const OURS: &str = ".fumehood-";

/// Reads one name. `unlocked` are names that the deployer allows although they are protected, spelled exactly so.
pub(super) fn check_name<'n>(name: &'n [u8], unlocked: &[String]) -> Result<&'n str, RefusedReason> {
    let text = check_text(name)?;
    let key = collision_key(text);
    if key.starts_with(OURS) {
        return Err(RefusedReason::Protected);
    }
    if key.starts_with('.') && !unlocked.iter().any(|name| name == text) {
        return Err(RefusedReason::Protected);
    }
    Ok(text)
}

/// Reads a name that a person chose: as [`check_name`], but a leading dot is theirs to choose.
pub(super) fn check_text(name: &[u8]) -> Result<&str, RefusedReason> {
    let text = std::str::from_utf8(name).map_err(|_| RefusedReason::Encoding)?;
    if text.chars().any(is_hidden) {
        return Err(RefusedReason::HiddenCharacter);
    }
    Ok(text)
}

/// The path of a name in a folder; the empty path is the folder that everything is below.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// A path taken apart in its folder and its name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

pub(super) fn is_too_deep(path: &[u8]) -> bool {
    path.len() > PATH_BYTES_MAX || path.split(|byte| *byte == b'/').count() > PATH_COMPONENTS_MAX
}

/// Whether a text read back from a record is a path that could have been written there.
pub(super) fn is_plain_path(path: &str) -> bool {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= COMPONENT_BYTES_MAX;
    !is_too_deep(path.as_bytes()) && path.split('/').all(plain) && !path.chars().any(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stand_for_protected_ones_are_refused() {
        use RefusedReason::{Encoding, HiddenCharacter, Protected};
        let cases: [(&[u8], Option<RefusedReason>); 20] = [
            (b"a.txt", None),
            (b"12:30 report?.log", None),
            ("größe 漢字.md".as_bytes(), None),
            (b"git", None),
            (b"a.git", None),
            (b".hidden", Some(Protected)),
            (b".git", Some(Protected)),
            (b".GIT", Some(Protected)),
            (b".Git", Some(Protected)),
            (b"...", Some(Protected)),
            // A full-width dot, and a dot leader, are dots to whoever normalises.
            ("\u{ff0e}git".as_bytes(), Some(Protected)),
            ("\u{2024}git".as_bytes(), Some(Protected)),
            // Ignored by one file system that is well known for it.
            (".g\u{200c}it".as_bytes(), Some(HiddenCharacter)),
            ("\u{200c}.git".as_bytes(), Some(HiddenCharacter)),
            ("a\u{202e}b".as_bytes(), Some(HiddenCharacter)),
            (b"a\nb", Some(HiddenCharacter)),
            (b"a\x1b[2Jb", Some(HiddenCharacter)),
            (b"a\x7f", Some(HiddenCharacter)),
            (b"a\xff", Some(Encoding)),
            (b".fumehood-x", Some(Protected)),
        ];
        for (name, reason) in cases {
            assert_eq!(check_name(name, &[]).err(), reason, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn only_the_very_name_is_unlocked() {
        let unlocked = [".github".to_owned(), ".fumehood-x".to_owned()];
        assert!(check_name(b".github", &unlocked).is_ok());
        for name in [&b".GitHub"[..], b".git", b".github2", b".fumehood-x"] {
            assert_eq!(check_name(name, &unlocked), Err(RefusedReason::Protected));
        }
    }

    #[test]
    fn a_path_in_a_record_cannot_lead_elsewhere() {
        assert!(is_plain_path("a/b c"));
        for path in ["", "/a", "a//b", "..", "a/../b", "./a", "a/", "a\nb"] {
            assert!(!is_plain_path(path), "{path}");
        }
        assert!(is_plain_path(&"a/".repeat(32)[..63]) && !is_plain_path(&"a/".repeat(33)[..65]));
    }
}
