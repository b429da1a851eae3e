//! The `#!` line, as a person means it and not as a kernel would take it.

use super::ScriptNote;

/// A shebang that could be read. Its words are the author's: show them through [`Shown`](crate::Shown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shebang {
    /// The program as written, with its path if it has one; what `env` would look up if the line goes through `env`.
    pub program: String,
    /// The words after the program.
    pub arguments: Vec<String>,
    /// Whether the line goes through `env`.
    pub via_env: bool,
}

/// Bytes of the line that are read, without its line end: what Linux reads.
pub const SHEBANG_LINE_BYTES_MAX: usize = 256;
/// Bytes that a caller must hand over to let the longest line be told from a longer one: a byte order mark, the line,
/// and CRLF.
pub const SHEBANG_BYTES_MAX: usize = BOM.len() + SHEBANG_LINE_BYTES_MAX + 2;

/// What the first line says: something, or nothing that can be used and why.
#[derive(Default)]
pub(super) struct Line {
    pub(super) shebang: Option<Shebang>,
    pub(super) notes: Vec<ScriptNote>,
}

impl Shebang {
    /// The last component of the program.
    pub fn program_name(&self) -> &str {
        self.program.rsplit('/').next().unwrap_or(&self.program)
    }

    /// Whether the program is given by a path that is not one of the system's own: an author's virtual environment, a
    /// package manager's prefix, something beside the script.
    pub fn is_foreign(&self) -> bool {
        match self.program.rsplit_once('/') {
            Some((folder, _)) => !PROGRAM_FOLDERS.contains(&folder),
            None => false,
        }
    }
}

/// Reads the first line; `None` if the file does not begin with `#!`.
pub(super) fn read(first_bytes: &[u8]) -> Option<Line> {
    let mut notes = Vec::new();
    let (has_bom, text) = match first_bytes.strip_prefix(BOM) {
        Some(text) => (true, text),
        None => (false, first_bytes),
    };
    text.strip_prefix(b"#!")?;
    if has_bom {
        notes.push(ScriptNote::ByteOrderMark);
    }
    let line = match first_line(text, &mut notes).map(core::str::from_utf8) {
        Some(Ok(line)) => line,
        Some(Err(_)) => {
            notes.push(ScriptNote::Encoding);
            return Some(Line { shebang: None, notes });
        }
        None => {
            notes.push(ScriptNote::TooLong);
            return Some(Line { shebang: None, notes });
        }
    };
    let shebang = words(line.strip_prefix("#!").unwrap_or(line), &mut notes);
    if shebang.is_none() {
        notes.push(ScriptNote::NoProgram);
    }
    Some(Line { shebang, notes })
}

/// The line without its end, or `None` if it is too long.
///
/// Looks no further than a caller must hand over, so that a longer beginning of the file changes nothing.
fn first_line<'a>(text: &'a [u8], notes: &mut Vec<ScriptNote>) -> Option<&'a [u8]> {
    let line = text.split(|b| *b == b'\n').next().unwrap_or(text);
    // Looked for first: such lines are long, and their beginning still says what was meant.
    let readable = &line[..line.len().min(SHEBANG_LINE_BYTES_MAX)];
    if let Some(end) = readable.windows(2).position(|pair| pair == b"\\n") {
        notes.push(ScriptNote::Squeezed);
        return Some(&line[..end]);
    }
    let (line, has_carriage_return) = match line.strip_suffix(b"\r") {
        Some(line) => (line, true),
        None => (line, false),
    };
    if line.len() > SHEBANG_LINE_BYTES_MAX {
        return None;
    }
    if has_carriage_return {
        notes.push(ScriptNote::CarriageReturn);
    }
    Some(line)
}

fn words(line: &str, notes: &mut Vec<ScriptNote>) -> Option<Shebang> {
    let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
    let direct = Shebang { program: (*words.first()?).to_owned(), arguments: Vec::new(), via_env: false };
    let via_env = direct.program_name() == "env" && !direct.is_foreign();
    if via_env {
        words = env_command(&words[1..], notes);
    }
    let (program, arguments) = words.split_first()?;
    Some(Shebang {
        program: (*program).to_owned(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        via_env,
    })
}

/// What remains of `env`'s words once its own options and assignments are taken off.
fn env_command<'a>(words: &[&'a str], notes: &mut Vec<ScriptNote>) -> Vec<&'a str> {
    let mut words = words.iter().copied();
    let mut touches_environment = false;
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        // What `env` splits may be glued to the option; it begins with options and assignments of its own.
        let word = word.strip_prefix("--split-string=").or(word.strip_prefix("-S")).unwrap_or(word);
        match word {
            "" | "--split-string" | "-vS" | "-v" | "--debug" | "--" => {}
            "-u" | "--unset" | "-C" | "--chdir" => {
                touches_environment = true;
                words.next();
            }
            _ if word.starts_with('-') || word.contains('=') => touches_environment = true,
            _ => command.push(word),
        }
        if !command.is_empty() {
            break;
        }
    }
    if touches_environment {
        notes.push(ScriptNote::Environment);
    }
    command.extend(words);
    command
}

const BOM: &[u8] = b"\xef\xbb\xbf";
const PROGRAM_FOLDERS: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];
