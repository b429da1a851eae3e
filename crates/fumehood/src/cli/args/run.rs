//! What can be typed after `run`.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;

use super::From;
use crate::host::RunRequest;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    skill: String,
    /// A script that the skill declares, by its name, or a file of the skill, by its path.
    script: String,
    #[command(flatten)]
    pub(in crate::cli) options: RunOptions,
}

/// What a script is run with.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunOptions {
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
    #[arg(long, value_name = "DIR[:rw]", value_parser = clap::builder::PathBufValueParser::new().try_map(workspace))]
    pub(in crate::cli) workspace: Option<(PathBuf, bool)>,
    /// Start the script in the workspace, not in the skill's folder: for scripts that work on the current folder.
    #[arg(long, requires = "workspace")]
    in_workspace: bool,
    /// Where the files go that the script leaves in /out, after success and never over what is there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seconds after which the script is killed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(in crate::cli) timeout: Option<u64>,
    /// What runs a script that nobody declared, if its file does not say; `fumehood interpreters` lists them.
    #[arg(long, value_name = "KEY")]
    interpreter: Option<String>,
    /// Approve exactly this revision instead of answering; only where fumehood.toml allows it.
    #[arg(long, value_name = "REVISION")]
    pub(in crate::cli) approve: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) from: From,
    /// The exact arguments of a script that nobody declared.
    #[arg(last = true, value_name = "ARGV")]
    argv: Option<Vec<String>>,
}

impl std::convert::From<RunArgs> for RunRequest {
    fn from(args: RunArgs) -> Self {
        args.options.request(args.skill, args.script)
    }
}

impl RunOptions {
    pub(in crate::cli) fn request(self, skill: String, script: String) -> RunRequest {
        RunRequest {
            skill,
            roots: self.from.roots,
            script,
            params: self.params,
            named: None,
            argv: self.argv,
            interpreter: self.interpreter,
            read: self.read,
            write: self.write,
            workspace: self.workspace,
            in_workspace: self.in_workspace,
            out: self.out,
            timeout: self.timeout,
            approve: self.approve,
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
pub(super) fn workspace(path: PathBuf) -> Result<(PathBuf, bool), &'static str> {
    match path.to_str().and_then(|text| text.rsplit_once(':')) {
        Some((folder, "rw")) => Ok((PathBuf::from(folder), true)),
        Some((_, "r" | "ro" | "w" | "wr" | "RW")) => Err("write DIR for reading, DIR:rw for changing"),
        _ => Ok((path, false)),
    }
}

pub(super) fn seconds(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "write whole seconds, such as 90")
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
        assert_eq!(workspace("/a".into()), Ok(("/a".into(), false)));
        assert_eq!(workspace("/a:rw".into()), Ok(("/a".into(), true)));
        assert_eq!(workspace("/a:rw/".into()), Ok(("/a:rw/".into(), false)));
        // What another tool would take.
        assert!(workspace("/a:ro".into()).is_err());
        assert_eq!(workspace("/a:ro/".into()), Ok(("/a:ro/".into(), false)));
        assert_eq!(workspace("/a:b".into()), Ok(("/a:b".into(), false)));
    }

    #[test]
    fn a_timeout_is_whole_seconds() {
        assert_eq!(seconds("90"), Ok(90));
        assert!(seconds("1m").is_err() && seconds("1.5").is_err() && seconds("").is_err());
    }
}
