//! What the person typed, as the JSON that the gate checks like anybody's.

use std::time::Duration;

use fumehood_core::manifest::{ParamClaim, ParamKind, RESERVED_PARAM_NAMES};
use fumehood_core::{Code, Json, Shown};
use fumehood_runners::script::Source;

use super::RunRequest;
use crate::fault::Fault;

/// The arguments of the call, as JSON text.
pub(super) fn of(request: &RunRequest, source: &Source, timeout_max: Duration) -> Result<Vec<u8>, Fault> {
    let mut fields = match source {
        Source::Declared(claim) => match &request.named {
            // What does not fit is for the gate to say, as for any caller's.
            Some(Json::Object(fields)) => fields.clone().into_iter().collect(),
            Some(_) => return Err(wrong("args", "is an object", "name each argument")),
            None => typed(request, claim.params())?,
        },
        Source::Undeclared { .. } => {
            let argv = request.argv.iter().flatten().cloned().map(Json::String);
            vec![("argv".to_owned(), Json::Array(argv.collect()))]
        }
    };
    if let Some(seconds) = request.timeout {
        let most = timeout_max.as_secs();
        if !(1..=most).contains(&seconds) {
            return Err(Fault::new(
                Code::SchemaMismatch,
                format!("a timeout is 1 to {most} seconds"),
                "timeout_seconds_max under [envelope] in fumehood.toml sets the most",
            ));
        }
        fields.push((RESERVED_PARAM_NAMES[0].to_owned(), Json::Number(seconds.into())));
    }
    Ok(Json::Object(fields.into_iter().collect()).to_bytes())
}

fn typed(request: &RunRequest, params: &[ParamClaim]) -> Result<Vec<(String, Json)>, Fault> {
    let mut fields: Vec<(String, Json)> = Vec::new();
    for (name, text) in &request.params {
        let param = params.iter().find(|param| param.name().as_str() == name);
        let param = param.ok_or_else(|| unknown(name, params))?;
        if fields.iter().any(|(given, _)| given == name) {
            return Err(wrong(name, "is given twice", "give it once"));
        }
        fields.push((name.clone(), value(param, text)?));
    }
    let is_given = |param: &&ParamClaim| fields.iter().any(|(given, _)| given == param.name().as_str());
    if let Some(param) = params.iter().find(|param| param.is_required() && !is_given(param)) {
        let name = param.name().as_str();
        let message = format!("the argument {name} is missing");
        let advice = format!("write --param {name}=VALUE; `fumehood show` lists what the script takes");
        return Err(Fault::new(Code::SchemaMismatch, message, advice));
    }
    Ok(fields)
}

/// A typed value: the gate decides whether it fits, so only what cannot be JSON of its type is refused here.
fn value(param: &ParamClaim, text: &str) -> Result<Json, Fault> {
    let name = param.name().as_str();
    match param.kind() {
        ParamKind::String { .. } | ParamKind::Enum { .. } | ParamKind::Path { .. } => {
            Ok(Json::String(text.to_owned()))
        }
        ParamKind::Boolean => match text {
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            _ => Err(wrong(name, "is true or false", "write it without quotes, such as NAME=true")),
        },
        ParamKind::Integer { .. } | ParamKind::Number { .. } => {
            match Json::parse(text.as_bytes(), NUMBER_BYTES_MAX) {
                Ok(number @ Json::Number(_)) => Ok(number),
                _ => Err(wrong(
                    name,
                    "is a number, such as 12 or 0.5",
                    "`fumehood show` lists what the script takes",
                )),
            }
        }
    }
}

fn unknown(name: &str, params: &[ParamClaim]) -> Fault {
    let names: Vec<_> = params.iter().map(|param| param.name().as_str()).collect();
    let advice = match names.as_slice() {
        [] => "it takes none".to_owned(),
        names => format!("it takes {}", names.join(", ")),
    };
    let message = format!("the script takes no argument called \"{}\"", Shown::inline(name));
    Fault::new(Code::ArgumentInvalid, message, advice)
}

fn wrong(name: &str, rule: &str, advice: &str) -> Fault {
    let message = format!("the argument {} {rule}", Shown::inline(name));
    Fault::new(Code::ArgumentInvalid, message, advice)
}

const NUMBER_BYTES_MAX: usize = 64;
