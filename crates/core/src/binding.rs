//! What a consent is bound to: one digest over everything that was shown and would run.
//!
//! Whatever part changes, the digest is another one, and a consent to the old one is good for nothing (CHK-007).

use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::digest::{Sha256, VerifiedRevision};
use crate::frame::Frame;
use crate::id::RunId;
use crate::name::{AgentLabel, ToolName};

/// The digest of [`BindingParts`]. `Display` prints 64 lower-case hexadecimal digits.
///
/// Two bindings are equal exactly when every part is, short of a SHA-256 collision. The framing is version 1, written
/// down in `docs/decisions/0004-binding.md`. It is all that a consent keeps: no argument and no code can be read out of
/// it (CHK-025).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding(Sha256);

/// Everything that a consent is bound to.
///
/// An absent part differs from an empty one.
#[derive(Clone, Copy, Debug)]
pub struct BindingParts<'a> {
    /// Who asks, as the host calls it.
    pub agent: &'a AgentLabel,
    /// The run in which it asks.
    pub run: RunId,
    /// The tool.
    pub tool: &'a ToolName,
    /// The workspace folder, if one is granted.
    pub workspace: Option<&'a WorkspaceIdentity>,
    /// The skill's bytes, if the tool comes from a skill.
    pub revision: Option<VerifiedRevision>,
    /// The deployer's overlay for that skill, if there is one.
    pub overlay: Option<Sha256>,
    /// The arguments: the very bytes that are validated, and sent where bytes are sent.
    pub invocation: &'a [u8],
    /// The rules by which they were validated: [`VALIDATOR_VERSION`](crate::schema::VALIDATOR_VERSION).
    pub validator_version: u32,
    /// The interpreter, if the tool is a script.
    pub interpreter: Option<&'a InterpreterIdentity>,
    /// The whole derived profile in a canonical form: mounts with access and file identity, environment, argument
    /// vector, limits, output limits, floor. Whoever derives it writes it down, by a [`Frame`], so that two forms are
    /// equal only when the profiles are.
    pub profile: &'a [u8],
    /// The policy that was in force.
    pub policy: Sha256,
}

/// A folder as the file system knows it.
///
/// A path alone proves nothing: another folder can take its place (CHK-023). So this is for code that has the folder
/// open, and floor 0 opens nothing: a rule over all sources lets only the store call the constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceIdentity {
    device: u64,
    inode: u64,
    resolved: String,
}

/// The interpreter that runs a script. Made, as [`WorkspaceIdentity`] is, only by the code that read the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterIdentity {
    path: String,
    version: Option<String>,
    sha256: Sha256,
}

impl WorkspaceIdentity {
    /// The identity of a folder that is open: what `fstat` says of the handle, and the absolute path behind all links.
    ///
    /// A path that is no text cannot be shown as it is, so nobody could consent to it, and it has no identity.
    pub fn of_open_directory(device: u64, inode: u64, resolved: &str) -> Self {
        Self { device, inode, resolved: resolved.to_owned() }
    }

    /// The absolute path behind all links.
    pub fn resolved(&self) -> &str {
        &self.resolved
    }

    /// Its place and which folder it is, as trust scopes keep it: another folder put at the same place reads otherwise.
    pub fn to_words(&self) -> String {
        let Self { device, inode, resolved } = self;
        format!("{resolved} (folder {inode} of device {device})")
    }

    /// Adds it to what an approval is bound to.
    pub fn write_to(&self, frame: &mut Frame) {
        let Self { device, inode, resolved } = self;
        frame.number(*device);
        frame.number(*inode);
        frame.part(resolved.as_bytes());
    }
}

impl InterpreterIdentity {
    /// The identity of a file whose bytes were hashed: its absolute path behind all links, and the version that it
    /// reports, if it reports one.
    pub fn of_hashed_file(path: &str, version: Option<&str>, sha256: Sha256) -> Self {
        Self { path: path.to_owned(), version: version.map(str::to_owned), sha256 }
    }

    /// The absolute path behind all links.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The version that it reports.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The digest of its bytes.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }
}

impl Binding {
    /// The binding of these parts.
    pub fn of(parts: &BindingParts<'_>) -> Self {
        // Taken apart so that a part that is added and not framed does not compile.
        let BindingParts {
            agent,
            run,
            tool,
            workspace,
            revision,
            overlay,
            invocation,
            validator_version,
            interpreter,
            profile,
            policy,
        } = *parts;
        let mut frame = Frame::new("binding", 1);
        frame.part(agent.as_str().as_bytes());
        frame.part(run.as_bytes());
        frame.part(tool.as_str().as_bytes());
        frame.optional(workspace, |frame, workspace| workspace.write_to(frame));
        frame.optional(revision, |frame, revision| frame.part(revision.revision().sha256().as_bytes()));
        frame.optional(overlay, |frame, overlay| frame.part(overlay.as_bytes()));
        frame.part(invocation);
        frame.part(&validator_version.to_be_bytes());
        frame.optional(interpreter, |frame, InterpreterIdentity { path, version, sha256 }| {
            frame.part(path.as_bytes());
            frame.optional(version.as_deref(), |frame, version| frame.part(version.as_bytes()));
            frame.part(sha256.as_bytes());
        });
        frame.part(profile);
        frame.part(policy.as_bytes());
        Self(frame.sha256())
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Binding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
