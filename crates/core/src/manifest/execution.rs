//! `execution.json`: the claim that a skill is one checked tool, JSON in and JSON out.

use core::time::Duration;

use super::fields::{Fields, Value, parse};
use super::words::version;
use super::{ManifestError, ManifestErrorKind};
use crate::limits::BUNDLE_FILES_MAX;
use crate::path::{PathSet, RelPath};
use crate::schema::Schema;
use crate::shown::Shown;

/// A well-formed `execution.json`, schema version 1.
///
/// All fields are required but the last two. An unknown field or version, a key that stands twice and a value out of
/// range are refused; nothing is clamped.
///
/// | field | what |
/// |---|---|
/// | `schemaVersion` | 1 |
/// | `entrypoint` | one of `files`, ending in `.mjs` or `.cjs` in lower case |
/// | `files` | 1 to 64 paths, no two of which are one file on any system |
/// | `inputSchema` | the strict schema subset, an explicit object at the root |
/// | `outputSchema` | the strict schema subset |
/// | `timeoutMs` | whole number, 1,000 to 120,000; 60,000 when absent |
/// | `maxOutputBytes` | whole number, 1 KiB to 256 KiB; 64 KiB when absent |
#[derive(Clone, Debug)]
pub struct ExecutionManifest {
    entrypoint: RelPath,
    files: Vec<RelPath>,
    input_schema: Schema,
    output_schema: Schema,
    timeout_ms: u32,
    output_bytes_max: u32,
}

/// What an entry point may end in. Plain `.js` changes its meaning with files around it (CHK-091).
pub const ENTRYPOINT_EXTENSIONS: [&str; 2] = ["mjs", "cjs"];
/// Milliseconds that a checked run may take when the manifest does not say.
pub const EXECUTION_TIMEOUT_MS_DEFAULT: u32 = 60_000;
/// Milliseconds that a manifest may ask for, at least.
pub const EXECUTION_TIMEOUT_MS_MIN: u32 = 1_000;
/// Milliseconds that a manifest may ask for, at most.
pub const EXECUTION_TIMEOUT_MS_MAX: u32 = 120_000;
/// Bytes of result when the manifest does not say.
pub const EXECUTION_OUTPUT_BYTES_DEFAULT: u32 = 64 << 10;
/// Bytes of result that a manifest may ask for, at least.
pub const EXECUTION_OUTPUT_BYTES_MIN: u32 = 1 << 10;
/// Bytes of result that a manifest may ask for, at most.
pub const EXECUTION_OUTPUT_BYTES_MAX: u32 = 256 << 10;

impl ExecutionManifest {
    /// Reads a manifest of at most 64 KiB.
    ///
    /// # Errors
    /// [`ManifestError`] for the first fault: a code of JSON, of paths or of schemas, or `E_MANIFEST_FIELD`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let json = parse(bytes)?;
        let mut fields = Fields::of(&json, "")?;
        version(&mut fields)?;
        let files = files(&fields.required("files")?)?;
        let entrypoint = entrypoint(&fields.required("entrypoint")?, &files)?;
        let input_schema = fields.required("inputSchema")?.schema(Schema::compile_object)?;
        let output_schema = fields.required("outputSchema")?.schema(Schema::compile)?;
        let timeout_ms = match fields.optional("timeoutMs") {
            Some(value) => value.count(EXECUTION_TIMEOUT_MS_MIN, EXECUTION_TIMEOUT_MS_MAX)?,
            None => EXECUTION_TIMEOUT_MS_DEFAULT,
        };
        let output_bytes_max = match fields.optional("maxOutputBytes") {
            Some(value) => value.count(EXECUTION_OUTPUT_BYTES_MIN, EXECUTION_OUTPUT_BYTES_MAX)?,
            None => EXECUTION_OUTPUT_BYTES_DEFAULT,
        };
        fields.finish()?;
        Ok(Self { entrypoint, files, input_schema, output_schema, timeout_ms, output_bytes_max })
    }

    /// The file that would be run.
    pub fn entrypoint(&self) -> &RelPath {
        &self.entrypoint
    }

    /// The files that would be staged, in the manifest's order, the entry point among them.
    pub fn files(&self) -> &[RelPath] {
        &self.files
    }

    /// The paths that must be plain files of the skill: the same as [`files`](Self::files).
    pub fn declared_paths(&self) -> impl Iterator<Item = &RelPath> {
        self.files.iter()
    }

    /// What arguments must look like.
    pub fn input_schema(&self) -> &Schema {
        &self.input_schema
    }

    /// What a result must look like.
    pub fn output_schema(&self) -> &Schema {
        &self.output_schema
    }

    /// How long a run may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(u64::from(self.timeout_ms))
    }

    /// Bytes that the result may have.
    pub fn output_bytes_max(&self) -> u32 {
        self.output_bytes_max
    }
}

fn files(value: &Value<'_>) -> Result<Vec<RelPath>, ManifestError> {
    let mut set = PathSet::default();
    let mut files = Vec::new();
    for item in value.items(1..=BUNDLE_FILES_MAX)? {
        let path = item.path()?;
        set.insert(&path).map_err(|other| {
            let message = if other == path {
                "it is listed already".to_owned()
            } else {
                let other = Shown::inline(other.as_str());
                format!("on some systems it is the same file as '{other}'; rename one")
            };
            item.refuse(ManifestErrorKind::Collision, message)
        })?;
        files.push(path);
    }
    Ok(files)
}

fn entrypoint(value: &Value<'_>, files: &[RelPath]) -> Result<RelPath, ManifestError> {
    let path = value.path()?;
    if !path.extension().is_some_and(|extension| ENTRYPOINT_EXTENSIONS.contains(&extension)) {
        return Err(value.out_of_rule("end in .mjs or .cjs"));
    }
    if !files.contains(&path) {
        return Err(value.out_of_rule("be one of the paths in 'files', spelled the same"));
    }
    Ok(path)
}
