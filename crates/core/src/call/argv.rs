//! Typed arguments of a script as the argument vector that it gets. No shell reads it, and nobody hands in a raw one but
//! the person who runs a script that declares no parameters.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use crate::code::{Code, Coded};
use crate::json::Json;
use crate::manifest::{ParamClaim, ParamKind, ParamName, PathAccess, RESERVED_PARAM_NAMES};

/// Bytes of a path that a call names: what Linux takes, less the NUL.
pub const PATH_BYTES_MAX: usize = 4095;
/// Arguments of an undeclared script.
pub const ARGUMENTS_MAX: usize = 256;

/// The argument that holds the vector of an undeclared script.
pub(super) const ARGV: &str = "argv";

/// What a script is started with, in the order of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptArguments {
    /// The argument vector behind interpreter and script.
    pub argv: Vec<Argument>,
    /// The time that the caller would like it to have at most; `None` if the caller did not say.
    pub timeout: Option<Duration>,
}

/// One argument. `Debug` prints no text of the caller.
#[derive(Clone, PartialEq, Eq)]
pub enum Argument {
    /// As it is.
    Text(String),
    /// A path that the host has to resolve, open and grant; what the script gets is the place where it appears.
    Path {
        /// The parameter, for messages.
        param: ParamName,
        /// What the script may do with the file.
        access: PathAccess,
        /// What the caller wrote: not empty, at most 4,095 bytes, no NUL. Nothing else is known of it.
        value: String,
    },
}

/// Why arguments were refused: the parameter, if it is one of the declared ones, and what is wrong. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The parameter.
    pub param: Option<ParamName>,
    /// What is wrong.
    pub fault: ArgumentFault,
}

/// What is wrong with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentFault {
    /// The arguments are no JSON object.
    NotAnObject,
    /// An argument that no parameter declares.
    Undeclared,
    /// A required argument is not there.
    Missing,
    /// A value of another type than this one.
    Type(&'static str),
    /// A number out of the parameter's range, or a timeout out of the host's.
    Range,
    /// A text with more characters, or bytes for a path, than this.
    TooLong(usize),
    /// A text that is none of the listed ones.
    NotListed,
    /// An empty path.
    Empty,
    /// A value that begins with `-`: the script would take it for a flag (EXE-45).
    LeadingDash,
    /// A value with a NUL in it: the script would get less of it.
    Nul,
    /// More arguments than an undeclared script may have.
    TooMany,
}

/// The argument vector for these arguments.
///
/// A flag and its value are two arguments; a boolean is its flag, when true; a value without a flag stands by itself.
///
/// # Errors
/// [`ArgumentError`] with code `E_ARGUMENT_INVALID` for the first fault, in the order of the parameters. Nothing is clamped:
/// `timeout_seconds` is a whole number from 1 to the seconds of `timeout_max` (EXE-53).
pub fn script_arguments(
    params: &[ParamClaim],
    arguments: &Json,
    timeout_max: Duration,
) -> Result<ScriptArguments, ArgumentError> {
    let given = arguments.as_object().ok_or_else(|| ArgumentFault::NotAnObject.of(None))?;
    let is_declared = |name: &str| params.iter().any(|param| param.name().as_str() == name);
    if given.keys().any(|name| !is_declared(name) && !RESERVED_PARAM_NAMES.contains(&name.as_str())) {
        return Err(ArgumentFault::Undeclared.of(None));
    }
    let mut argv = Vec::new();
    for param in params {
        match given.get(param.name().as_str()) {
            Some(value) => {
                append(param, value, &mut argv).map_err(|fault| fault.of(Some(param.name().clone())))?;
            }
            None if param.is_required() => return Err(ArgumentFault::Missing.of(Some(param.name().clone()))),
            None => {}
        }
    }
    let timeout = timeout_of(given, timeout_max).map_err(|fault| fault.of(None))?;
    Ok(ScriptArguments { argv, timeout })
}

/// The argument vector of a script that declares no parameters: exactly what `argv` holds, flags and all. Who consents to it
/// sees it word for word.
///
/// # Errors
/// [`ArgumentError`] with code `E_ARGUMENT_INVALID` for an `argv` that is missing, no array of strings, longer than 256, or
/// holds a NUL; and as [`script_arguments`] for `timeout_seconds` and what is not declared.
pub fn exact_arguments(arguments: &Json, timeout_max: Duration) -> Result<ScriptArguments, ArgumentError> {
    let exact = |arguments: &Json| {
        let given = arguments.as_object().ok_or(ArgumentFault::NotAnObject)?;
        let argv = given.get(ARGV).ok_or(ArgumentFault::Missing)?;
        if given.keys().any(|name| name != ARGV && !RESERVED_PARAM_NAMES.contains(&name.as_str())) {
            return Err(ArgumentFault::Undeclared);
        }
        let items = argv.as_array().ok_or(ArgumentFault::Type("an array of strings"))?;
        if items.len() > ARGUMENTS_MAX {
            return Err(ArgumentFault::TooMany);
        }
        let argv = items.iter().map(|item| match item.as_str() {
            None => Err(ArgumentFault::Type("an array of strings")),
            Some(text) if text.contains('\0') => Err(ArgumentFault::Nul),
            Some(text) => Ok(Argument::Text(text.to_owned())),
        });
        Ok(ScriptArguments {
            argv: argv.collect::<Result<_, _>>()?,
            timeout: timeout_of(given, timeout_max)?,
        })
    };
    exact(arguments).map_err(|fault| fault.of(None))
}

