//! `show` as text.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::{Json, Shown};

use super::{finding, parameter, plural, quoted, shown_path};
use crate::cli::output::{BOLD, DIM, RESET};
use crate::report::{Claims, FumehoodClaim, ParamOut, ScriptOut, ShowReport};

/// `run` is how the person would begin to run something of this skill: the command, the roots and the skill as typed.
pub(in crate::cli) fn show(text: &mut String, report: &ShowReport, run: &str) {
    heading(text, report);
    claims(text, &report.claims);
    checked(text, report, run);
    let run = Some(run).filter(|_| report.execution.scripts_available);
    if let Some(fumehood) = &report.claims.fumehood {
        declared(text, fumehood, run);
    }
    if let Some(overlay) = &report.overlay {
        let _ = writeln!(text, "\n{BOLD}Declared by you{RESET}, in fumehood.toml");
        if overlay.confirmed {
            overlay.scripts.iter().for_each(|one| script(text, one, run));
        } else {
            let again =
                "not for this revision, so it counts for nothing; draft it again with `fumehood adopt`";
            let _ = writeln!(text, "  {again}");
        }
    }
    if !report.undeclared_scripts.is_empty() {
        let _ = writeln!(text, "\n{BOLD}Undeclared scripts{RESET}");
        for script in &report.undeclared_scripts {
            let path = Shown::inline(&script.path);
            let _ = write!(
                text,
                "  {path}  {}",
                script.interpreter.or(script.language).unwrap_or("unknown interpreter")
            );
            let _ = match script.notes.as_slice() {
                [] => writeln!(text),
                notes => writeln!(text, "  {DIM}{}{RESET}", Shown::inline(&notes.join("; "))),
            };
        }
        if let Some(run) = run {
            let adopt = run.replacen("fumehood run", "fumehood adopt", 1);
            let _ = writeln!(text, "  {DIM}{run} PATH -- ARGUMENT…{RESET}");
            let _ = writeln!(text, "  {DIM}{adopt}  drafts parameters for them{RESET}");
        }
    }
    let _ = writeln!(
        text,
        "\n{BOLD}Files{RESET}  {}, {} bytes",
        plural(report.resources.files, "file"),
        report.resources.bytes
    );
    for file in report.files.iter().take(FILES_SHOWN) {
        let link = if file.link { "  (through a link)" } else { "" };
        let _ = writeln!(text, "  {:>9}  {}{link}", file.size, Shown::inline(&file.path).at_most(1024));
    }
    if report.files.len() > FILES_SHOWN {
        let _ = writeln!(text, "  and {} more (--format json lists all)", report.files.len() - FILES_SHOWN);
    }
    if !report.diagnostics.is_empty() {
        let _ = writeln!(text, "\n{BOLD}Findings{RESET}");
        for found in &report.diagnostics {
            text.push_str("  ");
            finding(text, found, Path::new(&report.path));
        }
    }
}

fn heading(text: &mut String, report: &ShowReport) {
    let _ = writeln!(
        text,
        "{BOLD}{}{RESET}  {}",
        Shown::inline(&report.name),
        shown_path(Path::new(&report.path))
    );
    if let Some(declared) = report.declared_name.as_deref().filter(|declared| *declared != report.name) {
        let _ = writeln!(text, "  written as   {}", Shown::inline(declared));
    }
    if let Some(description) = &report.description {
        let _ = writeln!(text, "  {}", Shown::inline(description).at_most(1024));
    }
    let verdict = match (report.loadable, report.conformant) {
        (true, true) => "loadable, conformant",
        (true, false) => "loadable, not conformant",
        (false, _) => "refused",
    };
    let _ = writeln!(text, "\n  verdict      {verdict}");
    let _ = writeln!(text, "  revision     {}", report.revision.as_deref().unwrap_or("none"));
    if let Some(why) = cannot_run(report) {
        let _ = writeln!(text, "  scripts      cannot run: {why}");
    }
    if let Some(source) = &report.source {
        let _ = writeln!(text, "  source       {}", Shown::inline(source));
    }
    if let Some(winner) = &report.shadowed_by {
        let _ = writeln!(text, "  shadowed by  {}", shown_path(Path::new(winner)));
    }
}

