//! What an attack knows of where it runs, and what it answers.

use std::path::PathBuf;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Pid;

/// The code of an attack. `Ok` means that it got what it wanted.
pub(crate) type Payload = fn(&Scene) -> Answer;
pub(crate) type Answer = Result<String, Refusal>;

/// Why an attack failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: String,
    /// Some of it succeeded. Outside that is too little, inside it is too much.
    pub(crate) is_partial: bool,
}

/// Places, ports and pids, as texts on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) facts: Vec<(String, String)>,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), facts: Vec::new() }
    }

    pub(crate) fn with(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.facts.retain(|(known, _)| known != key);
        self.facts.push((key.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let name = arguments.next()?;
        let facts = arguments.filter_map(|argument| {
            argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
        });
        Some(Self { name, facts: facts.collect() })
    }

    pub(crate) fn to_arguments(&self) -> Vec<String> {
        let facts = self.facts.iter().map(|(key, value)| format!("{key}={value}"));
        std::iter::once(self.name.clone()).chain(facts).collect()
    }

    /// A fact, or an empty text.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.facts.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.text(key))
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or(0)
    }

    pub(crate) fn pid(&self, key: &str) -> Result<Pid, Refusal> {
        i32::try_from(self.number(key)).ok().and_then(Pid::from_raw).ok_or_else(|| Refusal::of("no such pid"))
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.text("place") == "inside"
    }

    /// Another process of this program that plays `name` in the same scene.
    pub(crate) fn other(&self, name: &str) -> Command {
        let scene = Self { name: name.to_owned(), facts: self.facts.clone() };
        let mut command = Command::new("/proc/self/exe");
        command.arg(crate::helper::ATTACK_ARGUMENT).args(scene.to_arguments());
        command
    }
}

impl Refusal {
    pub(crate) fn of(why: impl std::fmt::Display) -> Self {
        Self { why: why.to_string(), is_partial: false }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        std::io::Error::from(errno).into()
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::of(error)
    }
}

/// Tries one thing after the other: all must work, or none.
pub(crate) fn all<E: Into<Refusal>>(
    tries: impl IntoIterator<Item = (impl std::fmt::Display, Result<(), E>)>,
) -> Answer {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for (what, result) in tries {
        match result.map_err(Into::into) {
            Ok(()) => done.push(what.to_string()),
            Err(refusal) => refused.push(format!("{what}: {}", refusal.why)),
        }
    }
    match (done.is_empty(), refused.is_empty()) {
        (false, true) => Ok(done.join(", ")),
        (is_none, _) => {
            let why = if is_none {
                refused.join("; ")
            } else {
                format!("worked: {}; did not: {}", done.join(", "), refused.join("; "))
            };
            Err(Refusal { why, is_partial: !is_none })
        }
    }
}

/// Tries one way after the other: one that works is enough.
pub(crate) fn any<E: Into<Refusal>>(
    tries: impl IntoIterator<Item = (impl std::fmt::Display, Result<(), E>)>,
) -> Answer {
    match all(tries) {
        Err(Refusal { why, is_partial: true }) => Ok(why),
        answer => answer,
    }
}

/// What was found that should not be there.
pub(crate) fn found(things: &[String], nothing: &str) -> Answer {
    if things.is_empty() { Err(Refusal::of(nothing)) } else { Ok(things.join(" ")) }
}
