//! Which script is meant, and what runs it.

use fumehood_core::inspect::ManifestState;
use fumehood_core::manifest::{FumehoodManifest, InterpreterKey, ScriptClaim, tool_name};
use fumehood_core::{Code, Json, RelPath, Sha256, Shown, script};
use fumehood_runners::script::Source;
use fumehood_store::{Overlay, Settings};

use super::{Captured, RunRequest};
use crate::fault::Fault;

/// Which file runs under which tool name.
pub(in crate::host) struct Chosen {
    pub(in crate::host) source: Source,
    pub(in crate::host) tool: String,
    pub(super) description: String,
    pub(in crate::host) overlay: Option<Sha256>,
    pub(super) fail_on_nonzero_exit: bool,
}

impl Captured {
    /// What agents call a script, as it is called here: they add `scripts/` to a path or leave it out. What is meant by
    /// nothing stays as it is, for the error.
    pub(in crate::host) fn script_meant(&self, named: &str, settings: &Settings) -> String {
        let overlay = settings.overlay(&self.source, &self.name);
        let own = self.inspection.fumehood.accepted().map(FumehoodManifest::scripts).unwrap_or_default();
        let is_there = |name: &str| {
            let overlaid = overlay.into_iter().flat_map(Overlay::tools).map(|(_, claim)| claim);
            let is_file = RelPath::parse(name).is_ok_and(|path| self.snapshot.get(&path).is_some());
            is_file || overlaid.chain(own).any(|claim| is_meant(claim, name))
        };
        let other = match named.strip_prefix("scripts/") {
            Some(rest) => rest.to_owned(),
            None => format!("scripts/{}", named.strip_prefix("./").unwrap_or(named)),
        };
        if !is_there(named) && is_there(&other) { other } else { named.to_owned() }
    }

    /// The script that is meant: a declared one by name or by path, else a file.
    pub(in crate::host) fn choose(&self, request: &RunRequest, settings: &Settings) -> Result<Chosen, Fault> {
        let overlay = settings.overlay(&self.source, &self.name);
        let confirmed = overlay.filter(|overlay| overlay.is_confirmed_for(self.snapshot.revision()));
        if request.argv.is_none() {
            if let Some(overlay) = confirmed {
                let found = overlay.tools().find(|(_, claim)| is_meant(claim, &request.script));
                if let Some((tool, claim)) = found {
                    let own = overlay.parts().fail_on_nonzero_exit;
                    return Ok(Chosen {
                        fail_on_nonzero_exit: own.unwrap_or(settings.fail_on_nonzero_exit),
                        ..declared(tool.as_str().to_owned(), claim, Some(overlay.sha256()))
                    });
                }
            }
            let manifest = self.inspection.fumehood.accepted();
            let scripts = manifest.map(FumehoodManifest::scripts);
            let claim = scripts.unwrap_or_default().iter().find(|claim| is_meant(claim, &request.script));
            if let Some(claim) = claim {
                let tool = tool_name(&self.name, claim.name());
                let tool =
                    tool.map_err(|error| Fault::of(&error, "an overlay can give it a shorter tool_name"))?;
                return Ok(Chosen {
                    fail_on_nonzero_exit: settings.fail_on_nonzero_exit,
                    ..declared(tool.as_str().to_owned(), claim, None)
                });
            }
        }
        if request.argv.is_some() {
            self.refuse_argv_of_declared(request, confirmed)?;
        }
        let mut chosen = self.undeclared(request).map_err(|fault| match (overlay, confirmed) {
            (Some(_), None) => Fault {
                advice: "your overlay for this skill was confirmed for another revision; look at the difference and confirm it again with `fumehood adopt`".to_owned(),
                ..fault
            },
            _ => fault,
        })?;
        chosen.fail_on_nonzero_exit = settings.fail_on_nonzero_exit;
        Ok(chosen)
    }

    /// A declared script is not another one because of a `--`; its file can be named to pass arguments as they stand.
    fn refuse_argv_of_declared(
        &self,
        request: &RunRequest,
        confirmed: Option<&Overlay>,
    ) -> Result<(), Fault> {
        let manifest = self.inspection.fumehood.accepted();
        let own = manifest.map(FumehoodManifest::scripts).unwrap_or_default();
        let overlaid = confirmed.into_iter().flat_map(Overlay::tools).map(|(_, claim)| claim);
        let Some(claim) = overlaid.chain(own).find(|claim| claim.name().as_str() == request.script) else {
            return Ok(());
        };
        let message = format!("{} takes --param NAME=VALUE, and nothing behind `--`", claim.name().as_str());
        let path = Shown::inline(claim.path().as_str()).at_most(1024);
        let advice = format!(
            "`fumehood show` lists what it takes; name its file, {path}, to pass arguments as they stand"
        );
        Err(Fault::new(Code::ArgumentInvalid, message, advice))
    }

