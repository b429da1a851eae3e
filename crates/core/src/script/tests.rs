use super::*;
use crate::manifest::InterpreterKey;

fn hint(path: &str, first: &[u8]) -> Option<ScriptHint> {
    suggest(&RelPath::parse(path).unwrap(), first)
}

/// The hint as one line: interpreter, language, source, notes.
fn line(path: &str, first: impl AsRef<[u8]>) -> String {
    match hint(path, first.as_ref()) {
        None => "no script".to_owned(),
        Some(hint) => {
            let language = hint.language.map_or("-", Language::as_str);
            let notes = hint.notes.iter().map(|note| format!(" {note:?}")).collect::<Vec<_>>().concat();
            format!("{} {language} {}{notes}", hint.interpreter.unwrap_or("-"), hint.from.as_str())
        }
    }
}

// Every form of shebang found in public skills.
#[test]
fn shebangs_are_understood() {
    let cases = [
        ("scripts/a.py", "#!/usr/bin/env python3\nx", "python3 Python both"),
        ("scripts/a.py", "#!/usr/bin/env python", "python3 Python both"),
        ("scripts/a", "#!/usr/bin/env python3", "python3 Python shebang"),
        ("scripts/a.py", "#!/usr/bin/python3.10\n", "python3 Python both Version"),
        ("scripts/a.py", "#!/usr/bin/env python2.7\n", "python2 Python both Version"),
        ("scripts/a.py", "#!/usr/bin/env -S uv run --script\n", "python3 Python both PackageRunner"),
        ("scripts/a", "#!/usr/bin/env -S uv run --script\n", "python3 Python shebang PackageRunner"),
        ("scripts/a.py", "#!/usr/bin/env -Suv run python\n", "python3 Python both PackageRunner"),
        ("scripts/a.ts", "#!/usr/bin/env -S deno run --allow-net\n", "deno TypeScript both Arguments"),
        ("scripts/a.js", "#!/usr/bin/env deno\n", "deno JavaScript both"),
        ("scripts/a.py", "#!/usr/bin/env A=1 B=2 python3\n", "python3 Python both Environment"),
        ("scripts/a.py", "#!/usr/bin/env -u HOME -i python3\n", "python3 Python both Environment"),
        ("scripts/a.py", "#!/usr/bin/env --split-string=python3 -u\n", "python3 Python both Arguments"),
        // Found by the fuzzer: nothing glued to the option was taken for the program.
        ("scripts/a.py", "#!/usr/bin/env --split-string= python3\n", "python3 Python both"),
        ("scripts/a.py", "#!/usr/bin/env -SA=1 python3\n", "python3 Python both Environment"),
        ("scripts/a.py", "#!/usr/bin/env -S-u HOME python3\n", "python3 Python both Environment"),
        ("scripts/a.sh", "#!/bin/bash -eu\n", "bash shell both Arguments"),
        ("scripts/a.sh", "#!/usr/bin/env bash", "bash shell both"),
        ("scripts/a.sh", "#! /bin/sh\n", "sh shell both"),
        ("scripts/a.sh", "#!/bin/zsh\n", "zsh shell both"),
        ("scripts/a.sh", "#!/bin/bash\r\necho", "bash shell both CarriageReturn"),
        ("scripts/a.sh", "#!/bin/bash\r", "bash shell both CarriageReturn"),
        ("scripts/a.js", "#!/usr/bin/env node\n", "node JavaScript both"),
        ("scripts/a.ts", "#!/usr/bin/env npx tsx\n", "tsx TypeScript both PackageRunner"),
        ("scripts/a.ts", "#!/usr/bin/env npx ts-node\n", "ts-node TypeScript both PackageRunner"),
        ("scripts/a.ts", "#!/usr/bin/env -S npx -y tsx\n", "tsx TypeScript both PackageRunner"),
        ("scripts/a.ts", "#!/usr/bin/env tsx\n", "tsx TypeScript both"),
        ("scripts/a.ts", "#!/usr/bin/env bun\n", "bun TypeScript both"),
        ("scripts/a.js", "#!/usr/bin/env bun\n", "bun JavaScript both"),
        ("scripts/a.ps1", "#!/usr/bin/env pwsh\n", "pwsh PowerShell both"),
        ("scripts/a.swift", "#!/usr/bin/env swift\n", "swift Swift both"),
        ("scripts/a.js", "#!/usr/bin/env osascript -l JavaScript\n", "osascript JavaScript both Arguments"),
        ("scripts/a.pl", "#!/usr/bin/perl\n", "perl Perl both"),
        ("scripts/a.py", "\u{feff}#!/usr/bin/env python3\n", "python3 Python both ByteOrderMark"),
        ("scripts/a.py", "#!python3\n", "python3 Python both"),
    ];
    for (path, first, expected) in cases {
        assert_eq!(line(path, first), expected, "{path} {first:?}");
    }
}

