//! What can be typed.

mod adopt;
mod artifact;
mod call;
mod help;
mod passphrase;
mod policy;
mod run;
mod serve;
mod trust;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use fumehood_core::limits::{WALK_DEPTH_MAX, WALK_DIRECTORIES_MAX};

use crate::host::{JournalHead, WalkLimits};
pub(super) use adopt::AdoptArgs;
pub(super) use artifact::{ArtifactCommand, GrepArgs, IdArgs, PruneArgs, SliceArgs};
pub(super) use call::CallArgs;
pub(super) use help::{advised, command};
pub(super) use passphrase::PassphraseCommand;
pub(super) use policy::{ExplainArgs, PolicyCommand};
pub(super) use run::RunArgs;
pub(super) use serve::{Client, ServeArgs, SetupArgs};
pub(super) use trust::TrustCommand;

/// Run Agent Skills safely: see what is in them, and run what they carry in a sandbox, on your word.
///
/// Nothing in a skill is ever obeyed. `run`, `call`, `adopt` and `serve` alone start anything of one, and ask first.
#[derive(Debug, Parser)]
#[command(
    name = "fumehood",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done, 1 what ran failed or timed out, 2 something to mend, 3 denied, 4 unavailable, 70 a bug in fumehood, 130 stopped by Ctrl-C."
)]
pub(super) struct Args {
    /// The form of answers: text or json.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub(super) format: Format,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs; the shapes are in docs/schemas.
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Judge skills: can they be loaded, do they follow the standard, what is wrong.
    ///
    /// Exits with 2 if a skill is refused; with --strict also if one is not conformant or something was not searched.
    /// Version control, `node_modules`, `__pycache__` and virtual environments are never entered.
    Check(CheckArgs),
    /// List the skills in some folders, or of all usual sources.
    ///
    /// Exits with 0 also when nothing was found or something could not be searched; the JSON form says so in "status"
    /// and "complete".
    List(ListArgs),
    /// Show one skill: files, claims, scripts, findings, revision.
    ///
    /// Exits with 0 also for a skill that is refused, whose findings say why; `check` has the verdict as its exit code.
    Show(ShowArgs),
    /// Print a file of a skill.
    Cat(CatArgs),
    /// Show what differs between two skills, or since one was approved.
    Diff(DiffArgs),
    /// Run a script of a skill in the sandbox. Asks at the terminal.
    ///
    /// Shows the exact bytes, arguments, files and limits first. What the script writes to its standard output goes to
    /// standard output. Exits with 1 if it fails or is killed.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Call the checked tool of a skill: JSON in, JSON out. Asks at the terminal.
    ///
    /// The tool is what `execution.json` declares. Its answer goes to standard output as JSON, if it ends with exit code zero and
    /// fits what the skill declares; what it says beside goes to standard error. Exits with 1 if it fails.
    ///
    /// Whether it can be called here, and what is in the way, is in `fumehood show SKILL`. Where this system does not enforce a part
    /// of the sandbox, the question says FULL TRUST: there the tool does whatever you yourself may do.
    #[command(after_help = CALL_EXAMPLES)]
    Call(CallArgs),
    /// Serve one agent over the Model Context Protocol, on standard input and output.
    ///
    /// An agent starts this, not a person; `fumehood setup` prints what to put into its settings. It can list and read skills. What it
    /// asks to run is put to a person first: in the agent's own window where that can ask, and at this machine else.
    Serve(ServeArgs),
    /// Print the settings that let an agent use fumehood. Changes nothing.
    Setup(SetupArgs),
    /// Draft typed parameters for scripts that nobody declared, for `run --param`.
    ///
    /// Reads what each script takes from its source, and from its --help, which runs in the sandbox, each on your word. The
    /// draft is kept apart and counts for nothing until --accept has shown it to you and you said yes.
    #[command(after_help = ADOPT_EXAMPLES)]
    Adopt(AdoptArgs),
    /// List what was run, newest first.
    ///
    /// "interrupted" is a run without an end on record: it is still under way, or whatever ran it ended first.
    Runs(RunsArgs),
    /// Show the receipt of one run in full.
    Receipt(ReceiptArgs),
    /// Read and remove what runs gave.
    #[command(subcommand)]
    Artifact(ArtifactCommand),
    /// Check that the record of runs is whole.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// List the requests for approval that nobody has answered.
    ///
    /// Those of all agents that fumehood serves on this machine for you; each is open for five minutes.
    Pending,
    /// Answer one of them. Shows all of it and asks at the terminal.
    ///
    /// A yes is good for one call of exactly what was shown, once whoever asked makes it again. Any other answer denies it.
    Approve(RequestArgs),
    /// Deny one of them at once. Needs a terminal.
    Deny(RequestArgs),
    /// Read and change policy.toml: what is wrong with it, what it says about a call.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Let one exact revision of a tool run without a question. Asks at the terminal.
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Let a project's own skills be listed. Asks at the terminal.
    TrustProject(TrustArgs),
    /// Require a passphrase for each yes at the terminal, or none any more.
    #[command(subcommand)]
    Passphrase(PassphraseCommand),
    /// List the interpreters that scripts can name, or pin a changed one anew.
    ///
    /// Says of each whether it is still the file that it was pinned to.
    Interpreters(InterpretersArgs),
    /// Examine this machine: its sandbox, its interpreters, fumehood's own folders.
    ///
    /// Interpreters are looked for at fixed paths that only root can change, and asked for their version inside the
    /// sandbox only. Exits with 4 if nothing can be confined here, with 3 if a folder of fumehood's own is refused.
    Doctor(DoctorArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Folders to search, folders of skills, or SKILL.md files.
    #[arg(required = true, value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Fail unless every skill is conformant and everything was searched.
    #[arg(long)]
    pub(super) strict: bool,
    /// Print also the notes that change no verdict.
    #[arg(long)]
    pub(super) notes: bool,
    /// Print only skills that have findings to show.
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) search: Search,
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Folders to search instead of the usual sources.
    #[arg(value_name = "ROOT")]
    pub(super) roots: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) search: Search,
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(super) skill: String,
    #[command(flatten)]
    pub(super) from: From,
}