fn claims(text: &mut String, claims: &Claims) {
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<12} {}", Shown::inline(value).at_most(1024));
    };
    if let Some(license) = &claims.license {
        line("license", license);
    }
    if let Some(compatibility) = &claims.compatibility {
        line("needs", compatibility);
    }
    match claims.allowed_tools.as_deref() {
        None => {}
        Some([]) => line("asks for", "no tools"),
        Some(tools) => line("asks for", &tools.join(" ")),
    }
    if let Some(execution) = &claims.execution {
        line("checked tool", &format!("{}  ({OWN_EXTENSION})", execution.entrypoint));
    }
}

/// Whether its checked tool can be called, and how, or what is in the way.
fn checked(text: &mut String, report: &ShowReport, run: &str) {
    let column = match report.execution.execution_json {
        "absent" => return,
        "refused" => "checked tool",
        _ => "",
    };
    if report.execution_available {
        let call = run.replacen("fumehood run", "fumehood call", 1);
        let _ = writeln!(text, "  {:<12} {DIM}{call} --input JSON{RESET}", "");
        if let Some(takes) = report.claims.execution.as_ref().and_then(|tool| taken(&tool.input_schema)) {
            let _ = writeln!(text, "  {:<12} it takes {takes}; inputSchema in execution.json says more", "");
        }
    } else {
        let reasons: Vec<_> = report.execution.reasons.iter().map(|reason| reason.message.as_str()).collect();
        let _ = writeln!(text, "  {column:<12} cannot run: {}", Shown::inline(&reasons.join("; ")));
    }
}

/// The names that an input has at its top, those that may be left out in brackets.
fn taken(schema: &Json) -> Option<String> {
    let Json::Object(schema) = schema else { return None };
    let Some(Json::Object(properties)) = schema.get("properties") else { return None };
    let required = |name: &str| match schema.get("required") {
        Some(Json::Array(names)) => names.iter().any(|one| *one == Json::String(name.to_owned())),
        _ => false,
    };
    let name = |name: &String| if required(name) { name.clone() } else { format!("[{name}]") };
    let names: Vec<_> = properties.keys().map(name).collect();
    (!names.is_empty()).then(|| Shown::inline(&names.join(", ")).at_most(1024).to_string())
}

fn declared(text: &mut String, claim: &FumehoodClaim, run: Option<&str>) {
    let _ = writeln!(text, "\n{BOLD}Declared{RESET}");
    claim.scripts.iter().for_each(|one| script(text, one, run));
    for tool in &claim.isolated_tools {
        let _ =
            writeln!(text, "  isolated tool {}  {}", Shown::inline(&tool.name), Shown::inline(&tool.source));
    }
}

fn script(text: &mut String, script: &ScriptOut, run: Option<&str>) {
    let _ = writeln!(
        text,
        "  script {}  {} {}",
        Shown::inline(&script.name),
        Shown::inline(&script.interpreter),
        Shown::inline(&script.path)
    );
    let _ = writeln!(text, "    {}", Shown::inline(&script.description).at_most(1024));
    for param in &script.params {
        parameter(text, param, "");
    }
    if let Some(run) = run {
        let (name, params) = (quoted(&script.name), params_to_type(&script.params));
        let _ = writeln!(text, "    {DIM}{run} {name}{params}{RESET}");
    }
}

/// Why no script of it can run, if that is so.
fn cannot_run(report: &ShowReport) -> Option<String> {
    let reasons = report.execution.reasons.iter().filter(|reason| reason.is_about_scripts());
    let reasons: Vec<_> = reasons.map(|reason| reason.message.as_str()).collect();
    (!report.execution.scripts_available).then(|| reasons.join("; "))
}

/// The parameters as options, those that may be left out in brackets.
fn params_to_type(params: &[ParamOut]) -> String {
    let mut typed = String::new();
    for param in params {
        let value = match param.kind {
            "path" => "PATH",
            "integer" | "number" => "NUMBER",
            "boolean" => "true",
            _ => "TEXT",
        };
        let option = format!("--param {}={value}", Shown::inline(&param.name));
        let _ = if param.required { write!(typed, " {option}") } else { write!(typed, " [{option}]") };
    }
    typed
}

/// Other hosts know nothing of it, and do not need to.
const OWN_EXTENSION: &str = "of execution.json, which is fumehood's own and no part of the standard";
const FILES_SHOWN: usize = 100;