// The shebang wins where it can be used, and where it cannot the extension decides; both are said.
#[test]
fn shebangs_and_extensions_that_disagree() {
    let cases = [
        ("scripts/a.sh", "#!/usr/bin/env python3\n", "python3 Python shebang Disagreement"),
        ("scripts/a.py", "#!/bin/sh\n", "sh shell shebang Disagreement"),
        ("scripts/a.ts", "#!/usr/bin/env node\n", "node JavaScript shebang Disagreement"),
        ("scripts/a.py", "#!/home/me/venv/bin/python\n", "python3 Python extension ForeignPath"),
        ("scripts/a.py", "#!/usr/bin/env /opt/x/python\n", "python3 Python extension ForeignPath"),
        ("scripts/a.py", "#!/usr/bin/../../tmp/python\n", "python3 Python extension ForeignPath"),
        ("scripts/a.py", "#!./venv/bin/python\n", "python3 Python extension ForeignPath"),
        ("scripts/a.py", "#!/opt/bin/env python3\n", "python3 Python extension ForeignPath"),
        ("scripts/a.py", "#!/usr/local/bin/python3\n", "python3 Python both"),
        ("scripts/a", "#!/home/me/venv/bin/python\n", "- - shebang ForeignPath"),
        ("scripts/a.py", "#!/usr/bin/env sage\n", "- Python shebang UnknownProgram"),
        ("scripts/a", "#!/usr/bin/env sage\n", "- - shebang UnknownProgram"),
        ("scripts/a.ts", "#!/usr/bin/env npx my-tool\n", "- TypeScript shebang PackageRunner UnknownProgram"),
        ("scripts/a.sh", "#!\n", "sh shell extension NoProgram"),
        ("scripts/a.sh", "#!/usr/bin/env\n", "sh shell extension NoProgram"),
        ("scripts/a", "#! \r\n", "- - shebang CarriageReturn NoProgram"),
    ];
    for (path, first, expected) in cases {
        assert_eq!(line(path, first), expected, "{path} {first:?}");
    }
}

#[test]
fn a_script_squeezed_into_its_shebang_is_said() {
    let squeezed = r"#!/usr/bin/env python3\nimport os\n".to_owned() + &r"print(os)\n".repeat(100);
    assert_eq!(line("scripts/a.py", &squeezed), "python3 Python both Squeezed");
    let read = hint("scripts/a.py", squeezed.as_bytes()).unwrap().shebang.unwrap();
    assert_eq!((read.program.as_str(), read.via_env, read.arguments.len()), ("python3", true, 0));
}

#[test]
fn the_line_is_read_up_to_its_limit() {
    let shebang = |bytes: usize| {
        let start = "#!/bin/sh ";
        format!("{start}{}", "x".repeat(bytes - start.len()))
    };
    for end in ["", "\n", "\r\n", "\nmore"] {
        let at = shebang(SHEBANG_LINE_BYTES_MAX) + end;
        assert!(line("scripts/a.py", &at).starts_with("sh shell shebang"), "{end:?}");
        let over = shebang(SHEBANG_LINE_BYTES_MAX + 1) + end;
        assert_eq!(line("scripts/a.py", &over), "python3 Python extension TooLong", "{end:?}");
    }
    // What a caller must hand over is enough: with every prefix of that length the answer is that for the whole file.
    for bytes in [9, 255, 256, 257, 258, 300] {
        for (bom, end) in [("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")] {
            let file = format!("{bom}{}{end}rest", shebang(bytes.max(10)));
            let handed = &file.as_bytes()[..file.len().min(SHEBANG_BYTES_MAX)];
            // Found by the fuzzer: the note about the line's end hung on bytes that need not be there.
            let (whole, part) = (hint("scripts/a", file.as_bytes()), hint("scripts/a", handed));
            assert_eq!(whole, part, "{bytes} {end:?}");
        }
    }
}

#[test]
fn a_line_that_is_no_text_is_not_read() {
    assert_eq!(line("scripts/a.py", b"#!/usr/bin/\xff\xfe\n"), "python3 Python extension Encoding");
    assert_eq!(line("scripts/a", b"#!\xff\n"), "- - shebang Encoding");
    // What follows the line may be anything.
    assert_eq!(line("scripts/a", b"#!/bin/sh\n\xff"), "sh shell shebang");
}

