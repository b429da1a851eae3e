//! What shells do as anywhere.

use fumehood_sandbox::Exit;

use crate::inside::{BASH, INPUT, SH, assert_well, code, has, printed, run, run_with_input, text};

/// In both shells.
const BOTH: &[(&str, &str)] = &[
    ("cat <<END\nhere $((1 + 2))\nEND", "here 3\n"),
    ("cat <<'END'\nhere $((1 + 2))\nEND", "here $((1 + 2))\n"),
    ("x=$(printf 'a\\nb\\n' | sort -r | head -n 1); echo \"<$x> `echo old`\"", "<b> old\n"),
    ("sleep 0.05 & first=$!; (exit 3) & wait $!; echo $?; wait $first; echo $?", "3\n0\n"),
    (
        "for n in 1 2 3 4 5 6; do (sleep 0.01; echo $n > /tmp/$n) & done; wait; cat /tmp/*",
        "1\n2\n3\n4\n5\n6\n",
    ),
    ("trap 'echo asked' TERM; kill -TERM $$; echo after", "asked\nafter\n"),
    ("trap 'echo last' EXIT; exit", "last\n"),
    ("mkfifo /tmp/p; echo through > /tmp/p & cat /tmp/p", "through\n"),
    ("seq 100000 | sort -rn | awk '{ s += $1 % 2 } END { print s, NR }'", "50000 100000\n"),
    ("exec 3> /tmp/three; echo x >&3; exec 3>&-; cat /tmp/three", "x\n"),
    ("echo out; (echo err >&2) 2>/dev/null; ls /nothing 2>&1 >/dev/null | grep -c nothing", "out\n1\n"),
    ("set -- 'a b' c; printf '<%s>' \"$@\"; echo $#", "<a b><c>2\n"),
    ("cd /tmp && mkdir -p é/日本 && cd é/日本 && pwd && ls -d /tmp/é/*", "/tmp/é/日本\n/tmp/é/日本\n"),
    (
        "TZ=Asia/Tokyo date -d @0 +%H%Z; TZ=UTC0 date -d @0 +%H%Z; date -u -d @0 +%F",
        "09JST\n00UTC\n1970-01-01\n",
    ),
    (
        "timeout 0.05 sleep 9; echo $?; echo $(($(nice -n 5 nice) - $(nice))); nohup true; setsid -w true; nproc > /dev/null",
        "124\n5\n",
    ),
    ("find /etc -name passwd | xargs wc -l | cut -d' ' -f1", "2\n"),
    (
        "tar -cf /tmp/a.tar -C /etc passwd && mkdir /tmp/o && tar -xf /tmp/a.tar -C /tmp/o && cmp /etc/passwd /tmp/o/passwd && gzip /tmp/a.tar && gzip -dc /tmp/a.tar.gz | tar -t",
        "passwd\n",
    ),
    (
        "printf '#!/bin/sh\\necho script \"$1\"\\n' > /tmp/s; sh /tmp/s one; set -- two; . /tmp/s",
        "script one\nscript two\n",
    ),
    (
        "umask 027; : > /tmp/f; stat -c %a /tmp/f; chmod 1755 /tmp/f; stat -c %a /tmp/f; ln -s f /tmp/l; readlink /tmp/l",
        "640\n1755\nf\n",
    ),
    ("kill -0 $$ && echo alive; ls -d /proc/$$ | wc -l", "alive\n1\n"),
    ("whoami; id -un; id -gn; hostname", "sandbox\nsandbox\nsandbox\nsandbox\n"),
];

const BASH_ONLY: &[(&str, &str)] = &[
    ("diff <(echo a) <(echo a) && echo same", "same\n"),
    ("cat <<< \"word\"", "word\n"),
    ("set -o pipefail; false | true; echo $?; false | true; echo ${PIPESTATUS[*]}", "1\n1 0\n"),
    ("declare -A m=([k]=v); a=(1 2 3); echo ${m[k]} ${#a[@]} ${a[@]: -1}", "v 3 3\n"),
    ("coproc cat; echo co >&${COPROC[1]}; read -r -u ${COPROC[0]} line; echo $line", "co\n"),
    ("[[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}; printf '%(%Y)T\\n' 0", "c\n1970\n"),
    ("mapfile -t l < <(seq 3); echo ${l[@]}; read -t 0.05 -r x; echo $?", "1 2 3\n1\n"),
    ("echo kept | while read -r x; do echo $x; done; wait; jobs", "kept\n"),
];