#[derive(Debug, clap::Args)]
pub(super) struct CatArgs {
    /// A name that `list` shows, or a path with a '/' in it.
    pub(super) skill: String,
    /// The file, counted from the skill's folder.
    pub(super) file: String,
    /// The first byte to print, from 0.
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub(super) offset: u64,
    /// How many bytes to print; all to the end if not given.
    #[arg(long, value_name = "BYTES")]
    pub(super) length: Option<u64>,
    #[command(flatten)]
    pub(super) from: From,
}

#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// The skill before: a name or a path. Alone, it is the one after, and before is what was approved of it last.
    pub(super) skill: String,
    /// The skill after: a name or a path.
    pub(super) other: Option<String>,
    #[command(flatten)]
    pub(super) from: From,
}

#[derive(Debug, clap::Args)]
pub(super) struct RunsArgs {
    /// How many to list.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) limit: u64,
    /// Only those before this row of the journal: where an earlier list says that there are more.
    #[arg(long, value_name = "SEQ")]
    pub(super) before: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RequestArgs {
    /// The request, as `pending` lists it; its first eight digits are enough if no other begins like that.
    pub(super) id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReceiptArgs {
    /// The receipt: rcpt_ and 32 hex digits.
    pub(super) id: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Follow the journal's chain from its first row to its last.
    ///
    /// The chain shows that no row was changed, removed, inserted or moved. That its end was not cut off, or all of it made
    /// anew, shows only a head that was kept elsewhere.
    Verify(VerifyArgs),
    /// Print the last row's number and hash, to be kept elsewhere.
    Head,
}

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// A head that was kept elsewhere, as `audit head` printed it. It must still be that of its row.
    #[arg(long, value_name = "SEQ:HASH", value_parser = head)]
    pub(super) head: Option<JournalHead>,
}

#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// The project's folder, or one inside it.
    pub(super) dir: PathBuf,
    /// Forget the project instead. Needs no terminal.
    #[arg(long)]
    pub(super) remove: bool,
    #[command(flatten)]
    pub(super) search: Search,
}

#[derive(Debug, clap::Args)]
pub(super) struct InterpretersArgs {
    #[command(subcommand)]
    pub(super) command: Option<InterpretersCommand>,
}

#[derive(Debug, Subcommand)]
pub(super) enum InterpretersCommand {
    /// List them. Runs and changes nothing; the same as no subcommand.
    List,
    /// Pin one to the file that is there now. Asks at the terminal.
    ///
    /// Approvals and trust that were given with the old file no longer count. Does nothing if it is the same file.
    Repin {
        /// The key by which scripts name it, such as python3.
        key: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Try every known attack on the sandbox of this machine, one line for each.
    ///
    /// Takes about half a minute. Each attack is code of fumehood's own and runs twice: outside the sandbox, where it must
    /// succeed, and inside, where it must not. An attack on a limit that this machine does not enforce is not run. Exits
    /// with 70 if anything is broken. Ctrl-C stops after the attack that is under way.
    #[arg(long)]
    pub(super) prove: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct From {
    /// Look names up in this folder instead of the usual sources; can be given several times.
    #[arg(long = "root", value_name = "DIR")]
    pub(super) roots: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) search: Search,
}

/// How far a search goes.
#[derive(Debug, clap::Args)]
pub(super) struct Search {
    /// Treat a SKILL.md below another skill as a skill of its own.
    #[arg(long)]
    nested: bool,
    /// Folder levels below a root that are searched.
    #[arg(long, value_name = "LEVELS", default_value_t = WALK_DEPTH_MAX as u64, value_parser = clap::value_parser!(u64).range(1..=32))]
    max_depth: u64,
    /// Folders without a skill that are searched in one root.
    #[arg(long, value_name = "COUNT", default_value_t = WALK_DIRECTORIES_MAX as u64, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_folders: u64,
}

impl Search {
    pub(super) fn limits(&self) -> WalkLimits {
        let narrow = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        WalkLimits {
            depth: narrow(self.max_depth),
            directories: narrow(self.max_folders),
            nested: self.nested,
            ..WalkLimits::default()
        }
    }
}

const CALL_EXAMPLES: &str = "Examples:
  fumehood call ./skills/semver-sort --input '{\"versions\": [\"1.10.0\", \"1.9.0\"]}'
  fumehood call semver-sort --input @versions.json";

const ADOPT_EXAMPLES: &str = "Examples:
  fumehood adopt pdf-tools
  fumehood adopt --accept pdf-tools";

const RUN_EXAMPLES: &str = "Examples:
  fumehood run ./skills/text-report report --param file=README.md
  fumehood run pdf-tools scripts/count.py --read /tmp/a.pdf -- --pages /tmp/a.pdf";

fn head(text: &str) -> Result<JournalHead, String> {
    JournalHead::parse(text).ok_or_else(|| "a head is a row's number, a colon and 64 hex digits".to_owned())
}