#[test]
fn extensions_suggest_interpreters() {
    let cases = [
        ("a.py", "python3 Python extension"),
        ("a.PY", "python3 Python extension"),
        ("a.sh", "sh shell extension"),
        ("a.bash", "bash shell extension"),
        ("a.mjs", "node JavaScript extension"),
        ("a.cjs", "node JavaScript extension"),
        ("a.js", "node JavaScript extension"),
        ("a.ps1", "pwsh PowerShell extension"),
        ("a.rb", "ruby Ruby extension"),
        ("a.pl", "perl Perl extension"),
        ("a.ts", "- TypeScript extension"),
        ("a.tsx", "- TypeScript extension"),
        ("a.go", "- Go extension"),
        ("a.rs", "- Rust extension"),
        ("a.cs", "- C# extension"),
        ("a", "no script"),
        ("a.bin", "no script"),
        (".py", "no script"),
    ];
    for (name, expected) in cases {
        assert_eq!(line(&format!("scripts/{name}"), "print(1)"), expected, "{name}");
    }
}

// What is a script at all; the first line of the file decides nothing about documents and payload.
#[test]
fn the_folder_says_whether_a_file_is_meant_to_be_run() {
    let shebang = "#!/bin/sh\n";
    for (path, plain, with_shebang) in [
        ("scripts/run.sh", true, true),
        ("Scripts/run.sh", true, true),
        ("scripts/run", false, true),
        ("scripts/x/y/z/run.sh", true, true),
        ("scripts/run.ts", true, true),
        ("run.sh", true, true),
        ("find-polluter", false, true),
        // The example beside the SKILL.md of systematic-debugging.
        ("condition-based-waiting-example.ts", false, true),
        ("core/tool.go", false, true),
        ("core/validators.py", true, true),
        // The payload of gke-app-onboarding and api-design-principles.
        ("assets/server.js", false, false),
        ("assets/rest-api-template.py", false, false),
        ("templates/a.sh", false, false),
        ("Template/a.sh", false, false),
        ("examples/demo.py", false, false),
        ("reference/a.py", false, false),
        ("assets/run", false, false),
        ("myassets/run.sh", true, true),
        // The innermost of the telling folders decides.
        ("references/recipes/azd/scripts/setup.sh", true, true),
        ("scripts/templates/setup.sh", false, false),
        ("scripts/templates/scripts/setup.sh", true, true),
        ("scripts/node_modules/x/scripts/setup.sh", false, false),
        ("scripts/__pycache__/a.py", false, false),
        (".git/hooks/pre-commit", false, false),
        ("scripts/office/__init__.py", false, false),
        ("scripts/office/__main__.py", true, true),
        ("scripts/types.d.ts", false, false),
        ("SKILL.md", false, false),
        ("scripts/README.MD", false, false),
        ("scripts/requirements.txt", false, false),
        ("scripts/package.json", false, false),
        ("scripts/Makefile", false, true),
        // A file that is called as a folder is not in it.
        ("assets", false, true),
    ] {
        assert_eq!(line(path, "text") != "no script", plain, "{path}");
        assert_eq!(line(path, shebang) != "no script", with_shebang, "{path} with shebang");
        assert_eq!(line(path, "") != "no script", plain, "{path}, empty");
    }
}

// EXE-42, EXE-61: a hint must be something that a manifest can say.
#[test]
fn every_suggested_key_is_an_interpreter_key() {
    let extensions = "py sh bash zsh ksh fish js mjs cjs ps1 rb pl php lua r jl awk tcl exp";
    let programs = "python python2 pypy sh dash bash zsh ksh fish node bun deno tsx ts-node pwsh ruby perl php lua \
                    Rscript julia gawk tclsh expect osascript swift";
    let by_extension = extensions.split_whitespace().map(|e| hint(&format!("scripts/a.{e}"), b""));
    let by_program =
        programs.split_whitespace().map(|p| hint("scripts/a", format!("#!/usr/bin/env {p}").as_bytes()));
    for found in by_extension.chain(by_program) {
        let found = found.unwrap();
        assert!(InterpreterKey::parse(found.interpreter.unwrap()).is_some(), "{found:?}");
        assert!(found.language.is_some(), "{found:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_first_bytes_are_answered(first in proptest::collection::vec(0_u8..=255, 0..300), shebang: bool) {
        let mut bytes = if shebang { b"#!".to_vec() } else { vec![] };
        bytes.extend(first);
        let found = hint("scripts/a.py", &bytes);
        assert!(found.is_some());
        let words = found.unwrap().shebang.map_or(0, |s| s.program.len() + s.arguments.concat().len());
        assert!(words <= SHEBANG_LINE_BYTES_MAX);
    }
}
