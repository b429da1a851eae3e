//! Absolute paths of the host, as values that can be compared.

use core::fmt;

use crate::code::{Code, Coded};

/// An absolute path of the host that is text, written in one way: no empty component, no `.`, no `..`, no slash at the end.
///
/// It names a place and proves nothing about it; whether links lie on the way is for whoever opens it. Two are compared
/// component by component, each byte by byte: `/srv/a` does not contain `/srv/ab`, and no character stands for others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPath(String);

/// Why a text is no [`HostPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostPathError {
    /// It does not begin with `/`.
    Relative,
    /// It has a component `..`: where that leads depends on links.
    Parent,
    /// It has more bytes than Linux takes.
    TooLong,
    /// It holds a NUL or another control character.
    Control,
}

/// Bytes of a path, at most: what Linux takes, less the NUL.
pub const HOST_PATH_BYTES_MAX: usize = 4095;

impl HostPath {
    /// Reads a path. Doubled slashes, components `.` and a slash at the end are taken out; nothing else is changed.
    ///
    /// # Errors
    /// [`HostPathError`] with code `E_SKILL_SOURCE_PATH_REJECTED`.
    ///
    /// ```
    /// use fumehood_core::HostPath;
    /// let folder = HostPath::parse("/srv//papers/./").unwrap();
    /// assert_eq!(folder.as_str(), "/srv/papers");
    /// assert!(folder.contains(&HostPath::parse("/srv/papers/a.txt").unwrap()));
    /// assert!(!folder.contains(&HostPath::parse("/srv/papers2").unwrap()));
    /// assert!(HostPath::parse("/srv/../etc").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, HostPathError> {
        match () {
            () if !text.starts_with('/') => return Err(HostPathError::Relative),
            () if text.len() > HOST_PATH_BYTES_MAX => return Err(HostPathError::TooLong),
            () if text.chars().any(char::is_control) => return Err(HostPathError::Control),
            () if text.split('/').any(|component| component == "..") => return Err(HostPathError::Parent),
            () => {}
        }
        let components = text.split('/').filter(|component| !matches!(*component, "" | "."));
        let mut path = String::new();
        for component in components {
            path.push('/');
            path.push_str(component);
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the other path is this one or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        let Some(rest) = other.0.strip_prefix(self.0.trim_end_matches('/')) else { return false };
        rest.is_empty() || rest.starts_with('/')
    }

    /// Whether it has a character that other programs read as a pattern: `*`, `?` or `[`. Here it would stand for itself,
    /// which whoever wrote it may not have meant.
    pub fn looks_like_a_pattern(&self) -> bool {
        self.0.contains(['*', '?', '['])
    }
}

impl HostPathError {
    /// The reason, to stand after "the path".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relative => "is not absolute",
            Self::Parent => "has a component '..'",
            Self::TooLong => "is longer than 4095 bytes",
            Self::Control => "holds a control character",
        }
    }
}

impl Coded for HostPathError {
    fn code(&self) -> Code {
        Code::PathRejected
    }
}

impl fmt::Display for HostPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the path {}", self.as_str())
    }
}

impl core::error::Error for HostPathError {}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> HostPath {
        HostPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_path_is_written_in_one_way() {
        for (text, written) in [
            ("/", "/"),
            ("//", "/"),
            ("/.", "/"),
            ("/a", "/a"),
            ("/a/", "/a"),
            ("//a/./b//.", "/a/b"),
            ("/a b/…", "/a b/…"),
            ("/.git/...", "/.git/..."),
        ] {
            assert_eq!(path(text).as_str(), written, "{text}");
            assert_eq!(path(written), path(text));
        }
        let long = format!("/{}", "a".repeat(HOST_PATH_BYTES_MAX - 1));
        assert!(HostPath::parse(&long).is_ok());
        for (text, error) in [
            ("", HostPathError::Relative),
            ("a/b", HostPathError::Relative),
            ("~/a", HostPathError::Relative),
            ("/a/..", HostPathError::Parent),
            ("/../a", HostPathError::Parent),
            ("/a\0", HostPathError::Control),
            ("/a\n", HostPathError::Control),
            ("/a\u{1b}[2J", HostPathError::Control),
            (&format!("{long}a"), HostPathError::TooLong),
        ] {
            assert_eq!(HostPath::parse(text), Err(error), "{text}");
        }
    }

    // EXE-51: by component, and no character is special.
    #[test]
    fn a_place_contains_itself_and_what_is_below() {
        for (root, inside) in [("/", "/"), ("/", "/a"), ("/a", "/a"), ("/a", "/a/b"), ("/a/*", "/a/*/b")] {
            assert!(path(root).contains(&path(inside)), "{root} {inside}");
        }
        for (root, outside) in
            [("/a", "/"), ("/a", "/ab"), ("/a/b", "/a"), ("/a", "/A"), ("/a/*", "/a/b"), ("/a", "/b/a")]
        {
            assert!(!path(root).contains(&path(outside)), "{root} {outside}");
        }
        assert!(path("/a/*").looks_like_a_pattern() && path("/a?").looks_like_a_pattern());
        assert!(!path("/a.b-c_d").looks_like_a_pattern());
    }
}
