//! Portable relative paths: the only kind of path a skill can name.

use core::fmt;
use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;

use crate::code::{Code, Coded};

/// A relative path that means the same file on every system: components joined by `/`, none of them special.
///
/// At most 1,024 bytes and 32 components of 255 bytes. What is refused, and why, is [`PathReason`]. The text is
/// kept as given; nothing is normalised away (`a//b` and `./a` are refused, not mended).
///
/// ```
/// use fumehood_core::RelPath;
/// assert!(RelPath::parse("scripts/run.py").is_ok());
/// assert!(RelPath::parse("../run.py").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// A path that was refused, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    /// Why.
    pub reason: PathReason,
}

/// Why a path is not portable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathReason {
    /// No character at all.
    Empty,
    /// More than 1,024 bytes.
    TooLong,
    /// More than 32 components.
    TooDeep,
    /// A component of more than 255 bytes.
    ComponentTooLong,
    /// A NUL character.
    Nul,
    /// Another control character, which file systems of other hosts refuse.
    Control,
    /// Starts with `/`.
    Absolute,
    /// Starts with `//` or `\\`: a network path.
    Unc,
    /// Starts with a drive, such as `C:`.
    Drive,
    /// Starts with `\\?\` or `\\.\`: a device path.
    Device,
    /// Starts with `~`: somebody's home folder.
    Home,
    /// A component `..`.
    Parent,
    /// A component `.`.
    Current,
    /// An empty component: `a//b` or a trailing `/`.
    EmptyComponent,
    /// A backslash, a separator on some systems.
    Backslash,
    /// A colon, which names a stream or a drive on some systems.
    Colon,
    /// One of `< > " | ? *`, which some systems refuse in names.
    Reserved,
    /// A device name such as `NUL`, `COM1` or `aux.txt`.
    DeviceName,
    /// A component that ends in a dot or a space, which some systems drop.
    TrailingDotOrSpace,
    /// A name that is not UTF-8 (found on disk).
    Encoding,
}

/// Bytes in a path, at most.
pub const PATH_BYTES_MAX: usize = 1024;
/// Components in a path, at most.
pub const PATH_COMPONENTS_MAX: usize = 32;
/// Bytes in a component, at most.
pub const COMPONENT_BYTES_MAX: usize = 255;

impl RelPath {
    /// Reads a path.
    ///
    /// # Errors
    /// [`PathError`] with code `E_SKILL_SOURCE_PATH_REJECTED`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::checked(text.to_owned())
    }

    fn checked(text: String) -> Result<Self, PathError> {
        reason_against(&text).map_or(Ok(Self(text)), |reason| Err(PathError { reason }))
    }

    /// This path with more behind it: one component, or several joined by `/`.
    ///
    /// # Errors
    /// [`PathError`] when a component or the whole is refused.
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        Self::checked([&self.0, "/", below].concat())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The part after the last dot of the last component, if the dot is not its first character.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.file_name().rsplit_once('.')?;
        (!stem.is_empty()).then_some(extension)
    }

    /// The components, first to last.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// What is equal for two paths that are one file on a system that ignores case or normalises Unicode.
    pub fn collision_key(&self) -> String {
        collision_key(&self.0)
    }
}

/// What is equal for two names or paths, portable or not, that are one on a system that ignores case or normalises
/// Unicode.
pub fn collision_key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Folding can leave a composable pair behind, and composing can give a new capital: until nothing changes.
    let mut key = fold(text);
    for _ in 0..FOLDS_MAX {
        let again = fold(&key);
        if again == key {
            break;
        }
        key = again;
    }
    key
}

/// Paths of files of one bundle, which can stand beside each other on every system.
#[derive(Clone, Debug, Default)]
pub struct PathSet {
    by_key: BTreeMap<String, RelPath>,
}

impl PathSet {
    /// Adds a path.
    ///
    /// # Errors
    /// The path already here that it collides with: equal, equal but for case or Unicode form, or a file where the
    /// other has a folder.
    pub fn insert(&mut self, path: &RelPath) -> Result<(), RelPath> {
        let key = path.collision_key();
        let folders = key.match_indices('/').map(|(end, _)| &key[..end]);
        let inside = format!("{key}/");
        let below =
            self.by_key.range(inside.clone()..).next().filter(|(other, _)| other.starts_with(&inside));
        let here = folders.chain([key.as_str()]).find_map(|name| self.by_key.get(name));
        if let Some(other) = here.or(below.map(|(_, path)| path)) {
            return Err(other.clone());
        }
        self.by_key.insert(key, path.clone());
        Ok(())
    }
}

