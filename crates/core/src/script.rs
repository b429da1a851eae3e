//! Which files of a skill look like scripts that nobody declared, and what would run them.
//!
//! Only a hint, from the name and the first line, for a person to confirm. The mode bit is no sign: archives drop it
//! and checkouts set it. The shebang is read to be understood; fumehood never lets the kernel obey it.

mod language;
mod shebang;

use core::fmt;

pub use language::Language;
pub use shebang::{SHEBANG_BYTES_MAX, SHEBANG_LINE_BYTES_MAX, Shebang};

use crate::path::RelPath;
use language::{Known, by_extension, by_program};
use shebang::Line;

/// What an undeclared script looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptHint {
    /// The key of the interpreter that its author seems to mean. `None` if the language has no usual one, or the author
    /// asks for a program that is not known.
    pub interpreter: Option<&'static str>,
    /// The language, if known.
    pub language: Option<Language>,
    /// What decided.
    pub from: HintSource,
    /// The shebang, if there is one that could be read. Its words are the author's.
    pub shebang: Option<Shebang>,
    /// What somebody who declares this script should know.
    pub notes: Vec<ScriptNote>,
}

/// What decided about an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintSource {
    /// The file's extension.
    Extension,
    /// The shebang.
    Shebang,
    /// Both, in agreement.
    Both,
}

/// Something about a shebang that its author may rely on and fumehood does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ScriptNote {
    /// A byte order mark stands before the shebang.
    ByteOrderMark,
    /// The shebang line ends in a carriage return, which would become part of the interpreter's name.
    CarriageReturn,
    /// The line goes on after a literal `\n`: a whole script on one line, which any interpreter takes for a comment.
    Squeezed,
    /// The line is longer than 256 bytes and was not read.
    TooLong,
    /// The line is not UTF-8 and was not read.
    Encoding,
    /// The line names no program.
    NoProgram,
    /// The line names a path outside of `/bin`, `/usr/bin` and `/usr/local/bin`, often of its author's machine.
    ForeignPath,
    /// The program is not one that is known here.
    UnknownProgram,
    /// The program fetches and starts another one (`npx`, `uv` …); nothing is fetched.
    PackageRunner,
    /// A version of the interpreter is asked for; the host has the one it has.
    Version,
    /// The line sets environment variables; they are not set.
    Environment,
    /// The line passes options; they are not passed.
    Arguments,
    /// Shebang and extension stand for different languages; the shebang was followed.
    Disagreement,
}

/// What a file looks like to be run by, or `None` if it does not look like a script.
///
/// `first_bytes` is the beginning of the file: [`SHEBANG_BYTES_MAX`] bytes, or all if it is shorter. More does no harm.
///
/// # What counts as a script
/// The first rule that fits decides. Folders and extensions are compared without regard to case.
///
/// 1. Never: documents and data by extension (`md`, `txt`, `json` …), even with a shebang; `__init__.py` and `*.d.ts`,
///    which exist to be imported; anything below `node_modules`, `__pycache__`, `site-packages`, `.git` or `.venv`.
/// 2. The innermost folder that is called `scripts`, or `assets`, `templates`, `references` or `examples` (or one
///    of these in the singular), says whether the file is meant to be run. In one of the latter it is payload and no
///    script, shebang or not: `references/azd/scripts/x.sh` is a script, `scripts/templates/x.sh` is not.
/// 3. Under `scripts`: a file with a shebang or with the extension of a language.
/// 4. Elsewhere: a file with a shebang, or with the extension of a language that has a usual interpreter. So a lone
///    `.ts` or `.go` beside SKILL.md, most often an example, is none.
///
/// # What would run it
/// The shebang wins over the extension. One that cannot be used (too long, not UTF-8, no program, a path outside of
/// the usual folders) is noted and the extension decides. A program that is not known is noted too, and nothing is
/// suggested in its place.
///
/// ```
/// use fumehood_core::{RelPath, script};
/// let path = RelPath::parse("scripts/report")?;
/// let hint = script::suggest(&path, b"#!/usr/bin/env python3\n").unwrap();
/// assert_eq!(hint.interpreter, Some("python3"));
/// # Ok::<(), fumehood_core::path::PathError>(())
/// ```
pub fn suggest(path: &RelPath, first_bytes: &[u8]) -> Option<ScriptHint> {
    if is_never_run(path) {
        return None;
    }
    let extension = extension_of(path).and_then(|extension| by_extension(&extension));
    let line = shebang::read(first_bytes);
    let has_usual_interpreter = extension.is_some_and(|(_, key)| key.is_some());
    let is_script = match place_of(path) {
        Place::Payload => false,
        Place::Scripts => line.is_some() || extension.is_some(),
        Place::Elsewhere => line.is_some() || has_usual_interpreter,
    };
    is_script.then(|| decide(extension, line.unwrap_or_default()))
}

