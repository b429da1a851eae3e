//! `doctor`: what this machine confines, which interpreters it has, and whether our own folders are as they should be.

use std::path::Path;

use fumehood_core::Code;
use fumehood_core::interpreter::{WELL_KNOWN, WellKnown};
use fumehood_sandbox::{Enforcement, Sandbox, SandboxError, State};
use fumehood_store::{FolderStatus, Home, HomeError, Interpreter, OwnFolder};

use super::Host;
use super::version::version;
use crate::report::{
    AxisReport, DoctorReport, FolderReport, InterpreterReport, ObstacleReport, SCHEMA_VERSION, SandboxReport,
};

impl Host {
    /// Examines this machine. What is wrong is part of the answer: see [`DoctorReport::code`].
    ///
    /// # Authority
    /// Reads the interpreters' files and runs each for its version, in the sandbox only: without one, none is run. The
    /// program must call [`helper::dispatch`](crate::helper::dispatch) as its first line.
    pub fn doctor(&self) -> DoctorReport {
        let sandbox = self.sandbox();
        DoctorReport {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            interpreters: WELL_KNOWN.iter().map(|known| interpreter(known, sandbox.as_ref().ok())).collect(),
            sandbox: match &sandbox {
                Ok(sandbox) => confined(sandbox.enforcement()),
                Err(error) => unconfined(error),
            },
            unsafe_switches: Vec::new(),
            folders: folders(Home::find(&self.surroundings)),
        }
    }
}

fn confined(enforcement: &Enforcement) -> SandboxReport {
    let axes = enforcement.axes().iter().map(|axis| AxisReport {
        name: axis.name,
        state: match axis.state {
            State::Enforced => "enforced",
            State::Partly => "partly",
            State::NotEnforced => "not_enforced",
        },
        mechanism: axis.mechanism,
    });
    let obstacle = enforcement.obstacle().map(|obstacle| ObstacleReport {
        message: obstacle.to_string(),
        remedy: obstacle.remedy().to_owned(),
    });
    SandboxReport { level: Some(enforcement.level().as_str()), code: None, obstacle, axes: axes.collect() }
}

fn unconfined(error: &SandboxError) -> SandboxReport {
    let code = Some(Code::SandboxUnavailable.as_str());
    SandboxReport { level: None, code, obstacle: Some(refusal(error)), axes: Vec::new() }
}

/// Why there is no sandbox, and what can be done.
pub(super) fn refusal(error: &SandboxError) -> ObstacleReport {
    let (message, remedy) = match error {
        SandboxError::Unavailable(obstacle) => (obstacle.to_string(), obstacle.remedy()),
        SandboxError::Launcher(_) => (
            error.to_string(),
            "fumehood starts itself a second time: it must be executable where it is, and /proc must be mounted",
        ),
        _ => (error.to_string(), "try again; if it stays so, please report it with this line"),
    };
    ObstacleReport { message, remedy: remedy.to_owned() }
}

fn interpreter(known: &WellKnown, sandbox: Option<&Sandbox>) -> InterpreterReport {
    let WellKnown { key, candidates, .. } = *known;
    let text = |path: &Path| Some(path.to_string_lossy().into_owned());
    let missing = InterpreterReport {
        key,
        status: "missing",
        candidates,
        path: None,
        file: None,
        sha256: None,
        version: None,
        reason: None,
    };
    match Interpreter::find(candidates) {
        Ok(None) => missing,
        Err(error) => InterpreterReport {
            status: "refused",
            path: text(&error.candidate),
            file: error.path.as_deref().and_then(text),
            reason: Some(error.to_string()),
            ..missing
        },
        Ok(Some(Interpreter { candidate, path, sha256 })) => {
            let (version, reason) = match version(sandbox, &candidate, &[]) {
                Ok(version) => (Some(version), None),
                Err(reason) => (None, Some(reason)),
            };
            InterpreterReport {
                status: "found",
                path: text(&candidate),
                file: text(&path),
                sha256: Some(sha256.to_string()),
                version,
                reason,
                ..missing
            }
        }
    }
}

fn folders(home: Result<Home, HomeError>) -> Vec<FolderReport> {
    match home {
        Ok(home) => vec![folder("config", &home.look_at_config()), folder("state", &home.look_at_state())],
        Err(error) => {
            let (path, reason) = match error {
                HomeError::Refused { path, reason } => {
                    (Some(path.to_string_lossy().into_owned()), reason.to_owned())
                }
                HomeError::Unknown => (None, error.to_string()),
            };
            let refused = |role| FolderReport {
                role,
                status: "refused",
                path: path.clone(),
                owner: None,
                mode: None,
                reason: Some(reason.clone()),
            };
            vec![refused("config"), refused("state")]
        }
    }
}

fn folder(role: &'static str, own: &OwnFolder) -> FolderReport {
    let path = own.path.to_string_lossy().into_owned();
    let (status, reason) = match own.status {
        FolderStatus::Private => ("private", None),
        FolderStatus::Absent => ("absent", None),
        FolderStatus::Visible => ("visible", Some("others can see into it; set its mode to 0700".to_owned())),
        FolderStatus::Refused(reason) => ("refused", Some(reason.to_owned())),
    };
    let mode = own.mode.map(|mode| format!("{mode:04o}"));
    FolderReport { role, status, path: Some(path), owner: own.owner, mode, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_sandbox_there_is_no_level() {
        let gone = unconfined(&SandboxError::LauncherGone);
        assert_eq!((gone.level, gone.code), (None, Some("E_SANDBOX_UNAVAILABLE")));
        assert!(gone.axes.is_empty() && gone.obstacle.unwrap().remedy.contains("report it"));
    }
}
