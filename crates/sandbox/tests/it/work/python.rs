//! What Python does as anywhere.

use fumehood_sandbox::Exit;

use crate::inside::{INPUT, PYTHON, assert_well, code, has, printed, run, run_with_input, text};

fn prints(program: &str, expected: &str) {
    assert_eq!(printed(code(PYTHON, program)), expected, "{program}");
}

// EXE-37, EXE-49
#[test]
fn imports_the_standard_library() {
    if !has(PYTHON) {
        return;
    }
    // What Debian leaves out of its package, what opens windows or a browser, and what is for other systems.
    let program = "\
import importlib, sys
skipped = {'antigravity', 'this', 'idlelib', 'tkinter', 'turtle', 'turtledemo', 'ensurepip', 'lib2to3', 'distutils'}
missing = []
count = 0
for name in sorted(sys.stdlib_module_names):
    if name.startswith('_') or name in skipped: continue
    if name in {'msilib', 'msvcrt', 'nt', 'winreg', 'winsound'}: continue
    try:
        importlib.import_module(name)
        count += 1
    except ImportError as error:
        missing.append(f'{name}: {error}')
print(missing, count > 150)
";
    let outcome = run(code(PYTHON, program));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(0)), None), "{outcome:?}");
    assert_eq!(text(&outcome.output.bytes), "[] True\n");
}

// EXE-37
#[test]
fn uses_the_standard_library() {
    if !has(PYTHON) {
        return;
    }
    for (program, expected) in [
        (
            "import json, hashlib; print(json.dumps({'é': hashlib.sha256(b'a').hexdigest()[:8]}))",
            "{\"\\u00e9\": \"ca978112\"}\n",
        ),
        (
            "import zoneinfo, datetime as d; print(d.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')))",
            "2024-07-01 00:00:00+02:00\n",
        ),
        (
            "import ctypes; m = ctypes.CDLL('libm.so.6'); m.cos.restype = ctypes.c_double; print(m.cos(ctypes.c_double(0)))",
            "1.0\n",
        ),
        ("import ctypes; print(ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 3)())", "3\n"),
        ("import ssl; ssl.create_default_context(); print(ssl.OPENSSL_VERSION_INFO[0] >= 1)", "True\n"),
        (
            "import os, pwd, getpass, socket; print(os.getuid(), pwd.getpwuid(os.getuid()).pw_name, getpass.getuser(), socket.gethostname())",
            "1000 sandbox sandbox sandbox\n",
        ),
        (
            "import sys, locale; print(sys.getfilesystemencoding(), sys.stdout.encoding, 'é日本')",
            "utf-8 utf-8 é日本\n",
        ),
        (
            "import fcntl; f = open('/tmp/lock', 'w'); fcntl.flock(f, 2); fcntl.lockf(f, 2); print('locked')",
            "locked\n",
        ),
        (
            "import uuid, secrets, random; print(len({uuid.uuid1(), uuid.uuid4(), secrets.token_hex()}))",
            "3\n",
        ),
        (
            "import zlib, bz2, lzma; print([m.decompress(m.compress(b'a' * 99)) == b'a' * 99 for m in (zlib, bz2, lzma)])",
            "[True, True, True]\n",
        ),
        (
            "import shutil, os; os.makedirs('/tmp/a/b'); open('/tmp/a/b/c', 'w').write('x'); print(os.path.basename(shutil.make_archive('/tmp/z', 'zip', '/tmp/a')))",
            "z.zip\n",
        ),
        (
            "import mmap; f = open('/tmp/m', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[0] = 65; m.flush(); print(open('/tmp/m', 'rb').read(1))",
            "b'A'\n",
        ),
    ] {
        prints(program, expected);
    }
}

#[test]
fn keeps_a_database() {
    if !has(PYTHON) {
        return;
    }
    let program = "\
import sqlite3
for mode in 'delete', 'wal':
    base = sqlite3.connect('/tmp/base')
    print(base.execute(f'pragma journal_mode={mode}').fetchone()[0])
    base.execute('create table if not exists a(b)')
    base.execute('insert into a values (1)')
    base.commit()
    print(base.execute('select count(*) from a').fetchone()[0])
    base.close()
";
    prints(program, "delete\n1\nwal\n2\n");
}

