//! Arguments of a script that nobody declared are passed as they stand, and a path among them is easily meant otherwise
//! than the script takes it.

use std::path::Path;

use fumehood_core::{Json, RelPath};
use fumehood_gate::Command;
use fumehood_runners::script::{Granted, Source};
use fumehood_store::Snapshot;

use crate::host::question::Notes;
use crate::report::ArgumentNote;

/// The notes on the calls of a script, made when somebody is asked. `base` is where the person is.
pub(super) fn of(source: &Source, snapshot: &Snapshot, granted: &Granted) -> Notes {
    let is_noted = match source {
        // One that starts in the workspace finds what lies there.
        Source::Undeclared { .. } => !granted.in_workspace,
        // A path of a declared script is resolved by its type.
        Source::Declared(_) => false,
    };
    if !is_noted {
        return Box::new(|_, _| Vec::new());
    }
    let (snapshot, base) = (snapshot.clone(), granted.base.clone());
    Box::new(move |request, command| {
        let arguments = request.call.invocation().value().as_object();
        let argv = arguments.and_then(|fields| fields.get("argv")).and_then(Json::as_array);
        let argv = argv.into_iter().flatten().filter_map(Json::as_str);
        argv.filter_map(|argument| note(argument, &snapshot, &base, command)).collect()
    })
}

fn note(argument: &str, snapshot: &Snapshot, base: &Path, command: &Command) -> Option<ArgumentNote> {
    let path = path_in(argument)?;
    let relative = !path.starts_with('/');
    let is_skills = RelPath::parse(path).is_ok_and(|path| snapshot.get(&path).is_some());
    let file = base.join(path);
    if is_skills || !file.is_file() {
        return None;
    }
    let file = file.canonicalize().ok()?;
    let granted =
        command.files.iter().any(|granted| file.starts_with(&granted.host) && granted.host == granted.inside);
    // What is the system's may be in the sandbox without a grant.
    if !relative && (granted || SYSTEM.iter().any(|place| file.starts_with(place))) {
        return None;
    }
    Some(ArgumentNote { argument: argument.to_owned(), file: file.to_str()?.to_owned(), granted, relative })
}

/// What of an argument could be a path: all of it, or what follows the `=` of a flag.
fn path_in(argument: &str) -> Option<&str> {
    let path = match argument.strip_prefix('-') {
        Some(flag) => flag.split_once('=')?.1,
        None => argument,
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    (!path.is_empty()).then_some(path)
}

const SYSTEM: [&str; 8] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_argument_or_the_value_of_a_flag() {
        for (argument, path) in [
            ("a.md", Some("a.md")),
            ("./a/b.md", Some("a/b.md")),
            ("../a.md", Some("../a.md")),
            ("--in=a.md", Some("a.md")),
            ("-i", None),
            ("--in=/a.md", Some("/a.md")),
            ("--in=", None),
            ("/a.md", Some("/a.md")),
            ("", None),
        ] {
            assert_eq!(path_in(argument), path, "{argument}");
        }
    }
}
