//! `interpreters`: which file each key stands for, and whether it is the one that was pinned.

use std::path::Path;

use fumehood_core::manifest::InterpreterKey;
use fumehood_core::{Code, InterpreterIdentity, Shown};
use fumehood_store::{
    FoundInterpreter, InterpreterChoice, Pin, PinError, Pins, Resolution, Settings, VERSION_CHARS_MAX,
};

use super::Host;
use super::scopes::revoke_all;
use super::version::version;
use super::vouch::Vouched;
use crate::fault::Fault;
use crate::report::{InterpretersReport, ListedInterpreter, PinReport, RepinReport, SCHEMA_VERSION};

/// What `repin` has to do.
#[derive(Clone, Debug)]
pub enum Repin {
    /// Nothing: it is the file that it was pinned to.
    Nothing(RepinReport),
    /// To ask a person about this.
    Ask(Box<RepinPreview>),
}

/// What a person sees before an interpreter is pinned anew.
#[derive(Clone, Debug)]
pub struct RepinPreview {
    /// The key.
    pub key: String,
    /// What it is pinned to, if it is.
    pub before: Option<PinReport>,
    /// What it would be pinned to.
    pub now: PinReport,
    /// Why there is no version, if there is none.
    pub reason: Option<String>,
    found: FoundInterpreter,
}

impl Host {
    /// Lists the interpreters that scripts can name, each compared with what it was pinned to. What is wrong with one is
    /// part of the answer.
    ///
    /// # Authority
    /// Reads the interpreters' files and runs none. Where a pinned file was touched and is the same, that is noted beside its
    /// pin.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`.
    pub fn interpreters(&self) -> Result<InterpretersReport, Fault> {
        let (settings, pins) = self.settings_and_pins()?;
        let choices = settings.interpreter_choices();
        let interpreters = choices.iter().map(|choice| listed(choice, &pins)).collect::<Result<_, _>>()?;
        Ok(InterpretersReport { schema_version: SCHEMA_VERSION, interpreters })
    }

    /// Looks at what is there for a key, and says what pinning it would change. Changes nothing.
    ///
    /// # Authority
    /// Runs the interpreter for its version, in the sandbox only: without one it has none. The program must call
    /// [`helper::dispatch`](crate::helper::dispatch) as its first line.
    ///
    /// # Errors
    /// `E_INTERPRETER_UNKNOWN`, `E_INTERPRETER_REFUSED`, and as [`Host::interpreters`].
    pub fn preview_repin(&self, key: &str) -> Result<Repin, Fault> {
        let (settings, pins) = self.settings_and_pins()?;
        let choice = InterpreterKey::parse(key).and_then(|key| settings.interpreter(&key));
        let choice = choice.ok_or_else(|| unknown(key, &settings))?;
        let (before, found) = match pins.resolve(&choice).map_err(|error| pin_fault(&error))? {
            Resolution::Same(same) => {
                let pinned = PinReport::of_identity(&same.identity);
                return Ok(Repin::Nothing(repinned(key, false, pinned)));
            }
            Resolution::First(found) => (None, found),
            Resolution::Changed(change) => (Some(PinReport::of(change.pinned)), change.found),
        };
        let sandbox = self.sandbox();
        // What is configured can lie where the sandbox shows only what the deployer lists, and links may not lead there.
        let program = if choice.is_configured { Path::new(&found.path) } else { &found.candidate };
        let readable = settings.envelope.parts().interpreter_read_paths.listed().unwrap_or_default();
        let version = version(sandbox.as_ref().ok(), program, readable);
        let (version, reason) = match version {
            Ok(version) => (Some(version.chars().take(VERSION_CHARS_MAX).collect()), None),
            Err(reason) => (None, Some(reason)),
        };
        let now = PinReport { file: found.path.clone(), sha256: found.sha256.to_string(), version };
        Ok(Repin::Ask(Box::new(RepinPreview { key: key.to_owned(), before, now, reason, found })))
    }