#[test]
fn uses_temporary_files() {
    if !has(PYTHON) {
        return;
    }
    let program = "\
import os, tempfile
print(tempfile.gettempdir())
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file, tempfile.TemporaryFile() as other:
    file.write(b'x' * 100000); file.flush(); other.write(b'y')
    print(os.stat(file.name).st_size)
print(os.listdir('/tmp'))
";
    prints(program, "/tmp\n100000\n[]\n");
}

// EXE-49
#[test]
fn starts_processes() {
    if !has(PYTHON) {
        return;
    }
    for (program, expected) in [
        (
            "import subprocess as s; print(s.run(['/bin/cat'], input=b'x' * 1000000, capture_output=True).stdout == b'x' * 1000000)",
            "True\n",
        ),
        (
            "import subprocess as s; print(s.check_output('printf \"b\\na\\n\" | /usr/bin/sort | /usr/bin/head -n 1', shell=True))",
            "b'a\\n'\n",
        ),
        (
            "import subprocess as s\na = s.Popen(['/usr/bin/seq', '5'], stdout=s.PIPE)\nb = s.Popen(['/usr/bin/tail', '-n', '1'], stdin=a.stdout, stdout=s.PIPE)\na.stdout.close(); print(b.communicate()[0], a.wait())",
            "b'5\\n' 0\n",
        ),
        (
            "import subprocess as s; print(s.run(['/bin/sh', '-c', 'exit 9']).returncode, s.run(['/bin/sh', '-c', 'kill -9 $$']).returncode)",
            "9 -9\n",
        ),
        (
            "import subprocess as s\ntry: s.run(['/bin/sleep', '9'], timeout=0.1)\nexcept s.TimeoutExpired: print('timeout')",
            "timeout\n",
        ),
        (
            "import subprocess as s, sys; print(s.run([sys.executable, '-c', 'import os; print(sorted(os.environ))'], env={'A': '1', 'LC_CTYPE': 'C'}, capture_output=True).stdout)",
            "b\"['A', 'LC_CTYPE']\\n\"\n",
        ),
        (
            "import os\npid = os.fork()\nif pid == 0: os._exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
            "3\n",
        ),
        ("import os; os.waitpid(os.posix_spawn('/bin/echo', ['echo', 'spawned'], {}), 0)", "spawned\n"),
        (
            "import os\nr, w = os.pipe()\nif os.fork() == 0: os.write(w, b'from below'); os._exit(0)\nos.close(w); print(os.read(r, 99))",
            "b'from below'\n",
        ),
        ("import os\nos.execv('/bin/echo', ['echo', 'replaced'])", "replaced\n"),
    ] {
        prints(program, expected);
    }
}

// EXE-49
#[test]
fn works_in_parallel() {
    if !has(PYTHON) {
        return;
    }
    for (program, expected) in [
        (
            "import threading\nn = []\nt = [threading.Thread(target=n.append, args=(i,)) for i in range(40)]\n[x.start() for x in t]; [x.join() for x in t]; print(sum(n))",
            "780\n",
        ),
        (
            "import concurrent.futures as f\nwith f.ThreadPoolExecutor(8) as e: print(sum(e.map(abs, range(-20, 0))))",
            "210\n",
        ),
        (
            "import concurrent.futures as f, multiprocessing as m\nm.set_start_method('fork')\nwith f.ProcessPoolExecutor(2) as e: print(sum(e.map(abs, range(-20, 0))))",
            "210\n",
        ),
        (
            "import multiprocessing as m\nm.set_start_method('fork')\nwith m.Pool(2) as p: print(p.map(len, ['a', 'bb']))",
            "[1, 2]\n",
        ),
        (
            "import multiprocessing as m\nm.set_start_method('fork')\nv = m.Value('i', 3); a = m.Array('d', 2)\ndef f(): v.value += 1; a[1] = 5\np = m.Process(target=f); p.start(); p.join(); print(v.value, a[1])",
            "4 5.0\n",
        ),
        (
            "import multiprocessing as m\nm.set_start_method('fork')\nq = m.Queue(); s = m.Semaphore(0); c, d = m.Pipe()\ndef f(): q.put(1); s.release(); d.send(2)\np = m.Process(target=f); p.start(); print(s.acquire(timeout=20), q.get(), c.recv()); p.join()",
            "True 1 2\n",
        ),
        (
            "import multiprocessing as m\nm.set_start_method('spawn')\np = m.Process(target=print, args=('spawned',)); p.start(); p.join(); print(p.exitcode)",
            "spawned\n0\n",
        ),
        (
            "import multiprocessing.shared_memory as s\nm = s.SharedMemory(create=True, size=100); m.buf[0] = 7; n = s.SharedMemory(m.name); print(n.buf[0]); n.close(); m.close(); m.unlink()",
            "7\n",
        ),
        (
            "import asyncio\nasync def f(n): await asyncio.sleep(0.01); return n\nasync def g(): return sum(await asyncio.gather(*map(f, range(9))))\nprint(asyncio.run(g()))",
            "36\n",
        ),
        (
            "import asyncio\nasync def f():\n    p = await asyncio.create_subprocess_exec('/bin/cat', stdin=-1, stdout=-1)\n    return (await p.communicate(b'cat'))[0]\nprint(asyncio.run(f()))",
            "b'cat'\n",
        ),
        ("import asyncio, time\nprint(asyncio.run(asyncio.to_thread(lambda: 'thread')))", "thread\n"),
        ("import socket\na, b = socket.socketpair(); a.sendall(b'pair'); print(b.recv(9))", "b'pair'\n"),
    ] {
        prints(program, expected);
    }
}

