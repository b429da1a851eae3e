//! What a script finds in here.

use fumehood_testkit::skill;

use super::{approving, good, output, run, text};

/// Files of a skill, and the script that is run; what it writes.
struct Case {
    files: &'static [(&'static str, &'static str)],
    argv: &'static [&'static str],
    output: &'static str,
}

fn check(cases: &[Case]) {
    for Case { files, argv, output: expected } in cases {
        let mut one = skill("a-skill").file("data.txt", "data\n");
        for (path, content) in *files {
            one = one.file(path, content);
        }
        let world = approving(&one);
        let (script, _) = files[0];
        let arguments: Vec<&str> = [script, "--"].into_iter().chain(argv.iter().copied()).collect();
        assert_eq!(output(&world, "a-skill", &arguments), *expected, "{script}");
    }
}

// EXE-44, EXE-48, EXE-62: siblings, packages, the current folder, an argument vector byte for byte, an empty standard input.
#[test]
fn python_finds_its_siblings_and_the_skill() {
    check(&[
        Case {
            files: &[
                (
                    "scripts/main.py",
                    "import helper, lib.deep, sys\nprint(helper.WORD, lib.deep.WORD, __file__, sys.argv[1:])\n",
                ),
                ("scripts/helper.py", "WORD = 'sibling'\n"),
                ("scripts/lib/__init__.py", ""),
                ("scripts/lib/deep.py", "WORD = 'package'\n"),
            ],
            argv: &["a b", "", "-x", "ü$HOME"],
            output: "sibling package /skill/scripts/main.py ['a b', '', '-x', 'ü$HOME']\n",
        },
        Case {
            files: &[(
                "scripts/main.py",
                "import os, pathlib, sys, tempfile\n\
                 print(os.getcwd(), open('data.txt').read().strip(), pathlib.Path.home(), tempfile.gettempdir())\n\
                 pathlib.Path.home().joinpath('.cache').mkdir()\n\
                 print(sys.stdin.read() == '', open('/dev/stdin').read() == '', sys.stdin.isatty(), sys.stdout.isatty())\n\
                 print(sys.stdout.encoding, sys.getfilesystemencoding(), sys.flags.dont_write_bytecode)\n\
                 print('ünïcode →')\n",
            )],
            argv: &[],
            output: "/skill data /tmp /tmp\nTrue True False False\nutf-8 utf-8 1\nünïcode →\n",
        },
        Case {
            files: &[
                (
                    "scripts/main.py",
                    "import os, shutil, subprocess, sys\n\
                 print(sorted(os.environ.items()))\n\
                 print(shutil.which('cat'), shutil.which('no-such-program'))\n\
                 print(subprocess.run([sys.executable, 'scripts/other.py'], capture_output=True, text=True).stdout)\n",
                ),
                ("scripts/other.py", "print('child')\n"),
            ],
            argv: &[],
            output: "[('HOME', '/tmp'), ('LANG', 'C.UTF-8'), ('PATH', '/usr/bin:/bin'), ('TMPDIR', '/tmp')]\n/usr/bin/cat None\nchild\n\n",
        },
        Case {
            files: &[(
                "tool",
                "#!/usr/bin/env -S python3 -u\r\nprint('no extension, and ends of lines from elsewhere')\r\n",
            )],
            argv: &[],
            output: "no extension, and ends of lines from elsewhere\n",
        },
    ]);
}

// EXE-44, EXE-48, EXE-62
#[test]
fn shells_find_their_siblings_and_the_skill() {
    check(&[
        Case {
            files: &[
                (
                    "scripts/main.sh",
                    "#!/bin/sh\nset -eu\n. \"$(dirname \"$0\")/lib.sh\"\nhello \"$PWD\"\ncat data.txt - < /dev/stdin\n\
                     t=$(mktemp)\necho kept > \"$t\"\ncat \"$t\"\ntest -t 1 && echo terminal || echo \"$HOME $# $1\"\n",
                ),
                ("scripts/lib.sh", "hello() { echo \"hello $1\"; }\n"),
            ],
            argv: &["a  b"],
            output: "hello /skill\ndata\nkept\n/tmp 1 a  b\n",
        },
        Case {
            files: &[
                (
                    "scripts/main",
                    "#!/usr/bin/env bash\nset -euo pipefail\nhere=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\nwords=(a b)\n\
                     echo \"$here ${#words[@]}\"\nsort <(printf 'b\\na\\n')\ncat <<< 'a string'\nbash \"$here/other.sh\"\n",
                ),
                ("scripts/other.sh", "echo child\n"),
            ],
            argv: &[],
            output: "/skill/scripts 2\na\nb\na string\nchild\n",
        },
    ]);
}