    /// Pins an interpreter to what the preview shows, whatever is there by now. The caller has asked the person.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`, `E_TRUST_SCOPES_*`; nothing was pinned then.
    pub fn repin(&self, preview: &RepinPreview, _: Vouched) -> Result<RepinReport, Fault> {
        let home = self.home()?;
        // First: what is trusted under the old file must not run under the new one, whatever fails.
        revoke_all(&home)?;
        let pins = Pins::open(&home);
        let pinned = pins.repin(&preview.found, preview.now.version.as_deref());
        let pinned = pinned.map_err(|error| pin_fault(&error))?;
        Ok(repinned(&preview.key, true, PinReport::of_identity(&pinned.identity)))
    }

    fn settings_and_pins(&self) -> Result<(Settings, Pins), Fault> {
        let home = self.home()?;
        Ok((self.settings(&home)?, Pins::open(&home)))
    }
}

fn listed(choice: &InterpreterChoice, pins: &Pins) -> Result<ListedInterpreter, Fault> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let pinned = pins.get(&choice.key).map_err(|error| pin_fault(&error))?;
    let entry = ListedInterpreter {
        key: choice.key.to_string(),
        status: "unpinned",
        configured: choice.is_configured,
        candidates: choice.candidates.iter().map(|path| text(path)).collect(),
        arguments: choice.arguments.clone(),
        path: None,
        file: None,
        sha256: None,
        pinned: pinned.map(PinReport::of),
        reason: None,
    };
    let found = |status, found: FoundInterpreter, reason| ListedInterpreter {
        status,
        path: Some(text(&found.candidate)),
        file: Some(found.path),
        sha256: Some(found.sha256.to_string()),
        reason,
        ..entry.clone()
    };
    Ok(match pins.resolve(choice) {
        Ok(Resolution::First(first)) => found("unpinned", first, None),
        Ok(Resolution::Changed(change)) => {
            let reason = Some(change.to_string());
            found("changed", change.found, reason)
        }
        Ok(Resolution::Same(same)) => ListedInterpreter {
            status: "pinned",
            path: Some(text(&same.candidate)),
            file: Some(same.identity.path().to_owned()),
            sha256: Some(same.identity.sha256().to_string()),
            ..entry
        },
        Err(PinError::Unknown(_)) => ListedInterpreter { status: "missing", ..entry },
        Err(PinError::Refused(error)) => ListedInterpreter {
            status: "refused",
            path: Some(text(&error.candidate)),
            file: error.path.as_deref().map(text),
            reason: Some(error.to_string()),
            ..entry
        },
        Err(error) => return Err(pin_fault(&error)),
    })
}

impl PinReport {
    fn of(pin: Pin) -> Self {
        let Pin { path, sha256, version } = pin;
        Self { file: path, sha256, version }
    }

    fn of_identity(identity: &InterpreterIdentity) -> Self {
        Self {
            file: identity.path().to_owned(),
            sha256: identity.sha256().to_string(),
            version: identity.version().map(str::to_owned),
        }
    }
}

fn repinned(key: &str, changed: bool, pinned: PinReport) -> RepinReport {
    RepinReport { schema_version: SCHEMA_VERSION, key: key.to_owned(), changed, pinned }
}

fn unknown(key: &str, settings: &Settings) -> Fault {
    let message = format!("there is no interpreter by the key \"{}\"", Shown::inline(key).at_most(64));
    let keys: Vec<_> = settings.interpreter_choices().iter().map(|choice| choice.key.to_string()).collect();
    let advice = format!("the keys are {}; fumehood.toml can add more", keys.join(", "));
    Fault::new(Code::InterpreterUnknown, message, advice)
}

/// What is wrong with an interpreter or with the record of pins, and what to do about it.
fn pin_fault(error: &PinError) -> Fault {
    let advice = match error {
        PinError::Unknown(_) => "install it, or say in fumehood.toml where it is",
        PinError::Refused(_) => "mend the owner and mode of what is named, or name another in fumehood.toml",
        PinError::Changed(_) => {
            "see `fumehood interpreters`; `fumehood interpreters repin` takes the new one"
        }
        PinError::Home(_) => "set HOME, or FUMEHOOD_HOME to a folder of yours with mode 0700",
        _ => "remove interpreters.toml from the state folder; every interpreter is then pinned anew",
    };
    Fault::of(error, advice)
}
