//! What is known of an artifact beside its content.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::Sha256;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::{ArtifactError, failed};
use crate::own::OwnDir;
use fumehood_core::id::ArtifactId;

/// An artifact without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Its name.
    pub id: ArtifactId,
    /// The agent it belongs to: a label that the host gives.
    pub agent: String,
    /// The run it came from: a label that the host gives.
    pub run: String,
    /// Bytes of its content.
    pub bytes: u64,
    /// Lines of its content; a last one without a newline counts.
    pub lines: u64,
    /// SHA-256 of its content, as 64 hex digits.
    pub sha256: String,
    /// When it was started.
    pub created: SystemTime,
}

/// Who asks for an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker<'a> {
    /// An agent, which sees its own artifacts only.
    Agent(&'a str),
    /// The person at this machine, who sees all.
    Person,
}

/// The file beside the content.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema_version: u32,
    agent: String,
    run: String,
    bytes: u64,
    lines: u64,
    sha256: String,
    created_ms: u64,
}

impl Asker<'_> {
    /// Whether an artifact of this agent is there for the asker.
    pub(super) fn sees(self, agent: &str) -> bool {
        match self {
            Self::Agent(own) => own == agent,
            Self::Person => true,
        }
    }
}

impl ArtifactInfo {
    /// An estimate of what the content costs a model: 2.8 bytes a token, as in logs and code, rounded up.
    pub fn tokens(&self) -> u64 {
        estimate_tokens(self.bytes)
    }

    pub(super) fn write(&self, folder: &OwnDir) -> Result<(), ArtifactError> {
        let file = File {
            schema_version: SCHEMA_VERSION,
            agent: self.agent.clone(),
            run: self.run.clone(),
            bytes: self.bytes,
            lines: self.lines,
            sha256: self.sha256.clone(),
            created_ms: milliseconds(self.created),
        };
        let text = toml::to_string(&file).map_err(|_| ArtifactError::Damaged("cannot be described"))?;
        folder.write_file(FILE_NAME, text.as_bytes()).map_err(failed("write the description of an artifact"))
    }

    pub(super) fn read(folder: &OwnDir, id: ArtifactId) -> Result<Self, ArtifactError> {
        let bad = |()| ArtifactError::Damaged("has a description that fumehood did not write");
        let text = match folder.open_file(FILE_NAME) {
            Err(Errno::NOENT) => return Err(ArtifactError::Damaged("has no description")),
            file => file.and_then(|file| file.read(0, FILE_BYTES_MAX + 1)),
        };
        let text = text.map_err(failed("read the description of an artifact"))?;
        if text.len() > FILE_BYTES_MAX {
            return Err(ArtifactError::Damaged("has a description larger than fumehood writes it"));
        }
        let text = String::from_utf8(text).map_err(|_| bad(()))?;
        let file: File = toml::from_str(&text).map_err(|_| bad(()))?;
        let can_be = file.schema_version == SCHEMA_VERSION
            && file.lines <= file.bytes
            && (file.bytes == 0) == (file.lines == 0)
            && is_digest(&file.sha256)
            && is_label(&file.agent)
            && is_label(&file.run);
        if !can_be {
            return Err(bad(()));
        }
        Ok(Self {
            id,
            agent: file.agent,
            run: file.run,
            bytes: file.bytes,
            lines: file.lines,
            sha256: file.sha256,
            created: moment(file.created_ms),
        })
    }
}

/// 2.8 bytes a token, rounded up.
pub fn estimate_tokens(bytes: u64) -> u64 {
    bytes / 28 * 10 + (bytes % 28 * 10).div_ceil(28)
}

/// Labels are the host's words; a limit keeps the description small.
pub(super) fn is_label(text: &str) -> bool {
    (1..=LABEL_BYTES_MAX).contains(&text.len())
}

/// What `Display` of a digest prints.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn moment(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}

pub(super) fn text_of(digest: Sha256) -> String {
    digest.to_string()
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    // TOML's integers have a sign.
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs())
}

const FILE_NAME: &str = "about.toml";
const FILE_BYTES_MAX: usize = 4096;
const LABEL_BYTES_MAX: usize = 256;
const SCHEMA_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_bytes_by_2_8_rounded_up() {
        for (bytes, tokens) in
            [(0, 0), (1, 1), (2, 1), (3, 2), (28, 10), (29, 11), (2800, 1000), (1 << 30, 383_479_223)]
        {
            assert_eq!(estimate_tokens(bytes), tokens, "{bytes}");
        }
        assert_eq!(estimate_tokens(u64::MAX), 6_588_122_883_467_697_006);
    }
}
