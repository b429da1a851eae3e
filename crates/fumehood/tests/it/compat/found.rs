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

// EXE-44, EXE-48, EXE-62, CHK-069
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

// EXE-56: what is usual outside and missing here is explained; another failure has the usual words.
#[test]
fn a_failure_is_explained_by_what_the_script_wrote() {
    let skill = skill("a-skill")
        .file("py.py", "import no_such_package\n")
        .file("cjs.cjs", "require('no-such-package');\n")
        .file("mjs.mjs", "import 'no-such-package';\n")
        .file("net.py", "import socket\nsocket.getaddrinfo('example.com', 80)\n")
        .file("net.mjs", "await import('node:dns').then(dns => dns.promises.lookup('example.com'));\n")
        .file("sh.sh", "#!/bin/sh\r\nset -e\r\ncd /skill\r\n")
        .file("bash.sh", "#!/bin/bash\r\n\r\nexit 1\r\n")
        .file("fail.sh", "echo no >&2; exit 3\n");
    let world = approving(&skill);
    for (script, start) in [
        ("py.py", "it needs a package"),
        ("cjs.cjs", "it needs a package"),
        ("mjs.mjs", "it needs a package"),
        ("net.py", "it looked for a host on the network"),
        ("net.mjs", "it looked for a host on the network"),
        ("sh.sh", "its lines end in CR LF"),
        ("bash.sh", "its lines end in CR LF"),
        ("fail.sh", "what it wrote says why"),
    ] {
        let report = run(&world, "a-skill", [script]).json();
        assert_eq!(report["failure"]["code"], "E_SKILL_SCRIPT_FAILED", "{script}: {report:#}");
        assert!(text(&report["failure"]["advice"]).starts_with(start), "{script}: {report:#}");
    }
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

// EXE-48, DESIGN 5: many scripts work on the current folder. They start in the workspace if the person says so, and are
// the skill's all the same; what they make there is put in place after success.
#[test]
fn a_script_starts_in_the_workspace_if_that_is_asked_for() {
    let script = "import helper, os\nprint(helper.WORD, os.getcwd())\nopen('made.txt', 'w').write(open('a.txt').read())\n";
    let skill =
        skill("a-skill").file("scripts/make.py", script).file("scripts/helper.py", "WORD = 'sibling'\n");
    let world = approving(&skill);
    let work = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = work.path().to_str().unwrap();
    std::fs::write(work.path().join("a.txt"), "a\n").unwrap();
    let workspace = format!("{place}:rw");
    let arguments = ["scripts/make.py", "--workspace", &workspace, "--in-workspace"];
    assert_eq!(output(&world, "a-skill", &arguments), format!("sibling {place}\n"));
    assert_eq!(std::fs::read(work.path().join("made.txt")).unwrap(), b"a\n");
    let elsewhere = run(&world, "a-skill", ["scripts/make.py", "--workspace", &workspace]).json();
    assert_eq!(elsewhere["output"]["text"], "sibling /skill\n");
    assert_eq!(elsewhere["exit_code"], 1);
    let nowhere = run(&world, "a-skill", ["scripts/make.py", "--in-workspace"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.errors());
}
