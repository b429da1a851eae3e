//! What Node does as anywhere.

use fumehood_sandbox::Exit;

use crate::inside::{Granted, INPUT, NODE, assert_well, code, has, printed, run, run_with_input, text};

fn prints(program: &str, expected: &str) {
    assert_eq!(printed(code(NODE, program)), expected, "{program}");
}

// EXE-37
#[test]
fn uses_its_library() {
    if !has(NODE) {
        return;
    }
    for (program, expected) in [
        (
            "const fs = require('fs'); fs.writeFileSync('/tmp/é日本', 'x'); fs.promises.readFile('/tmp/é日本', 'utf8').then(t => console.log(t, fs.readdirSync('/tmp')))",
            "x [ 'é日本' ]\n",
        ),
        (
            "const c = require('crypto'); console.log(c.createHash('sha256').update('a').digest('hex').slice(0, 8), c.randomBytes(4).length, c.scryptSync('a', 'b', 8).length)",
            "ca978112 4 8\n",
        ),
        (
            "const z = require('zlib'); console.log(z.gunzipSync(z.gzipSync('hello')).toString()); z.brotliCompress('x', (e, b) => console.log(z.brotliDecompressSync(b).toString()))",
            "hello\nx\n",
        ),
        (
            "setImmediate(() => { console.log('immediate'); setTimeout(() => console.log('timer'), 5) }); process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('promise'))",
            "tick\npromise\nimmediate\ntimer\n",
        ),
        (
            "const { Worker } = require('worker_threads'); for (const n of [1]) new Worker('const w = require(\"worker_threads\"); w.parentPort.postMessage(w.workerData + 1)', { eval: true, workerData: n }).on('message', console.log)",
            "2\n",
        ),
        (
            "const a = new Int32Array(new SharedArrayBuffer(16)); Atomics.add(a, 0, 5); console.log(a[0])",
            "5\n",
        ),
        (
            "WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => console.log('wasm'))",
            "wasm\n",
        ),
        (
            "console.log(os.userInfo().username, os.homedir(), os.tmpdir(), os.hostname(), process.getuid(), os.availableParallelism() > 0)",
            "sandbox /tmp /tmp sandbox 1000 true\n",
        ),
        (
            "console.log(new Date(0).toLocaleString('de-DE', { timeZone: 'Asia/Tokyo' }))",
            "1.1.1970, 09:00:00\n",
        ),
        (
            "require('fs').watch('/tmp', (_, name) => { console.log(name); process.exit() }); setTimeout(() => require('fs').writeFileSync('/tmp/seen', 'x'), 20)",
            "seen\n",
        ),
        (
            "import('node:path').then(p => console.log(p.join('a', '..', 'b'))); structuredClone(new Map([[1, 2]])); new URL('http://a/'); new TextEncoder()",
            "b\n",
        ),
    ] {
        prints(program, expected);
    }
}

// EXE-49
#[test]
fn starts_processes() {
    if !has(NODE) {
        return;
    }
    for (program, expected) in [
        ("console.log(require('child_process').execFileSync('/bin/echo', ['hi']).toString())", "hi\n\n"),
        (
            "require('child_process').exec('printf 123 | /usr/bin/tr 1 9', (e, out) => console.log(e, out))",
            "null 923\n",
        ),
        (
            "const p = require('child_process').spawn('/bin/cat'); p.stdout.on('data', d => console.log(String(d))); p.on('close', (c, s) => console.log(c, s)); p.stdin.end('cat')",
            "cat\n0 null\n",
        ),
        (
            "const r = require('child_process').spawnSync('/bin/sh', ['-c', 'kill -9 $$']); console.log(r.status, r.signal)",
            "null SIGKILL\n",
        ),
    ] {
        prints(program, expected);
    }
}

// EXE-49
#[test]
fn talks_to_its_children() {
    if !has(NODE) {
        return;
    }
    let granted = Granted::new();
    let program = "\
if (process.send) process.on('message', m => { process.send(m + 1); process.disconnect() })
else {
  const child = require('child_process').fork(__filename)
  child.on('message', m => console.log('got', m)).on('exit', c => console.log('exit', c))
  child.send(4)
}
";
    granted.put("read/talk.js", program, 0o644);
    let profile = granted.to(crate::inside::profile(NODE, &["/read/talk.js"]));
    assert_eq!(printed(profile), "got 5\nexit 0\n");
    let cluster = "\
const c = require('cluster')
if (c.isPrimary) c.fork().on('exit', n => console.log('exit', n)); else process.exit(3)
";
    granted.put("read/cluster.js", cluster, 0o644);
    assert_eq!(printed(granted.to(crate::inside::profile(NODE, &["/read/cluster.js"]))), "exit 3\n");
}

#[test]
fn loads_modules_beside_it() {
    if !has(NODE) {
        return;
    }
    let granted = Granted::new();
    granted.put("read/part.mjs", "export const part = 'part'\n", 0o644);
    granted.put(
        "read/whole.mjs",
        "import { part } from './part.mjs'\nconsole.log(part, process.argv.slice(2))\n",
        0o644,
    );
    let profile = crate::inside::profile(NODE, &["/read/whole.mjs", "--flag", "a b"]);
    assert_eq!(printed(granted.to(profile)), "part [ '--flag', 'a b' ]\n");
}

#[test]
fn handles_signals_and_ends_with_its_own_code() {
    if !has(NODE) {
        return;
    }
    for (program, exit) in [
        (
            "process.on('SIGTERM', () => process.exit(4)); process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 9000)",
            Exit::Code(4),
        ),
        ("process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 9000)", Exit::Signal(9)),
        ("process.exit(255)", Exit::Code(255)),
        ("throw new Error('x')", Exit::Code(1)),
        ("(", Exit::Code(1)),
    ] {
        let outcome = run(code(NODE, program));
        assert_eq!((outcome.exit, outcome.killed), (Some(exit), None), "{program}");
    }
}

// CHK-139, EXE-50, X-16
#[test]
fn has_the_environment_that_was_given() {
    if !has(NODE) {
        return;
    }
    prints("console.log(process.env)", "{}\n");
    let profile = code(NODE, "console.log(JSON.stringify(process.env))").variable("A", "é").variable("B", "");
    assert_eq!(printed(profile), "{\"A\":\"é\",\"B\":\"\"}\n");
}

#[test]
fn reads_its_input_and_writes_much() {
    if !has(NODE) {
        return;
    }
    let program = "\
let length = 0
process.stdin.on('data', d => { length += d.length }).on('end', () => {
  process.stdout.write('o'.repeat(3000000))
  process.exitCode = length === 1 << 20 ? 0 : 4
})
";
    let outcome = run_with_input(code(NODE, program), &INPUT);
    assert_well(&outcome);
    assert_eq!((outcome.output.bytes.len(), outcome.output.dropped), (3_000_000, 0));
    prints("console.log(require('fs').readFileSync(0).length)", "0\n");
    let outcome = run_with_input(crate::inside::profile(NODE, &["-"]), b"console.log('from input')\n");
    assert_eq!(text(&outcome.output.bytes), "from input\n");
}
