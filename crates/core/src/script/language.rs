//! The tables: extensions and programs to languages and interpreter keys.

use super::{ScriptNote, Shebang};

macro_rules! languages {
    ($( $variant:ident $text:literal )*) => {
        /// A language that scripts of skills are written in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Language { $( #[doc = concat!("`", $text, "`")] $variant, )* }

        impl Language {
            /// The name, for people and for JSON output.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }
        }
    };
}

/// A language and the key of the interpreter meant.
pub(super) type Known = (Language, Option<&'static str>);

languages! {
    AppleScript "AppleScript"
    Awk "Awk"
    Batch "Batch"
    CSharp "C#"
    Expect "Expect"
    Fish "fish"
    Go "Go"
    Java "Java"
    JavaScript "JavaScript"
    Julia "Julia"
    Kotlin "Kotlin"
    Lua "Lua"
    Perl "Perl"
    Php "PHP"
    PowerShell "PowerShell"
    Python "Python"
    R "R"
    Ruby "Ruby"
    Rust "Rust"
    Shell "shell"
    Swift "Swift"
    Tcl "Tcl"
    TypeScript "TypeScript"
}

impl Language {
    /// Whether a shebang for `asked` fits a file of this language. What runs TypeScript runs JavaScript as well; the
    /// reverse is true of some versions of Node.js only.
    pub(super) fn agrees_with(self, asked: Self) -> bool {
        self == asked || (self, asked) == (Self::JavaScript, Self::TypeScript)
    }
}

/// The language of an extension (in lower case) and its usual interpreter. What has to be compiled, or is run by one of
/// several programs, has none.
pub(super) fn by_extension(extension: &str) -> Option<Known> {
    Some(match extension {
        "py" => (Language::Python, Some("python3")),
        "sh" => (Language::Shell, Some("sh")),
        "bash" => (Language::Shell, Some("bash")),
        "zsh" => (Language::Shell, Some("zsh")),
        "ksh" => (Language::Shell, Some("ksh")),
        "fish" => (Language::Fish, Some("fish")),
        "js" | "mjs" | "cjs" => (Language::JavaScript, Some("node")),
        "ps1" => (Language::PowerShell, Some("pwsh")),
        "rb" => (Language::Ruby, Some("ruby")),
        "pl" => (Language::Perl, Some("perl")),
        "php" => (Language::Php, Some("php")),
        "lua" => (Language::Lua, Some("lua")),
        "r" => (Language::R, Some("rscript")),
        "jl" => (Language::Julia, Some("julia")),
        "awk" => (Language::Awk, Some("awk")),
        "tcl" => (Language::Tcl, Some("tclsh")),
        "exp" => (Language::Expect, Some("expect")),
        "ts" | "mts" | "cts" | "tsx" => (Language::TypeScript, None),
        "jsx" => (Language::JavaScript, None),
        "applescript" | "scpt" => (Language::AppleScript, None),
        "bat" | "cmd" => (Language::Batch, None),
        "cs" | "csx" => (Language::CSharp, None),
        "go" => (Language::Go, None),
        "java" => (Language::Java, None),
        "kts" => (Language::Kotlin, None),
        "rs" => (Language::Rust, None),
        "swift" => (Language::Swift, None),
        _ => return None,
    })
}

/// The language and interpreter that a shebang asks for, and what of its wishes is not fulfilled.
pub(super) fn by_program(shebang: &Shebang, notes: &mut Vec<ScriptNote>) -> Option<Known> {
    let name = shebang.program_name();
    if RUNNERS.contains(&name) {
        notes.push(ScriptNote::PackageRunner);
        return by_runner(name, &shebang.arguments);
    }
    if !shebang.arguments.is_empty() {
        notes.push(ScriptNote::Arguments);
    }
    if name == "osascript" && shebang.arguments.iter().any(|argument| argument == "JavaScript") {
        return Some((Language::JavaScript, Some("osascript")));
    }
    let (stem, has_version) = without_version(name);
    if has_version {
        notes.push(ScriptNote::Version);
    }
    if name.starts_with("python2") {
        // Another language in all but name: version 3 is no stand-in.
        return Some((Language::Python, Some("python2")));
    }
    by_name(stem)
}

/// What a package runner would start.
fn by_runner(runner: &str, arguments: &[String]) -> Option<Known> {
    let is_own_word = |word: &&String| word.starts_with('-') || RUNNER_WORDS.contains(&word.as_str());
    let started = arguments.iter().find(|word| !is_own_word(word));
    let program = started.and_then(|word| by_name(without_version(word).0));
    let is_of_python = matches!(runner, "uv" | "pipx" | "poetry" | "pdm" | "hatch");
    program.or(is_of_python.then_some((Language::Python, Some("python3"))))
}

fn by_name(program: &str) -> Option<Known> {
    Some(match program {
        "python" => (Language::Python, Some("python3")),
        "pypy" => (Language::Python, Some("pypy3")),
        "sh" => (Language::Shell, Some("sh")),
        "dash" => (Language::Shell, Some("dash")),
        "bash" => (Language::Shell, Some("bash")),
        "zsh" => (Language::Shell, Some("zsh")),
        "ksh" => (Language::Shell, Some("ksh")),
        "fish" => (Language::Fish, Some("fish")),
        "node" | "nodejs" => (Language::JavaScript, Some("node")),
        "bun" => (Language::TypeScript, Some("bun")),
        "deno" => (Language::TypeScript, Some("deno")),
        "tsx" => (Language::TypeScript, Some("tsx")),
        "ts-node" => (Language::TypeScript, Some("ts-node")),
        "pwsh" | "powershell" => (Language::PowerShell, Some("pwsh")),
        "ruby" => (Language::Ruby, Some("ruby")),
        "perl" => (Language::Perl, Some("perl")),
        "php" => (Language::Php, Some("php")),
        "lua" => (Language::Lua, Some("lua")),
        "Rscript" => (Language::R, Some("rscript")),
        "julia" => (Language::Julia, Some("julia")),
        "awk" | "gawk" | "mawk" => (Language::Awk, Some("awk")),
        "tclsh" => (Language::Tcl, Some("tclsh")),
        "expect" => (Language::Expect, Some("expect")),
        "osascript" => (Language::AppleScript, Some("osascript")),
        "swift" => (Language::Swift, Some("swift")),
        _ => return None,
    })
}

/// A program's name without a version at its end, and whether one beyond Python's usual `3` was asked for.
fn without_version(name: &str) -> (&str, bool) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    let version = &name[stem.len()..];
    let is_usual = version.is_empty() || (matches!(stem, "python" | "pypy") && version == "3");
    (stem, !is_usual)
}

/// Programs that fetch and start another.
const RUNNERS: [&str; 11] =
    ["uv", "pipx", "poetry", "pdm", "hatch", "npx", "pnpx", "bunx", "pnpm", "yarn", "npm"];
/// Words of package runners that are not the program they start.
const RUNNER_WORDS: [&str; 4] = ["run", "exec", "dlx", "tool"];
