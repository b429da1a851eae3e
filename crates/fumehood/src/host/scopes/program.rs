//! What of a skill is meant to be trusted, the checked tool or a declared script, and what it runs on.

use std::collections::BTreeSet;

use fumehood_core::inspect::ManifestState;
use fumehood_core::manifest::{InterpreterKey, ParamKind, checked_tool_name};
use fumehood_core::{Code, Sha256, ToolName};
use fumehood_runners::checked::NODE;
use fumehood_runners::script::Source;
use fumehood_sandbox::State;
use fumehood_store::{Home, Pins, Resolution, Settings};

use super::TrustRequest;
use crate::fault::Fault;
use crate::host::run::Captured;
use crate::host::{Host, RunRequest};

/// What would run under a trust scope, as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProgram {
    /// Whether it is the checked tool, which `call` calls; else it is a script, which `run` runs.
    pub is_checked: bool,
    /// The file that starts.
    pub file: String,
    /// For the checked tool the files of the skill that it gets. A script gets all.
    pub files: Vec<String>,
    /// Where the interpreter is and its digest, or why there is none now.
    pub interpreter: String,
    /// The axes of the sandbox that this system does not enforce: there it does whatever the person themselves may do.
    pub open_axes: Vec<&'static str>,
}

/// What of the skill is meant, and what a scope for it can hold.
pub(super) struct Meant {
    pub(super) tool: ToolName,
    pub(super) overlay: Option<Sha256>,
    pub(super) path_parameters: BTreeSet<String>,
    pub(super) seconds: u64,
    pub(super) output_bytes: u64,
    is_checked: bool,
    file: String,
    files: Vec<String>,
    interpreter: Option<InterpreterKey>,
}

impl Captured {
    /// What the words mean, whatever else the skill carries: without a script the checked tool, as `call` takes it.
    pub(super) fn meant(&self, request: &TrustRequest, settings: &Settings) -> Result<Meant, Fault> {
        let Some(script) = &request.script else { return self.meant_checked(request) };
        let run = RunRequest { script: script.clone(), ..RunRequest::default() };
        let names_tool = !matches!(self.inspection.execution, ManifestState::Absent)
            && checked_tool_name(&self.name).is_ok_and(|tool| tool.as_str() == script);
        if !names_tool {
            return self.meant_script(request, &run, settings);
        }
        if self.choose(&run, settings).is_ok() {
            let message = "the checked tool is called so, and so is something else in the skill";
            let advice = "leave it out to trust the checked tool, or name the script by its path";
            return Err(Fault::new(Code::ArgumentInvalid, message, advice));
        }
        self.meant_checked(request)
    }

    fn meant_checked(&self, request: &TrustRequest) -> Result<Meant, Fault> {
        let manifest = self.callable().map_err(|fault| match self.inspection.execution {
            ManifestState::Absent => {
                Fault { advice: "name one of its scripts; `fumehood show` lists them".to_owned(), ..fault }
            }
            _ => fault,
        })?;
        let most = u64::try_from(manifest.timeout().as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        let seconds = request.timeout.unwrap_or(most);
        if seconds > most {
            let message = format!("the checked tool gets at most {most} s, whoever calls it");
            return Err(Fault::new(Code::TrustScopeInvalid, message, "leave --timeout out, or ask for less"));
        }
        if let Some((_, true)) = &request.workspace {
            let message = "a checked tool may read a workspace and never change it";
            return Err(Fault::new(Code::ArgumentInvalid, message, "name the folder without \":rw\""));
        }
        let tool = checked_tool_name(&self.name);
        Ok(Meant {
            tool: tool.map_err(|error| Fault::of(&error, "`fumehood check` says more"))?,
            overlay: None,
            path_parameters: BTreeSet::new(),
            seconds,
            output_bytes: manifest.output_bytes_max().into(),
            is_checked: true,
            file: manifest.entrypoint().as_str().to_owned(),
            files: manifest.files().iter().map(|file| file.as_str().to_owned()).collect(),
            interpreter: InterpreterKey::parse(NODE),
        })
    }

    fn meant_script(
        &self,
        request: &TrustRequest,
        run: &RunRequest,
        settings: &Settings,
    ) -> Result<Meant, Fault> {
        let chosen = self.choose(run, settings)?;
        let claim = match &chosen.source {
            Source::Declared(claim) => claim,
            Source::Undeclared { path, .. } => {
                let manifest = self.inspection.execution.accepted();
                let advice = if manifest.is_some_and(|manifest| manifest.entrypoint() == path) {
                    "leave it out to trust the checked tool that it is"
                } else {
                    "declare it with `fumehood adopt` first"
                };
                let message = "nobody declared what this script takes, so each call of it is asked about";
                return Err(Fault::new(Code::TrustScopeInvalid, message, advice));
            }
        };
        let paths = claim.params().iter().filter(|param| matches!(param.kind(), ParamKind::Path { .. }));
        let default = settings.envelope.timeout_default().as_secs().max(1);
        Ok(Meant {
            tool: ToolName::parse(&chosen.tool)
                .map_err(|error| Fault::of(&error, "an overlay can give it another tool_name"))?,
            overlay: chosen.overlay,
            path_parameters: paths.map(|param| param.name().as_str().to_owned()).collect(),
            seconds: request.timeout.unwrap_or(default),
            output_bytes: settings.envelope.parts().output_bytes_max,
            is_checked: false,
            file: claim.path().as_str().to_owned(),
            files: Vec::new(),
            interpreter: Some(claim.interpreter().clone()),
        })
    }
}

impl Host {
    /// What would run, on this machine as it is now. Pins nothing.
    pub(super) fn program(&self, home: &Home, settings: &Settings, meant: Meant) -> TrustedProgram {
        let interpreter = meant.interpreter.map(|key| interpreter(home, settings, &key));
        let sandbox = self.sandbox().ok();
        let axes = sandbox.iter().flat_map(|sandbox| sandbox.enforcement().axes());
        TrustedProgram {
            is_checked: meant.is_checked,
            file: meant.file,
            files: meant.files,
            interpreter: interpreter.unwrap_or_default(),
            open_axes: axes.filter(|axis| axis.state == State::NotEnforced).map(|axis| axis.name).collect(),
        }
    }
}

fn interpreter(home: &Home, settings: &Settings, key: &InterpreterKey) -> String {
    let Some(choice) = settings.interpreter(key) else {
        return format!("this host lists no interpreter called {key}, so it cannot run");
    };
    let words = |path: &str, sha256: Sha256| format!("{path}, sha256 {sha256}");
    match Pins::open(home).resolve(&choice) {
        Ok(Resolution::Same(pinned)) => words(pinned.identity.path(), pinned.identity.sha256()),
        Ok(Resolution::First(found)) => words(&found.path, found.sha256),
        Ok(Resolution::Changed(change)) => format!("{change}, so it cannot run"),
        Err(error) => format!("{error}, so it cannot run"),
    }
}