// EXE-37, EXE-49
#[test]
fn do_ordinary_work() {
    for shell in [SH, BASH].into_iter().filter(|shell| has(shell)) {
        for (program, expected) in BOTH {
            assert_eq!(printed(code(shell, program)), *expected, "{shell}: {program}");
        }
    }
}

/// Tools that are not on every system.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        "/usr/bin/git",
        "export HOME=/tmp; git init -q r; cd r; echo a > a; git add a; git -c user.name=a -c user.email=b commit -qm one; git clone -q /tmp/r /tmp/c; cat /tmp/c/a; git -C /tmp/c log --format=%s",
        "a\none\n",
    ),
    (
        "/usr/bin/perl",
        "perl -e 'use POSIX; print `echo sub`, fork ? (wait, 1)[1] : exit, qq(\\n)'",
        "sub\n1\n",
    ),
    ("/usr/bin/openssl", "printf a | openssl dgst -sha256 -r | cut -c 1-8", "ca978112\n"),
    ("/usr/bin/gcc", "echo 'int main(){return 0;}' > t.c && gcc -o t t.c && head -c 4 t | tail -c 3", "ELF"),
];

// EXE-37
#[test]
fn start_tools() {
    for (tool, program, expected) in TOOLS {
        if std::path::Path::new(tool).exists() {
            assert_eq!(printed(code(SH, program)), *expected, "{program}");
        } else {
            println!("skipped: {tool} is missing");
        }
    }
}

// EXE-37
#[test]
fn bash_does_what_it_alone_can() {
    if !has(BASH) {
        return;
    }
    for (program, expected) in BASH_ONLY {
        assert_eq!(printed(code(BASH, program)), *expected, "{program}");
    }
}

#[test]
fn end_with_their_own_code() {
    for shell in [SH, BASH].into_iter().filter(|shell| has(shell)) {
        for (program, exit) in [
            ("exit 3", Exit::Code(3)),
            ("false", Exit::Code(1)),
            ("no-such-command", Exit::Code(127)),
            ("/etc/passwd", Exit::Code(126)),
            ("exit 137", Exit::Code(137)),
            ("kill -9 $$", Exit::Signal(9)),
            ("kill -TERM $$", Exit::Signal(15)),
            ("sh -c 'kill -9 $$'; exit $?", Exit::Code(137)),
        ] {
            let outcome = run(code(shell, program));
            assert_eq!((outcome.exit, outcome.killed), (Some(exit), None), "{shell}: {program}");
        }
    }
}

// CHK-139, EXE-50, X-16
#[test]
fn have_the_environment_that_was_given() {
    // What a shell sets itself it does not export, apart from these.
    let program = "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort";
    for shell in [SH, BASH].into_iter().filter(|shell| has(shell)) {
        let profile = code(shell, program).variable("FIRST", "é $x").variable("LAST", "");
        assert_eq!(printed(profile), "FIRST=é $x\nLAST=\nPATH=/usr/bin:/bin\n", "{shell}");
    }
}

#[test]
fn read_input_and_programs() {
    for shell in [SH, BASH].into_iter().filter(|shell| has(shell)) {
        let outcome = run_with_input(code(shell, "wc -c"), &INPUT);
        assert_well(&outcome);
        assert_eq!(text(&outcome.output.bytes).trim(), "1048576", "{shell}");
        let outcome = run_with_input(code(shell, "read -r a b; echo \"$b,$a\"; cat"), b"one two\nthree\n");
        assert_eq!(text(&outcome.output.bytes), "two,one\nthree\n", "{shell}");
        let outcome =
            run_with_input(crate::inside::profile(shell, &["-s", "arg"]), b"echo \"from input $1\"\n");
        assert_eq!(text(&outcome.output.bytes), "from input arg\n", "{shell}");
    }
}

#[test]
fn write_much() {
    for shell in [SH, BASH].into_iter().filter(|shell| has(shell)) {
        let outcome = run(code(shell, "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"));
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(0)), None), "{shell}");
        assert_eq!((outcome.output.bytes.len(), outcome.errors.bytes.len()), (3_000_000, 2_000_000));
    }
}
