//! `fumehood.toml`: what the deployer says. Strict; an unknown key is an error, since a typo must not loosen anything.

use std::fmt;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Coded, Shown};
use rustix::fs::OFlags;
use serde::Deserialize;

use crate::home::{Home, Surroundings};

/// The settings of one person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Sources, in the order that decides which of two skills of one name comes first.
    pub sources: Vec<SourceSetting>,
}

/// One configured folder of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSetting {
    /// Its label, which qualified names use.
    pub name: String,
    /// The folder, absolute. A relative path counts from the folder of `fumehood.toml`, `~/` from the home folder.
    pub path: PathBuf,
}

/// Why the settings could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, shown as safe text.
    pub message: String,
    /// `E_CONFIG_INVALID`, or `E_HOME_REFUSED` if others could have written the file or replaced it.
    pub code: Code,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    sources: Vec<SourceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    name: String,
    path: String,
}

impl Settings {
    /// Reads `fumehood.toml`; a missing file is the default.
    ///
    /// Limits: 256 KiB, 64 sources, labels of 1 to 32 characters of `a-z0-9-`.
    ///
    /// # Errors
    /// [`SettingsError`]. Bad settings stop everything; there is no part of them that is used.
    pub fn read(home: &Home, surroundings: &Surroundings) -> Result<Self, SettingsError> {
        let path = home.config.join(FILE_NAME);
        let invalid =
            |message: String| SettingsError { path: path.clone(), message, code: Code::ConfigInvalid };
        let text = match open(home, &path)? {
            Some(file) => read_private(&file, &path)?,
            None => return Ok(Self::default()),
        };
        let file: File = toml::from_str(&text)
            .map_err(|error| invalid(Shown::block(error.to_string().trim_end()).to_string()))?;
        if file.sources.len() > SOURCES_MAX {
            return Err(invalid(format!("more than {SOURCES_MAX} sources")));
        }
        let mut sources: Vec<SourceSetting> = Vec::new();
        for table in file.sources {
            check_label(&table.name).map_err(&invalid)?;
            if sources.iter().any(|source| source.name == table.name) {
                return Err(invalid(format!("two sources are called {}", table.name)));
            }
            let path = absolute(&table.path, home, surroundings).map_err(&invalid)?;
            sources.push(SourceSetting { name: table.name, path });
        }
        Ok(Self { sources })
    }
}

/// Opens the file, if there is one. The folder comes first: in a folder of others the file could be anything.
fn open(home: &Home, path: &Path) -> Result<Option<std::fs::File>, SettingsError> {
    let opened = match path.symlink_metadata() {
        Ok(_) => {
            check_unwritable(&home.config)?;
            // A FIFO would hold us until somebody writes into it.
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
        }
        Err(error) => Err(error),
    };
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SettingsError {
            path: path.to_path_buf(),
            message: format!("cannot be opened: {}", error.kind()),
            code: Code::StateUnavailable,
        }),
    }
}

/// The folder: whoever can write in it can put another file in place.
fn check_unwritable(folder: &Path) -> Result<(), SettingsError> {
    match std::fs::metadata(folder) {
        Ok(metadata) if is_ours(&metadata) => Ok(()),
        _ => Err(SettingsError {
            path: folder.to_path_buf(),
            message: "the folder can be written by others; own it and set its mode to 0700".to_owned(),
            code: Code::HomeRefused,
        }),
    }
}

fn read_private(file: &std::fs::File, path: &Path) -> Result<String, SettingsError> {
    let error =
        |code, message: &str| SettingsError { path: path.to_path_buf(), message: message.to_owned(), code };
    let metadata = file.metadata().map_err(|_| error(Code::ConfigInvalid, "cannot be read"))?;
    if !metadata.is_file() {
        return Err(error(Code::ConfigInvalid, "is no regular file"));
    }
    if !is_ours(&metadata) {
        return Err(error(
            Code::HomeRefused,
            "the file can be written by others; own it and set its mode to 0600",
        ));
    }
    let mut bytes = Vec::new();
    let read = file.take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|_| error(Code::ConfigInvalid, "cannot be read"))?;
    if bytes.len() as u64 > SETTINGS_BYTES_MAX {
        return Err(error(Code::ConfigInvalid, "the file is larger than 256 KiB"));
    }
    String::from_utf8(bytes).map_err(|_| error(Code::ConfigInvalid, "the file is not UTF-8 text"))
}

/// Whether nobody but the caller and root can write it.
fn is_ours(metadata: &std::fs::Metadata) -> bool {
    let owner = metadata.uid();
    (owner == 0 || owner == rustix::process::geteuid().as_raw()) && metadata.mode() & 0o022 == 0
}

fn check_label(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !plain || name.is_empty() || name.len() > LABEL_CHARS_MAX {
        let name = Shown::inline(name);
        return Err(format!(
            "the source name \"{name}\" must be 1 to {LABEL_CHARS_MAX} characters of a-z, 0-9 and -"
        ));
    }
    if RESERVED_LABELS.contains(&name) {
        return Err(format!("the source name {name} is fumehood's own"));
    }
    Ok(())
}

fn absolute(text: &str, home: &Home, surroundings: &Surroundings) -> Result<PathBuf, String> {
    if let Some(rest) = text.strip_prefix("~/") {
        let home =
            surroundings.absolute_home().ok_or("a path starts with ~/ and HOME is no absolute path")?;
        return Ok(home.join(rest));
    }
    if text.is_empty() {
        return Err("a source has an empty path".to_owned());
    }
    Ok(home.config.join(text))
}

/// Labels of the conventional roots.
pub const RESERVED_LABELS: [&str; 4] = ["user-agents", "user-claude", "project-agents", "project-claude"];
const FILE_NAME: &str = "fumehood.toml";
const SETTINGS_BYTES_MAX: u64 = 256 << 10;
const SOURCES_MAX: usize = 64;
const LABEL_CHARS_MAX: usize = 32;

impl Coded for SettingsError {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests;