// EXE-44, EXE-48, EXE-62
#[test]
fn node_finds_its_siblings_and_the_skill() {
    check(&[
        Case {
            files: &[
                (
                    "scripts/main.cjs",
                    "const { word } = require('./helper.cjs');\nconst fs = require('node:fs');\n\
                     console.log(word, __dirname, fs.readFileSync('data.txt', 'utf8').trim(), process.argv.slice(2));\n\
                     console.log(process.cwd(), process.stdout.isTTY, fs.readFileSync(0, 'utf8').length);\n",
                ),
                ("scripts/helper.cjs", "module.exports = { word: 'sibling' };\n"),
            ],
            argv: &["--a=b", "c d"],
            output: "sibling /skill/scripts data [ '--a=b', 'c d' ]\n/skill undefined 0\n",
        },
        Case {
            files: &[
                (
                    "scripts/main.mjs",
                    "import { word } from './helper.mjs';\nconsole.log(word, import.meta.url);\n",
                ),
                ("scripts/helper.mjs", "export const word = 'module';\n"),
            ],
            argv: &[],
            output: "module file:///skill/scripts/main.mjs\n",
        },
        Case {
            files: &[
                ("scripts/main.js", "import { word } from '../lib/helper.js';\nconsole.log(word);\n"),
                ("lib/helper.js", "export const word = 'by package.json';\n"),
                ("package.json", "{\"type\": \"module\"}\n"),
            ],
            argv: &[],
            output: "by package.json\n",
        },
    ]);
}

// EXE-56, EXE-62: a script that would write beside itself is told no by the system, and the person what to do.
#[test]
fn a_script_writes_in_out_and_not_beside_itself() {
    let script = "import sys\nopen(sys.argv[1] + '/made.txt', 'w').write('made')\n";
    let world = approving(&skill("a-skill").file("scripts/make.py", script));
    world.folder("results");
    let answer = run(&world, "a-skill", ["scripts/make.py", "--", "."]);
    let report = answer.json();
    assert_eq!(answer.code, Some(1));
    assert_eq!(report["failure"]["code"], "E_SKILL_SCRIPT_FAILED");
    assert!(text(&report["errors"]["text"]).contains("Read-only file system"));
    assert!(text(&report["failure"]["advice"]).contains("/out, which --out DIR collects"), "{report:#}");
    assert!(!world.has("skills/a-skill/made.txt"));

    let report = good(&world, "a-skill", &["scripts/make.py", "--out", "results", "--", "/out"]);
    assert_eq!(report["files_applied"].as_array().unwrap().len(), 1);
    assert_eq!(world.read("results/made.txt"), b"made");
}

// EXE-56: another failure is not explained by it.
#[test]
fn another_failure_has_the_usual_advice() {
    let world = approving(&skill("a-skill").file("scripts/fail.sh", "echo no >&2; exit 3\n"));
    let report = run(&world, "a-skill", ["scripts/fail.sh"]).json();
    assert_eq!(report["exit_code"], 3);
    assert!(text(&report["failure"]["advice"]).starts_with("what it wrote says why"), "{report:#}");
}

// EXE-48: a file that a script reads at a fixed place in /tmp is there when that very file is granted.
#[test]
fn a_file_at_a_fixed_place_in_the_temporary_folder_can_be_granted() {
    let world = approving(&skill("a-skill").file("scripts/read.sh", "cat \"$1\"; ls /tmp | wc -l\n"));
    let file = world.write("input.txt", "from outside\n");
    let file = file.to_str().unwrap();
    let failed = run(&world, "a-skill", ["scripts/read.sh", "--", file]);
    assert!(!text(&failed.json()["output"]["text"]).contains("from outside"));
    let granted = output(&world, "a-skill", &["scripts/read.sh", "--read", file, "--", file]);
    assert!(granted.starts_with("from outside\n"), "{granted}");
}
