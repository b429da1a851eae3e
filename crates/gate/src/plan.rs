//! What a call would run as, worked out before anybody is asked and again after.

use core::time::Duration;

use fumehood_core::containment::{Axis, AxisReport, Enforcement};
use fumehood_core::policy::NetworkUse;
use fumehood_core::receipt::{Limits, SkillIdentity};
use fumehood_core::{
    Containment, Frame, HostPath, InterpreterIdentity, RelPath, Sha256, SkillName, VerifiedRevision,
    WorkspaceIdentity,
};

/// Everything about a call that is bound, shown to whoever approves, and recorded.
///
/// Two plans that differ anywhere are two plans, also if somebody wrote the same profile for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The skill, if the tool is one's.
    pub skill: Option<PlannedSkill>,
    /// The interpreter, if the tool is a script.
    pub interpreter: Option<InterpreterIdentity>,
    /// The workspace, if one is granted.
    pub workspace: Option<WorkspaceIdentity>,
    /// The whole profile in its canonical form, written down by a [`Frame`]: mounts with access and file identity,
    /// environment, argument vector, limits, floor. Two plans have equal bytes only if they would run alike.
    pub profile: Vec<u8>,
    /// What confines it.
    pub containment: Containment,
    /// The limits that will be in force. [`Limits::wall`] is the time of each attempt; the tool's own where it is `None`.
    pub limits: Limits,
    /// Where each path leads that the call names: its parameters of type path, and what was granted beside them. A start
    /// elsewhere than with the skill's files counts as such.
    pub paths: Vec<PlannedPath>,
    /// What is started, if it is a program.
    pub command: Option<Command>,
    /// Names of the unsafe switches that bear on it.
    pub unsafe_controls: Vec<String>,
}

/// A skill whose bytes were verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSkill {
    /// The label of its source.
    pub source: String,
    /// Its name.
    pub name: SkillName,
    /// Its bytes.
    pub revision: VerifiedRevision,
    /// The digest of the deployer's overlay, if there is one.
    pub overlay: Option<Sha256>,
}

/// A path that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPath {
    /// The parameter. What was granted beside the arguments has a name that no parameter can have, such as `--read`, so that
    /// no trust scope covers it.
    pub parameter: String,
    /// Where it leads, links resolved; `None` if that cannot be told.
    pub resolved: Option<HostPath>,
}

/// A program and what it gets, as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The file of the skill that runs.
    pub file: RelPath,
    /// Whether somebody declared its parameters. If not, the arguments are whatever the caller wrote.
    pub is_declared: bool,
    /// The argument vector, program first, as it is passed. No shell reads it.
    pub argv: Vec<String>,
    /// The current folder, as the program sees it.
    pub directory: String,
    /// The environment: all of it.
    pub environment: Vec<(String, String)>,
    /// The files of the person's that it may touch, beside the skill's own and the system's programs.
    pub files: Vec<FileGrant>,
}

/// One file or folder that a program may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    /// How.
    pub usage: FileUse,
    /// Its real place.
    pub host: String,
    /// Where the program sees it.
    pub inside: String,
}

/// How a program may touch a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// It may read the file.
    Read,
    /// It may read the folder.
    ReadFolder,
    /// It gets a copy; after success the file is replaced by it.
    Replace,
    /// It may make the file, which is not there yet.
    Create,
    /// After success, what it wrote in the folder is applied to it.
    ChangeFolder,
    /// After success, the files it made are put there.
    Collect,
}

impl Plan {
    /// A plan for code of the host's own process, which nothing of the operating system confines.
    pub fn in_process() -> Self {
        Self {
            skill: None,
            interpreter: None,
            workspace: None,
            profile: Frame::new("in-process", 1).into_bytes(),
            containment: Containment::none(),
            limits: Limits::default(),
            paths: Vec::new(),
            command: None,
            unsafe_controls: Vec::new(),
        }
    }

    /// How long one attempt may take, where the tool allows `timeout`.
    pub fn wall(&self, timeout: Duration) -> Duration {
        self.limits.wall.unwrap_or(timeout)
    }
}

impl Plan {
    /// What it gets of the network: nothing where that is asked for and enforced, anything otherwise.
    pub fn network(&self) -> NetworkUse {
        let is_shut = |report: &AxisReport| {
            report.axis == Axis::Network && report.asked && report.enforced == Enforcement::Enforced
        };
        if self.containment.axes.iter().any(is_shut) { NetworkUse::None } else { NetworkUse::Any }
    }

    /// What a trust scope compares of the workspace: what it is granted for, its place, and which folder it is.
    pub fn workspace_words(&self) -> Option<String> {
        let changes = |file: &FileGrant| file.usage == FileUse::ChangeFolder;
        let is_changed = self.command.as_ref().is_some_and(|command| command.files.iter().any(changes));
        let usage = if is_changed { FileUse::ChangeFolder } else { FileUse::ReadFolder };
        self.workspace.as_ref().map(|workspace| workspace_words(usage, workspace))
    }
}

/// The words of [`Plan::workspace_words`] for a folder that is granted for reading or for change.
pub fn workspace_words(usage: FileUse, workspace: &WorkspaceIdentity) -> String {
    format!("{} {}", usage.as_str(), workspace.to_words())
}

impl PlannedSkill {
    /// As a receipt names it.
    pub fn identity(&self) -> SkillIdentity {
        SkillIdentity {
            source: self.source.clone(),
            name: self.name.clone(),
            revision: self.revision.revision(),
            overlay: self.overlay,
        }
    }
}

impl FileUse {
    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadFolder => "read_folder",
            Self::Replace => "replace",
            Self::Create => "create",
            Self::ChangeFolder => "change_folder",
            Self::Collect => "collect",
        }
    }

    /// Whether something of the person's can be other than before afterwards.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Read | Self::ReadFolder)
    }
}
