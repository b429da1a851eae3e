//! The two switches of `[execute]`, read anew whenever they are looked at.

use fumehood_core::Code;
use fumehood_core::tool::Failure;
use fumehood_gate::RunError;
use fumehood_runners::checked::Switches;
use fumehood_store::{Home, Safety, Settings, Surroundings};

use crate::fault::Fault;

/// What `fumehood.toml` says at the moment.
pub(super) struct HostSwitches {
    pub(super) home: Home,
    pub(super) surroundings: Surroundings,
}

impl HostSwitches {
    fn settings(&self) -> Result<Settings, RunError> {
        Settings::read(&self.home, &self.surroundings)
            .map_err(|error| RunError::new(Failure::Policy, error.code, error.to_string()))
    }
}

impl Switches for HostSwitches {
    fn may_execute(&self) -> Result<(), RunError> {
        let bar = execute_bar(&self.settings()?);
        bar.map_or(Ok(()), |(code, message)| Err(RunError::new(Failure::Policy, code, message)))
    }

    fn is_not_safe_mode(&self) -> Result<(), RunError> {
        let bar = safety_bar(&self.settings()?);
        bar.map_or(Ok(()), |(code, message)| Err(RunError::new(Failure::Policy, code, message)))
    }
}

/// What the capability has against checked tools.
pub(in crate::host) fn execute_bar(settings: &Settings) -> Option<(Code, &'static str)> {
    (!settings.execute_checked)
        .then_some((Code::ExecuteDisabled, "checked tools are switched off under [execute] in fumehood.toml"))
}

/// What the safety mode has against whatever a skill carries.
pub(in crate::host) fn safety_bar(settings: &Settings) -> Option<(Code, &'static str)> {
    (settings.safety == Safety::Safe).then_some((
        Code::SafeMode,
        "the safety mode under [execute] in fumehood.toml is safe, so nothing runs",
    ))
}

/// Scripts run in every other mode, once the person said yes.
pub(in crate::host) fn refuse_safe_mode(settings: &Settings) -> Result<(), Fault> {
    safety_bar(settings).map_or(Ok(()), |(code, message)| {
        Err(Fault::new(code, message, "set safety to mostly_safe there if you want to be asked instead"))
    })
}
