//! What can be typed after `run`.

use std::path::PathBuf;

use super::From;
use crate::host::RunRequest;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    skill: String,
    /// A script that the skill declares, by its name, or a file of the skill, by its path.
    script: String,
    /// An argument of a declared script; can be given several times.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// A file that the script may read, at its own absolute path; can be given several times.
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// A file that the script may replace or make: it writes /out/NAME, and the file is put in place after success.
    #[arg(long, value_name = "PATH")]
    write: Vec<String>,
    /// A folder that the script may read; with ":rw" also change, all of it after success or nothing.
    ///
    /// Paths in arguments then count from there and must lie in it.
    #[arg(long, value_name = "DIR[:rw]")]
    workspace: Option<PathBuf>,
    /// Start the script in the workspace, not in the skill's folder: for scripts that work on the current folder.
    #[arg(long, requires = "workspace")]
    in_workspace: bool,
    /// Where the files go that the script leaves in /out, after success and never over what is there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seconds after which the script is killed.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// What runs a script that nobody declared, if its file does not say; `fumehood interpreters` lists them.
    #[arg(long, value_name = "KEY")]
    interpreter: Option<String>,
    /// Approve exactly this revision instead of answering; only where fumehood.toml allows it.
    #[arg(long, value_name = "REVISION")]
    approve: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) from: From,
    /// The exact arguments of a script that nobody declared.
    #[arg(last = true, value_name = "ARGV")]
    argv: Option<Vec<String>>,
}

impl std::convert::From<RunArgs> for RunRequest {
    fn from(args: RunArgs) -> Self {
        Self {
            skill: args.skill,
            roots: args.from.roots,
            script: args.script,
            params: args.params,
            argv: args.argv,
            interpreter: args.interpreter,
            read: args.read,
            write: args.write,
            workspace: args.workspace.map(workspace),
            in_workspace: args.in_workspace,
            out: args.out,
            timeout: args.timeout,
            approve: args.approve,
        }
    }
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    if name.is_empty() {
        return Err("the name is empty");
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A folder and whether it may be changed. A folder whose own name ends in ":rw" is reached with a slash behind it.
fn workspace(path: PathBuf) -> (PathBuf, bool) {
    match path.to_str().and_then(|text| text.strip_suffix(":rw")) {
        Some(folder) => (PathBuf::from(folder), true),
        None => (path, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_a_name_and_all_of_its_value() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("a").is_err() && pair("=a").is_err());
    }

    #[test]
    fn a_workspace_is_for_reading_unless_said() {
        assert_eq!(workspace("/a".into()), ("/a".into(), false));
        assert_eq!(workspace("/a:rw".into()), ("/a".into(), true));
        assert_eq!(workspace("/a:rw/".into()), ("/a:rw/".into(), false));
    }
}