/// Upper case and back comes close to Unicode's full case folding: `ß` becomes `ss` and a final sigma an inner one. Where
/// it differs it makes more one (the dotless `ı` becomes `i`), which refuses a bundle and confuses nothing.
fn fold(text: &str) -> String {
    text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// Two rounds are the most that any known text takes.
const FOLDS_MAX: usize = 4;

fn reason_against(text: &str) -> Option<PathReason> {
    let bytes = text.as_bytes();
    match bytes {
        [] => return Some(PathReason::Empty),
        [b'\\', b'\\', b'?' | b'.', b'\\', ..] => return Some(PathReason::Device),
        [b'\\', b'\\', ..] | [b'/', b'/', ..] => return Some(PathReason::Unc),
        [b'/', ..] => return Some(PathReason::Absolute),
        [b'~', ..] => return Some(PathReason::Home),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => return Some(PathReason::Drive),
        _ if bytes.len() > PATH_BYTES_MAX => return Some(PathReason::TooLong),
        _ => {}
    }
    text.chars().find_map(reason_against_char).or_else(|| {
        let deep = text.split('/').count() > PATH_COMPONENTS_MAX;
        if deep { Some(PathReason::TooDeep) } else { text.split('/').find_map(reason_against_component) }
    })
}

fn reason_against_char(c: char) -> Option<PathReason> {
    match c {
        '\0' => Some(PathReason::Nul),
        '\\' => Some(PathReason::Backslash),
        ':' => Some(PathReason::Colon),
        '<' | '>' | '"' | '|' | '?' | '*' => Some(PathReason::Reserved),
        c if c.is_control() => Some(PathReason::Control),
        _ => None,
    }
}

fn reason_against_component(component: &str) -> Option<PathReason> {
    match component {
        "" => Some(PathReason::EmptyComponent),
        "." => Some(PathReason::Current),
        ".." => Some(PathReason::Parent),
        c if c.len() > COMPONENT_BYTES_MAX => Some(PathReason::ComponentTooLong),
        c if c.ends_with(['.', ' ']) => Some(PathReason::TrailingDotOrSpace),
        c if is_device_name(c) => Some(PathReason::DeviceName),
        _ => None,
    }
}

/// Windows reads these as devices in every folder, with any extension and trailing spaces before it.
fn is_device_name(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or(component).trim_end_matches(' ');
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].iter().any(|name| stem.eq_ignore_ascii_case(name)) {
        return true;
    }
    let Some((kind, port)) = stem.split_at_checked(3) else { return false };
    ["COM", "LPT"].iter().any(|name| kind.eq_ignore_ascii_case(name))
        && matches!(port, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "0" | "¹" | "²" | "³")
}

impl PathReason {
    /// The reason, to stand after "the path".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "is empty",
            Self::TooLong => "is longer than 1024 bytes",
            Self::TooDeep => "has more than 32 components",
            Self::ComponentTooLong => "has a component longer than 255 bytes",
            Self::Nul => "holds a NUL character",
            Self::Control => "holds a control character",
            Self::Absolute => "is absolute",
            Self::Unc => "is a network path",
            Self::Drive => "starts with a drive letter",
            Self::Device => "is a device path",
            Self::Home => "starts with '~', a home folder",
            Self::Parent => "has a component '..'",
            Self::Current => "has a component '.'",
            Self::EmptyComponent => "has an empty component or ends in '/'",
            Self::Backslash => "holds a backslash",
            Self::Colon => "holds a colon",
            Self::Reserved => "holds one of < > \" | ? *",
            Self::DeviceName => "has a component that is a device name on Windows",
            Self::TrailingDotOrSpace => "has a component that ends in a dot or a space",
            Self::Encoding => "is not UTF-8",
        }
    }
}

impl Coded for PathError {
    fn code(&self) -> Code {
        Code::PathRejected
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the path {}", self.reason.as_str())
    }
}

impl core::error::Error for PathError {}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
