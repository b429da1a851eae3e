//! The file itself: opened so that nobody else could have written it, read whole, bounded.

use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use fumehood_core::Code;
use rustix::fs::OFlags;

use super::SettingsError;
use crate::home::Home;

/// Opens the file, if there is one. The folder comes first: in a folder of others the file could be anything.
pub(super) fn open(home: &Home, path: &Path) -> Result<Option<std::fs::File>, SettingsError> {
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

pub(super) fn read_private(file: &std::fs::File, path: &Path) -> Result<String, SettingsError> {
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

pub(super) const SETTINGS_BYTES_MAX: u64 = 256 << 10;
