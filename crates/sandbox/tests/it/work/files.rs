//! Files of the host, read and written by every interpreter. What counts is what the host has afterwards.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::inside::{BASH, Granted, NODE, PYTHON, SH, code, has, printed, profile};

const NAME: &str = "é 日本 'x'";

const COPY: &[(&str, &str)] = &[
    (
        PYTHON,
        "import os\nname = os.listdir('/read')[0]\ndata = open(f'/read/{name}', 'rb').read()\nos.makedirs('/work/sub')\nopen(f'/work/sub/{name}', 'wb').write(data.upper())\nos.replace(f'/work/sub/{name}', f'/work/{name}')\nos.remove('/work/old')\nos.chmod(f'/work/{name}', 0o640)\nprint(len(data))",
    ),
    (
        NODE,
        "const fs = require('fs'); const name = fs.readdirSync('/read')[0]; const data = fs.readFileSync(`/read/${name}`); console.log(data.length); fs.mkdirSync('/work/sub'); fs.writeFileSync(`/work/sub/${name}`, String(data).toUpperCase()); fs.renameSync(`/work/sub/${name}`, `/work/${name}`); fs.unlinkSync('/work/old'); fs.chmodSync(`/work/${name}`, 0o640)",
    ),
    (
        SH,
        "cd /read; for name in *; do wc -c < \"$name\"; mkdir /work/sub; tr a-z A-Z < \"$name\" > \"/work/sub/$name\"; mv \"/work/sub/$name\" /work/; rm /work/old; chmod 640 \"/work/$name\"; done",
    ),
    (
        BASH,
        "name=$(ls /read); data=$(< \"/read/$name\"); echo ${#data}; mkdir /work/sub; printf %s \"$data\" | tr a-z A-Z > \"/work/sub/$name\"; mv \"/work/sub/$name\" /work/; rm /work/old; chmod 640 \"/work/$name\"",
    ),
];

// EXE-37, EXE-49
#[test]
fn are_read_and_written_on_the_host() {
    for (interpreter, program) in COPY.iter().filter(|(interpreter, _)| has(interpreter)) {
        let granted = Granted::new();
        granted.put(&format!("read/{NAME}"), "forwards", 0o600);
        granted.put("work/old", "old", 0o600);
        assert_eq!(
            printed(granted.to(code(interpreter, program).variable("LC_ALL", "C.UTF-8"))),
            "8\n",
            "{interpreter}"
        );

        assert_eq!(
            granted.bytes(&format!("work/{NAME}")).expect("was written"),
            b"FORWARDS",
            "{interpreter}"
        );
        assert_eq!(granted.bytes(&format!("read/{NAME}")).expect("is there"), b"forwards");
        granted.bytes("work/old").expect_err("was removed");
        let written = granted.folder.path().join("work").join(NAME);
        let metadata = std::fs::metadata(written).expect("is there");
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o640, "{interpreter}");
        // It belongs to whoever started the sandbox, also where that is root.
        assert_eq!(metadata.uid(), rustix::process::geteuid().as_raw(), "{interpreter}");
    }
}

// EXE-49
#[test]
fn are_refused_where_they_are_granted_for_reading() {
    for (interpreter, program) in [
        (PYTHON, "import sys\ntry: open('/read/file', 'a')\nexcept OSError as e: print(e.errno)"),
        (NODE, "try { require('fs').appendFileSync('/read/file', 'x') } catch (e) { console.log(-e.errno) }"),
        (SH, "(echo x >> /read/file) 2>/dev/null || echo 30"),
        (BASH, "(echo x >> /read/file) 2>/dev/null || echo 30"),
    ] {
        if has(interpreter) {
            let granted = Granted::new();
            granted.put("read/file", "kept", 0o666);
            assert_eq!(printed(granted.to(code(interpreter, program))), "30\n", "{interpreter}");
            assert_eq!(granted.bytes("read/file").expect("is there"), b"kept");
        }
    }
}

#[test]
fn can_be_programs() {
    let granted = Granted::new();
    granted.put("read/tool", "#!/bin/sh\necho \"$0 $1\"\n", 0o755);
    assert_eq!(printed(granted.to(profile("/read/tool", &["a b"]))), "/read/tool a b\n");
    granted.put("read/with-option", "#!/bin/sh -e\nfalse\necho not here\n", 0o755);
    let outcome = crate::inside::run(granted.to(profile("/read/with-option", &[""; 0])));
    assert_eq!((outcome.exit, outcome.output.bytes.len()), (Some(fumehood_sandbox::Exit::Code(1)), 0));
    if has(PYTHON) {
        granted.put("read/by-env", "#!/usr/bin/env python3\nprint('by env')\n", 0o755);
        let profile = profile("/read/by-env", &[""; 0]).variable("PATH", "/usr/bin");
        assert_eq!(printed(granted.to(profile)), "by env\n");
    }
}

#[test]
fn are_where_the_current_folder_is() {
    let granted = Granted::new();
    granted.put("work/here", "here\n", 0o600);
    let profile = granted.to(code(SH, "cat here; pwd; echo there > there")).directory("/work");
    assert_eq!(printed(profile), "here\n/work\n");
    assert_eq!(granted.bytes("work/there").expect("was written"), b"there\n");
}

/// The standard streams as files, which scripts do as often as by number.
#[test]
fn can_be_the_standard_streams() {
    let program = "echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin; echo $?";
    let outcome = crate::inside::run(code(SH, program));
    let said = (crate::inside::text(&outcome.output.bytes), crate::inside::text(&outcome.errors.bytes));
    assert_eq!(said, ("a\n0\n".to_owned(), "b\n".to_owned()));
}

/// Tools that try to keep attributes and identities go on where there are none.
#[test]
fn are_copied_with_modes_and_made() {
    let granted = Granted::new();
    let script = "cd /work && echo x > a && chmod 640 a && cp -p a b && cp -a a c && install -m 750 a d && \
                  sed -i s/x/y/ a && mv a /tmp/a && mv /tmp/a e && cat b c d e && stat -c %a b c d e";
    assert_eq!(printed(granted.to(code(SH, script))), "x\nx\nx\ny\n640\n640\n750\n640\n");
    assert_eq!(granted.bytes("work/d").expect("was written"), b"x\n");
    if has("/usr/bin/make") {
        let script = "cd /tmp && printf 'all:\\n\\t@echo it worked\\n' > Makefile && make";
        assert_eq!(printed(code(SH, script)), "it worked\n");
    }
}