    fn undeclared(&self, request: &RunRequest) -> Result<Chosen, Fault> {
        // What a shell completes begins with `./`.
        let named = request.script.strip_prefix("./").unwrap_or(&request.script);
        let path = RelPath::parse(named).map_err(|error| Fault::of(&error, self.scripts()))?;
        let file = self.snapshot.get(&path).ok_or_else(|| {
            let message =
                format!("the skill has no script or file called \"{}\"", Shown::inline(&request.script));
            Fault::new(Code::FileNotFound, message, self.scripts())
        })?;
        let is_named = matches!(&request.named, Some(Json::Object(fields)) if !fields.is_empty());
        if !request.params.is_empty() || is_named {
            let message = "nobody declared what this script takes, so --param cannot be checked";
            return Err(Fault::new(
                Code::ArgumentInvalid,
                message,
                "pass its arguments as they are behind `--`, or declare them with `fumehood adopt`",
            ));
        }
        let head = &file.bytes()[..file.bytes().len().min(script::SHEBANG_BYTES_MAX)];
        let interpreter = match request.interpreter.as_deref() {
            Some(key) => InterpreterKey::parse(key).ok_or_else(not_a_key)?,
            None => self.suggested(&path, head)?,
        };
        Ok(Chosen {
            source: Source::Undeclared { path, interpreter },
            tool: UNDECLARED.to_owned(),
            description: String::from("A script that nobody declared."),
            overlay: None,
            fail_on_nonzero_exit: true,
        })
    }

    /// What the file itself asks to be run by.
    fn suggested(&self, path: &RelPath, head: &[u8]) -> Result<InterpreterKey, Fault> {
        let unknown = |message: String, advice: String| Fault::new(Code::InterpreterUnknown, message, advice);
        let shown = Shown::inline(path.as_str());
        let Some(hint) = script::suggest(path, head) else {
            let message = format!("{shown} does not look like a script");
            return Err(unknown(
                message,
                format!("if it is one, name its --interpreter; {}", self.scripts()),
            ));
        };
        hint.interpreter.and_then(InterpreterKey::parse).ok_or_else(|| {
            let message = match hint.language {
                Some(language) => {
                    format!("{shown} is {}, and nothing says what runs that", language.as_str())
                }
                None => format!("nothing says what runs {shown}"),
            };
            unknown(
                message,
                "name an interpreter with --interpreter; `fumehood interpreters` lists them".to_owned(),
            )
        })
    }

    /// For an error: what could have been meant.
    fn scripts(&self) -> String {
        let declared = self.inspection.fumehood.accepted().map(FumehoodManifest::scripts).unwrap_or_default();
        let declared = declared.iter().map(|claim| claim.name().as_str().to_owned());
        let undeclared = self.inspection.undeclared_scripts(&self.snapshot);
        let undeclared = undeclared.into_iter().map(|script| script.path.as_str().to_owned());
        let all: Vec<String> = declared.chain(undeclared).take(SCRIPTS_NAMED_MAX).collect();
        match all.as_slice() {
            _ if matches!(self.inspection.fumehood, ManifestState::Refused) => {
                "its fumehood.json was refused, so nothing that it declares counts; `fumehood check` says why"
                    .to_owned()
            }
            [] if self.inspection.execution.accepted().is_some() => {
                "the skill carries a checked tool and no script: call it with `fumehood call`".to_owned()
            }
            [] => "the skill carries nothing that looks like a script; see `fumehood show`".to_owned(),
            all => format!("the skill has {}", Shown::inline(&all.join(", ")).at_most(1024)),
        }
    }
}

fn not_a_key() -> Fault {
    let message = "--interpreter takes the key of an interpreter, such as bash, and no path";
    let advice = "`fumehood interpreters` lists them; [interpreters] in fumehood.toml adds one";
    Fault::new(Code::InterpreterUnknown, message, advice)
}

fn is_meant(claim: &ScriptClaim, named: &str) -> bool {
    claim.name().as_str() == named || claim.path().as_str() == named
}

fn declared(tool: String, claim: &ScriptClaim, overlay: Option<Sha256>) -> Chosen {
    Chosen {
        source: Source::Declared(claim.clone()),
        tool,
        description: claim.description().to_owned(),
        overlay,
        fail_on_nonzero_exit: true,
    }
}

/// The tool under which a script runs that nobody declared.
const UNDECLARED: &str = "run_undeclared_script";
const SCRIPTS_NAMED_MAX: usize = 32;
