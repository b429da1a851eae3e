//! The files that the person writes: opened so that nobody else could have written them, read whole, bounded.

use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::json::Number;
use fumehood_core::{Code, HostPath, Json, Shown};
use rustix::fs::OFlags;

use crate::home::Home;

/// One file of the config folder.
#[derive(Clone, Copy)]
pub(crate) struct ConfigFile {
    pub(crate) name: &'static str,
    pub(crate) bytes_max: u64,
    /// The code for what is no text of ours to read.
    pub(crate) invalid: Code,
}

/// Why the file was not read.
pub(crate) struct Refused {
    pub(crate) path: PathBuf,
    pub(crate) message: String,
    pub(crate) code: Code,
}

impl ConfigFile {
    /// The text, if there is such a file. The folder comes first: in a folder of others the file could be anything.
    pub(crate) fn read(self, home: &Home) -> Result<Option<String>, Refused> {
        let path = home.config.join(self.name);
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unopened(path, &error)),
            Ok(_) => check_unwritable(&home.config)?,
        }
        // A FIFO would hold us until somebody writes into it.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            // Also where a link leads to nothing: something is there, and it is not what the person meant to say.
            Err(error) => Err(unopened(path, &error)),
            Ok(file) => self.read_private(&file, &path).map(Some),
        }
    }

    fn read_private(self, file: &std::fs::File, path: &Path) -> Result<String, Refused> {
        let error =
            |code, message: &str| Refused { path: path.to_path_buf(), message: message.to_owned(), code };
        let metadata = file.metadata().map_err(|_| error(self.invalid, "cannot be read"))?;
        if !metadata.is_file() {
            return Err(error(self.invalid, "is no regular file"));
        }
        if !is_ours(&metadata) {
            return Err(error(
                Code::HomeRefused,
                "the file can be written by others; own it and set its mode to 0600",
            ));
        }
        let mut bytes = Vec::new();
        let read = file.take(self.bytes_max + 1).read_to_end(&mut bytes);
        read.map_err(|_| error(self.invalid, "cannot be read"))?;
        if bytes.len() as u64 > self.bytes_max {
            return Err(error(
                self.invalid,
                &format!("the file is larger than {} KiB", self.bytes_max >> 10),
            ));
        }
        String::from_utf8(bytes).map_err(|_| error(self.invalid, "the file is not UTF-8 text"))
    }
}

fn unopened(path: PathBuf, error: &std::io::Error) -> Refused {
    Refused { path, message: format!("cannot be opened: {}", error.kind()), code: Code::StateUnavailable }
}

/// The folder: whoever can write in it can put another file in place.
fn check_unwritable(folder: &Path) -> Result<(), Refused> {
    match std::fs::metadata(folder) {
        Ok(metadata) if is_ours(&metadata) => Ok(()),
        _ => Err(Refused {
            path: folder.to_path_buf(),
            message: "the folder can be written by others; own it and set its mode to 0700".to_owned(),
            code: Code::HomeRefused,
        }),
    }
}

/// Whether nobody but the caller and root can write it.
fn is_ours(metadata: &std::fs::Metadata) -> bool {
    let owner = metadata.uid();
    (owner == 0 || owner == rustix::process::geteuid().as_raw()) && metadata.mode() & 0o022 == 0
}

/// A place that is written in such a file. Real paths are compared with it, so one behind a link would contain none, and
/// whoever could turn the link would choose what it contains. The error stands after the text.
pub(crate) fn place(text: &str) -> Result<HostPath, String> {
    let place = HostPath::parse(text).map_err(|error| error.as_str().to_owned())?;
    // One that is not there yet is taken as it is.
    match std::fs::canonicalize(place.as_str()) {
        Ok(real) if real != Path::new(place.as_str()) => {
            Err(format!("leads through a link; write \"{}\"", Shown::inline(&real.to_string_lossy())))
        }
        _ => Ok(place),
    }
}

/// A value of TOML as the same value of JSON.
pub(crate) fn json(value: toml::Value, depth_left: usize) -> Result<Json, &'static str> {
    let depth_left = depth_left.checked_sub(1).ok_or("a value is nested too deep")?;
    Ok(match value {
        toml::Value::String(text) => Json::String(text),
        toml::Value::Integer(number) => Json::Number(Number::from(number)),
        toml::Value::Float(number) => Json::Number(Number::from_f64(number).ok_or("a number is not finite")?),
        toml::Value::Boolean(value) => Json::Bool(value),
        toml::Value::Datetime(_) => return Err("dates have no meaning here; quote them"),
        toml::Value::Array(items) => {
            Json::Array(items.into_iter().map(|item| json(item, depth_left)).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(entries) => {
            let entries = entries.into_iter();
            let entries = entries.map(|(key, value)| json(value, depth_left).map(|value| (key, value)));
            Json::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}