#[test]
fn handles_signals() {
    if !has(PYTHON) {
        return;
    }
    prints(
        "import signal\nsignal.signal(14, lambda *_: print('alarm')); signal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause()",
        "alarm\n",
    );
    prints(
        "import os, signal\nsignal.signal(15, lambda *_: print('asked')); os.kill(os.getpid(), 15)",
        "asked\n",
    );
    let outcome = run(code(PYTHON, "import os; os.kill(os.getpid(), 11)"));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(11)), None));
}

// CHK-139, EXE-50, X-16
#[test]
fn has_the_environment_that_was_given() {
    if !has(PYTHON) {
        return;
    }
    // Without LC_CTYPE Python sets it itself, and only for itself.
    let program = "import os; print(sorted(os.environb.items()))";
    let profile = code(PYTHON, program)
        .variable("LC_CTYPE", "C.UTF-8")
        .variable("A", "é = \"'$x\n")
        .variable("EMPTY", "");
    let expected = "[(b'A', b'\\xc3\\xa9 = \"\\'$x\\n'), (b'EMPTY', b''), (b'LC_CTYPE', b'C.UTF-8')]\n";
    assert_eq!(printed(profile), expected);
}

#[test]
fn reads_its_input_and_writes_much() {
    if !has(PYTHON) {
        return;
    }
    let program = "\
import sys
data = sys.stdin.buffer.read()
sys.stdout.write('o' * 3000000)
sys.stdout.flush()
sys.exit(0 if data == b'i' * (1 << 20) else 4)
";
    let outcome = run_with_input(code(PYTHON, program), &INPUT);
    assert_well(&outcome);
    assert_eq!((outcome.output.bytes.len(), outcome.output.dropped), (3_000_000, 0));
    assert!(outcome.output.bytes.iter().all(|byte| *byte == b'o'));
    // Without any input there is an end at once.
    prints("import sys; print(repr(sys.stdin.read()))", "''\n");
}

#[test]
fn ends_with_its_own_code() {
    if !has(PYTHON) {
        return;
    }
    for (program, exit) in [
        ("raise SystemExit(7)", 7),
        ("1/0", 1),
        ("import os; os._exit(255)", 255),
        ("(", 1),
        ("import nothing_of_that_name", 1),
    ] {
        let outcome = run(code(PYTHON, program));
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(exit)), None), "{program}");
    }
}

#[test]
fn runs_modules() {
    if !has(PYTHON) {
        return;
    }
    let outcome =
        run_with_input(crate::inside::profile(PYTHON, &["-m", "json.tool", "--compact"]), b"{ \"a\": [1] }");
    assert_well(&outcome);
    assert_eq!(text(&outcome.output.bytes), "{\"a\":[1]}\n");
    let outcome = run_with_input(crate::inside::profile(PYTHON, &["-"]), b"print('from input')\n");
    assert_eq!(text(&outcome.output.bytes), "from input\n");
}
