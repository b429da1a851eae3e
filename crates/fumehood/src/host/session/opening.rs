//! How a session begins: whatever could never work is said now, to who sets it up.

use std::path::Path;
use std::sync::{Arc, Mutex};

use fumehood_core::Code;
use fumehood_runners::script::check_workspace;

use super::{Session, SessionOptions};
use crate::fault::Fault;
use crate::host::Host;
use crate::host::question::Wordings;
use crate::host::run::agent;

impl Host {
    /// A run of an agent.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_CONFIG_INVALID`; `E_NAME_INVALID` for the name of the command line; `E_SOURCE_MISSING` for a root that is
    /// no folder. For a workspace that no script could ever have what a call would say of it, such as `E_FOLDER_NOT_FOUND` and
    /// `E_PLACE_FORBIDDEN`: who sets this up reads it now, and nobody may read it later. One that a single skill lies in is
    /// refused to that skill alone, by its calls.
    pub fn open_session(&self, options: SessionOptions) -> Result<Session, Fault> {
        if options.agent == agent()? {
            let message = format!("{} is what whoever uses the command line is called", options.agent);
            return Err(Fault::new(Code::NameInvalid, message, "call the agent something else"));
        }
        for (position, root) in options.roots.iter().enumerate() {
            self.given(position, root)?;
        }
        if let Some((workspace, _)) = &options.workspace {
            self.check_workspace(workspace)?;
        }
        let wordings = Arc::new(Wordings::default());
        let wording = Arc::clone(&wordings);
        let requests = Arc::new(self.requests(move |request| wording.question(request))?);
        Ok(Session { host: self.clone(), options, wordings, requests, open: Mutex::default() })
    }

    fn check_workspace(&self, workspace: &Path) -> Result<(), Fault> {
        let home = self.home()?;
        let forbidden = self.forbidden(&home, &self.settings(&home)?, None);
        check_workspace(&self.surroundings.current.join(workspace), &forbidden).map_err(|error| {
            let message = format!("no script could be given this workspace: {}", error.message);
            Fault::new(error.code, message, "name the folder that the agent works in, or none")
        })
    }
}
