//! `adopt`: drafts an overlay, and takes one over on a yes at the terminal.

use std::process::ExitCode;

use super::args::AdoptArgs;
use super::output::Output;
use super::run::attended;
use super::{done, render, terminal};
use crate::fault::Fault;
use crate::host::{AdoptRequest, Host};

pub(super) fn adopt(host: &Host, args: AdoptArgs, out: &Output) -> Result<ExitCode, Fault> {
    let AdoptArgs { skill, accept, no_help, from } = args;
    let roots = from.roots.iter().map(|root| format!("--root {} ", render::quoted(&root.to_string_lossy())));
    let typed = roots.collect::<String>() + &render::quoted(&skill);
    if accept {
        let preview = host.preview_draft(&skill, &from.roots)?;
        // What is there already needs nobody's yes.
        let vouched = if preview.is_accepted() {
            None
        } else {
            Some(terminal::confirm(host, &render::adopt::question(&preview))?)
        };
        let report = host.accept_draft(&preview, vouched)?;
        return done(out, &report, |text| render::adopt::accepted(text, &report, &typed));
    }
    let request = AdoptRequest { skill, roots: from.roots, ask_help: !no_help };
    let ended = attended(|person, cancel, tell| host.adopt(&request, person.as_ref(), cancel, &tell))?;
    let report = ended?;
    done(out, &report, |text| render::adopt::drafted(text, &report, &typed))
}