fn decide(extension: Option<Known>, line: Line) -> ScriptHint {
    let Line { shebang, mut notes } = line;
    let Some(read) = &shebang else {
        return from_extension(extension, shebang, notes);
    };
    if read.is_foreign() {
        notes.push(ScriptNote::ForeignPath);
        return from_extension(extension, shebang, notes);
    }
    let Some((asked, interpreter)) = by_program(read, &mut notes) else {
        notes.push(ScriptNote::UnknownProgram);
        let language = extension.map(|(language, _)| language);
        return ScriptHint { interpreter: None, language, from: HintSource::Shebang, shebang, notes };
    };
    let (language, from) = match extension {
        // A program may run more than one language; then the extension says which it is.
        Some((language, _)) if language.agrees_with(asked) => (language, HintSource::Both),
        Some(_) => {
            notes.push(ScriptNote::Disagreement);
            (asked, HintSource::Shebang)
        }
        None => (asked, HintSource::Shebang),
    };
    ScriptHint { interpreter, language: Some(language), from, shebang, notes }
}

/// The hint when there is no usable shebang. Without an extension either, all that is left is that there was one.
fn from_extension(extension: Option<Known>, shebang: Option<Shebang>, notes: Vec<ScriptNote>) -> ScriptHint {
    let (language, interpreter) = extension.map_or((None, None), |(language, key)| (Some(language), key));
    let from = if extension.is_some() { HintSource::Extension } else { HintSource::Shebang };
    ScriptHint { interpreter, language, from, shebang, notes }
}

/// What a file's folder says about it.
#[derive(Clone, Copy)]
enum Place {
    Scripts,
    Payload,
    Elsewhere,
}

fn place_of(path: &RelPath) -> Place {
    let folders: Vec<_> = folders(path).collect();
    let innermost = folders.iter().rev().find_map(|folder| match folder.as_str() {
        "scripts" => Some(Place::Scripts),
        folder if PAYLOAD_FOLDERS.contains(&folder) => Some(Place::Payload),
        _ => None,
    });
    innermost.unwrap_or(Place::Elsewhere)
}

fn is_never_run(path: &RelPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    extension_of(path).is_some_and(|extension| DOCUMENT_EXTENSIONS.contains(&extension.as_str()))
        || name == "__init__.py"
        || name.ends_with(".d.ts")
        || folders(path).any(|folder| VENDOR_FOLDERS.contains(&folder.as_str()))
}

/// The folders above a file, outermost first, in lower case.
fn folders(path: &RelPath) -> impl Iterator<Item = String> {
    let count = path.components().count() - 1;
    path.components().take(count).map(str::to_ascii_lowercase)
}

fn extension_of(path: &RelPath) -> Option<String> {
    path.extension().map(str::to_ascii_lowercase)
}

const PAYLOAD_FOLDERS: [&str; 8] =
    ["assets", "asset", "templates", "template", "references", "reference", "examples", "example"];
const VENDOR_FOLDERS: [&str; 5] = ["node_modules", "__pycache__", "site-packages", ".git", ".venv"];
const DOCUMENT_EXTENSIONS: [&str; 26] = [
    "md", "markdown", "mdx", "txt", "rst", "adoc", "tex", "json", "jsonl", "jsonc", "json5", "yaml", "yml",
    "toml", "ini", "cfg", "lock", "xml", "html", "htm", "css", "svg", "csv", "tsv", "pdf", "ipynb",
];

impl HintSource {
    /// The name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Shebang => "shebang",
            Self::Both => "both",
        }
    }
}

impl ScriptNote {
    /// The note as one sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "A byte order mark stands before the shebang.",
            Self::CarriageReturn => "The shebang line ends in a carriage return, which was taken off.",
            Self::Squeezed => {
                "The whole script stands on its shebang line, with '\\n' spelled out; it would do nothing."
            }
            Self::TooLong => "The shebang line is longer than 256 bytes and was not read.",
            Self::Encoding => "The shebang line is not UTF-8 and was not read.",
            Self::NoProgram => "The shebang line names no program.",
            Self::ForeignPath => {
                "The shebang names a path outside of /bin, /usr/bin and /usr/local/bin, which is refused."
            }
            Self::UnknownProgram => "The shebang names a program that is not known here.",
            Self::PackageRunner => {
                "The shebang starts a package runner; nothing is downloaded, so packages must be there already."
            }
            Self::Version => "The shebang asks for a version; the host's interpreter may have another.",
            Self::Environment => "The shebang sets environment variables; they are not set.",
            Self::Arguments => "The shebang passes options to the interpreter; they are not passed.",
            Self::Disagreement => {
                "Shebang and extension stand for different languages; the shebang was followed."
            }
        }
    }
}

impl fmt::Display for ScriptNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
