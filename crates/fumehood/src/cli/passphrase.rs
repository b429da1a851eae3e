//! `passphrase`: what a yes needs beside the yes, set and removed by a person at a terminal.

use std::process::ExitCode;

use fumehood_core::Code;

use super::args::PassphraseCommand;
use super::interrupt::Interrupt;
use super::output::{BOLD, Output, RESET};
use super::terminal::{self, Terminal};
use super::{done, host};
use crate::fault::Fault;
use crate::host::{Host, Over, Passphrase, WalkLimits};
use crate::report::{PassphraseReport, SCHEMA_VERSION};

pub(super) fn passphrase(command: &PassphraseCommand, out: &Output) -> Result<ExitCode, Fault> {
    let host = host(WalkLimits::default())?;
    let report = match command {
        PassphraseCommand::Set => set(&host)?,
        PassphraseCommand::Remove if !host.requires_passphrase()? => {
            PassphraseReport { schema_version: SCHEMA_VERSION, required: false, changed: false }
        }
        PassphraseCommand::Remove => {
            let question = format!(
                "\nWithout a passphrase every yes at the terminal counts by itself.\n{BOLD}Require none from now on? [y/N]{RESET} "
            );
            host.remove_passphrase(terminal::confirm(&host, &question)?)?
        }
    };
    done(out, &report, |text| {
        text.push_str(match (report.required, report.changed) {
            (true, _) => "From now on a yes needs the passphrase.\n",
            (false, true) => "From now on a yes needs no passphrase.\n",
            (false, false) => "None is required.\n",
        });
    })
}

fn set(host: &Host) -> Result<PassphraseReport, Fault> {
    let question = format!(
        "\nFrom now on a yes at the terminal counts only with the passphrase, and --approve not at all.\n\
         Who forgets it has to take it out of fumehood.toml.\n{BOLD}Require a new passphrase? [y/N]{RESET} "
    );
    let vouched = terminal::confirm(host, &question)?;
    let terminal = terminal::required()?;
    let interrupt = Interrupt::watch()?;
    let over = || interrupt.was_asked().then_some(Over::Cancelled);
    let new = typed(&terminal, "New passphrase, 8 to 1024 bytes: ", &over)?;
    let again = typed(&terminal, "The same again: ", &over)?;
    host.set_passphrase(&new, &again, vouched)
}

fn typed(terminal: &Terminal, prompt: &str, over: &dyn Fn() -> Option<Over>) -> Result<Passphrase, Fault> {
    let read = terminal.passphrase(prompt, over).ok().flatten();
    read.ok_or_else(|| {
        let message = "no new passphrase was typed, or one longer than 1024 bytes";
        Fault::new(Code::PassphraseInvalid, message, "nothing was changed; try again")
    })
}