fn append(param: &ParamClaim, value: &Json, argv: &mut Vec<Argument>) -> Result<(), ArgumentFault> {
    let flag = param.flag().map(|flag| Argument::Text(flag.as_str().to_owned()));
    if let ParamKind::Boolean = param.kind() {
        let Json::Bool(is_set) = value else { return Err(ArgumentFault::Type("a boolean")) };
        // A boolean has a flag, or the manifest would have been refused.
        argv.extend(flag.filter(|_| *is_set));
        return Ok(());
    }
    let argument = argument(param, value)?;
    argv.extend(flag);
    argv.push(argument);
    Ok(())
}

fn argument(param: &ParamClaim, value: &Json) -> Result<Argument, ArgumentFault> {
    let text = match param.kind() {
        ParamKind::String { chars_max } => {
            let text = value.as_str().ok_or(ArgumentFault::Type("a string"))?;
            let chars_max = usize::try_from(*chars_max).unwrap_or(usize::MAX);
            if text.chars().count() > chars_max {
                return Err(ArgumentFault::TooLong(chars_max));
            }
            text.to_owned()
        }
        ParamKind::Integer { minimum, maximum } => {
            let Json::Number(number) = value else { return Err(ArgumentFault::Type("an integer")) };
            if !number.is_integer() {
                return Err(ArgumentFault::Type("an integer"));
            }
            let whole = number.as_i64().filter(|whole| (minimum..=maximum).contains(&whole));
            whole.ok_or(ArgumentFault::Range)?.to_string()
        }
        ParamKind::Number { minimum, maximum } => {
            let Json::Number(number) = value else { return Err(ArgumentFault::Type("a number")) };
            if minimum.is_some_and(|least| *number < least) || maximum.is_some_and(|most| *number > most) {
                return Err(ArgumentFault::Range);
            }
            number.to_string()
        }
        ParamKind::Enum { values } => {
            let text = value.as_str().ok_or(ArgumentFault::Type("a string"))?;
            values.iter().find(|listed| *listed == text).ok_or(ArgumentFault::NotListed)?.clone()
        }
        ParamKind::Path { access } => {
            let text = value.as_str().ok_or(ArgumentFault::Type("a string"))?;
            match () {
                () if text.is_empty() => return Err(ArgumentFault::Empty),
                () if text.len() > PATH_BYTES_MAX => return Err(ArgumentFault::TooLong(PATH_BYTES_MAX)),
                () => {}
            }
            let value = harmless(text.to_owned())?;
            return Ok(Argument::Path { param: param.name().clone(), access: *access, value });
        }
        ParamKind::Boolean => return Err(ArgumentFault::Type("a boolean")),
    };
    harmless(text).map(Argument::Text)
}

/// A text that a script can only take for what it is.
fn harmless(text: String) -> Result<String, ArgumentFault> {
    match () {
        () if text.starts_with('-') => Err(ArgumentFault::LeadingDash),
        () if text.contains('\0') => Err(ArgumentFault::Nul),
        () => Ok(text),
    }
}

/// What `timeout_seconds` says, if it is there.
fn timeout_of(
    given: &BTreeMap<String, Json>,
    timeout_max: Duration,
) -> Result<Option<Duration>, ArgumentFault> {
    let Some(value) = given.get(RESERVED_PARAM_NAMES[0]) else { return Ok(None) };
    let Json::Number(number) = value else { return Err(ArgumentFault::Type("an integer")) };
    let seconds = number.as_u64().filter(|seconds| (1..=timeout_max.as_secs()).contains(seconds));
    seconds.map(|seconds| Some(Duration::from_secs(seconds))).ok_or(ArgumentFault::Range)
}

impl ArgumentFault {
    fn of(self, param: Option<ParamName>) -> ArgumentError {
        ArgumentError { param, fault: self }
    }
}

impl Coded for ArgumentError {
    fn code(&self) -> Code {
        Code::ArgumentInvalid
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.param {
            Some(param) => write!(f, "the argument {param} ")?,
            None => f.write_str("an argument ")?,
        }
        match self.fault {
            ArgumentFault::NotAnObject => f.write_str("cannot be found: the arguments are no object"),
            ArgumentFault::Undeclared => f.write_str("is none that the script declares"),
            ArgumentFault::Missing => f.write_str("is missing"),
            ArgumentFault::Type(name) => write!(f, "is not {name}"),
            ArgumentFault::Range => f.write_str("is out of range"),
            ArgumentFault::TooLong(max) => write!(f, "is longer than {max}"),
            ArgumentFault::NotListed => f.write_str("is none of the listed values"),
            ArgumentFault::Empty => f.write_str("is empty"),
            ArgumentFault::LeadingDash => {
                f.write_str("begins with '-', and the script may take it for a flag")
            }
            ArgumentFault::Nul => f.write_str("holds a NUL, which no argument can"),
            ArgumentFault::TooMany => write!(f, "is one too many; there can be {ARGUMENTS_MAX}"),
        }
    }
}

impl core::error::Error for ArgumentError {}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Path { param, access, value } => {
                write!(f, "Path({param}, {}, {} bytes)", access.as_str(), value.len())
            }
        }
    }
}
