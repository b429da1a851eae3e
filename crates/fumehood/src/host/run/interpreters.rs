//! Interpreters as this host lists and pins them.

use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::code::Coded as _;
use fumehood_core::manifest::InterpreterKey;
use fumehood_core::tool::Failure;
use fumehood_core::{Code, HostPath};
use fumehood_gate::RunError;
use fumehood_runners::script::{Interpreters, PinnedInterpreter};
use fumehood_sandbox::Sandbox;
use fumehood_store::{InterpreterChoice, PinError, Pins, Resolution, Settings};

use crate::host::version::version;

/// The interpreters of the settings, each pinned when it is first used.
pub(super) struct HostInterpreters {
    settings: Settings,
    pins: Pins,
    sandbox: Arc<Sandbox>,
}

impl HostInterpreters {
    pub(super) fn new(settings: Settings, pins: Pins, sandbox: Arc<Sandbox>) -> Self {
        Self { settings, pins, sandbox }
    }

    /// What a configured interpreter may read beside the system's programs; one of the system's needs nothing.
    fn readable(&self, choice: &InterpreterChoice) -> &[HostPath] {
        let listed = self.settings.envelope.parts().interpreter_read_paths.listed();
        listed.filter(|_| choice.is_configured).unwrap_or_default()
    }
}

impl Interpreters for HostInterpreters {
    fn resolve(&self, key: &InterpreterKey) -> Result<PinnedInterpreter, RunError> {
        let choice = self.settings.interpreter(key).ok_or_else(|| {
            let message = format!("this host lists no interpreter called {key}");
            RunError::new(Failure::Policy, Code::InterpreterUnknown, message)
        })?;
        let pinned = match self.pins.resolve(&choice).map_err(refused)? {
            Resolution::Same(pinned) => pinned,
            Resolution::First(found) => {
                let version = version(Some(&self.sandbox), &found.candidate, self.readable(&choice)).ok();
                self.pins.pin(&found, version.as_deref()).map_err(refused)?
            }
            Resolution::Changed(change) => {
                let message = change.to_string();
                return Err(RunError::new(Failure::Integrity, change.code(), message));
            }
        };
        Ok(PinnedInterpreter {
            program: pinned.candidate,
            flags: choice.arguments.clone(),
            read_paths: self.readable(&choice).iter().map(|path| PathBuf::from(path.as_str())).collect(),
            identity: pinned.identity,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn refused(error: PinError) -> RunError {
    let failure = match error.code() {
        Code::InterpreterChanged => Failure::Integrity,
        Code::InterpreterRefused | Code::InterpreterUnknown => Failure::Policy,
        _ => Failure::Host,
    };
    RunError::new(failure, error.code(), error.to_string())
}
