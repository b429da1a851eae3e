//! The lines of the table, each with a program that tries it.

use super::Row;
use crate::inside::{BASH, NODE, PYTHON, SH};

const NO_NETWORK: &str = "there is no network, and no call that makes a socket";
const NO_GAIN: &str = "the filter, and no capability";
const NO_RUN: &str = "what is writable can be neither run nor loaded as code";
const NO_FACTS: &str = "`/proc` shows processes and nothing of the machine";

const fn python(
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    code: &'static str,
    says: &'static str,
) -> Row {
    Row { what, why, instead, by: (PYTHON, None), code, says }
}

const fn node(
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    code: &'static str,
    says: &'static str,
) -> Row {
    Row { what, why, instead, by: (NODE, None), code, says }
}

const fn sh(
    tool: Option<&'static str>,
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    code: &'static str,
    says: &'static str,
) -> Row {
    Row { what, why, instead, by: (SH, tool), code, says }
}

pub(super) const ROWS: &[Row] = &[
    python(
        "Sockets of any family, clients and servers, on localhost too (Python: `PermissionError`, Node: `EPERM`)",
        NO_NETWORK,
        "pipes; `socket.socketpair()`, which is a pipe in both directions",
        "import socket\nfor family in socket.AF_INET, socket.AF_INET6, socket.AF_UNIX:\n    try: socket.socket(family); print('it worked')\n    except PermissionError as e: print('PermissionError', family)\n# CONTROL",
        "PermissionError",
    ),
    python(
        "`python3 -m http.server` and other servers for a browser or a test",
        NO_NETWORK,
        "call the handler, or read the files, in the same process",
        "import runpy, sys; sys.argv = ['x', '0']; runpy.run_module('http.server', run_name='__main__'); print('it worked')",
        "PermissionError",
    ),
    python(
        "Looking up names: `Name or service not known`",
        "there is no network; `/etc/hosts` has `localhost` only",
        "nothing",
        "import urllib.request; urllib.request.urlopen('http://example.com'); print('it worked')",
        "Name or service not known",
    ),
    python(
        "`multiprocessing.Manager()`: `EOFError`",
        "its server has a socket with a name",
        "`Queue`, `Pipe`, `Value`, `Array`, `Pool`, `shared_memory`",
        "import multiprocessing as m; print(m.Manager().dict(), 'it worked') # CONTROL",
        "EOFError",
    ),
    python(
        "`multiprocessing` with `forkserver`: `PermissionError`. Python 3.14 and later start so unless told otherwise",
        "its server has a socket with a name",
        "`multiprocessing.set_start_method(\"fork\")` or `\"spawn\"`",
        "import multiprocessing as m\nm.set_start_method('forkserver'); p = m.Process(target=print, args=('it worked',)); p.start(); p.join() # CONTROL",
        "PermissionError",
    ),
    python(
        "`mmap.mmap(-1, …)`, memory that processes share and that is nobody's file: `PermissionError`",
        "no limit counts it",
        "`flags=mmap.MAP_PRIVATE`; `multiprocessing.shared_memory`; a mapped file in `/dev/shm`",
        "import mmap; mmap.mmap(-1, 4096); print('it worked') # CONTROL",
        "PermissionError",
    ),
    python(
        "`os.memfd_create`: `PermissionError`",
        "no limit counts it, and it could be run",
        "`tempfile.TemporaryFile()`",
        "import os; os.memfd_create('x'); print('it worked') # CONTROL",
        "PermissionError",
    ),
    python(
        "Running a program that was written or compiled inside: `Permission denied`",
        NO_RUN,
        "hand a script to its interpreter: `sh script`, `python3 script`",
        "import subprocess, shutil; shutil.copy('/bin/true', './t'); subprocess.run(['./t'], check=True); print('it worked') # CONTROL",
        "PermissionError",
    ),
    python(
        "Loading a library or an extension module that was installed or built inside: `failed to map segment`",
        NO_RUN,
        "install it outside, and grant the folder for reading",
        "import ctypes, shutil, glob; shutil.copy(glob.glob('/lib/*/libm.so.6')[0], './m.so'); ctypes.CDLL('./m.so'); print('it worked') # CONTROL",
        "failed to map segment",
    ),
    python(
        "Terminals: `pty`, `script`, `/dev/tty`, `os.getlogin()`, `curses`",
        "there is none, and no `/dev/ptmx`",
        "plain input and output; what asks whether it is a terminal is told no",
        "import pty; pty.openpty(); print('it worked')",
        "out of pty devices",
    ),
    python(
        "Files of the machine that are not granted: homes, `/var`, `/run`, `/opt`, `/srv`, `/sys`, most of `/etc`",
        "they are not there: `No such file or directory`",
        "grant what is needed",
        "import os\nfor place in '/home', '/root', '/var', '/run', '/opt', '/sys', '/etc/os-release':\n    try: os.stat(place); print('it worked')\n    except FileNotFoundError: print('FileNotFoundError')",
        "FileNotFoundError",
    ),
    python(
        "Certificates of authorities: `ssl` loads none",
        "`/etc/ssl` is not there, and nobody to talk to",
        "nothing",
        "import ssl; n = len(ssl.create_default_context().get_ca_certs()); print('none' if n == 0 else 'it worked')",
        "none",
    ),
    python(
        "`/proc/cpuinfo`, `meminfo`, `stat`, `uptime`, `loadavg`, `net`, `sys`, `mounts`",
        NO_FACTS,
        "`os.cpu_count()`, `nproc`, `os.sysconf`",
        "import os\nfor name in 'cpuinfo', 'meminfo', 'stat', 'uptime', 'loadavg', 'sys', 'version':\n    try: open('/proc/' + name); print('it worked')\n    except FileNotFoundError: print('FileNotFoundError')",
        "FileNotFoundError",
    ),
    python(
        "Writing anywhere but in `/tmp`, `/dev/shm`, `/dev/null` and writable grants: `Read-only file system` or `Permission denied`",
        "read-only mounts; Landlock",
        "grant a folder for writing",
        "for place in '/x', '/usr/x', '/etc/passwd', '/dev/x', '/dev/full', '/proc/self/comm':\n    try: open(place, 'a'); print('it worked')\n    except OSError as e: print('OSError', e.errno in (13, 30))",
        "OSError True",
    ),
    python(
        "The setuid and setgid bits, devices, extended attributes, capabilities of files: `PermissionError`",
        "the filter: whoever finds them outside would be fooled",
        "nothing",
        "import os, stat\nopen('./f', 'w')\ndo = [lambda: os.chmod('./f', 0o4755), lambda: os.mknod('./d', stat.S_IFCHR | 0o600, os.makedev(1, 3)), lambda: os.setxattr('./f', 'user.a', b'x')]\nfor f in do:\n    try: f(); print('it worked')\n    except PermissionError: print('PermissionError')",
        "PermissionError",
    ),
    python(
        "Other identities, roots, clocks and scheduling classes: `PermissionError`, or `OSError` for an identity that is not there",
        NO_GAIN,
        "`nice` works, to be less important",
        "import os, time\ndo = [lambda: os.setuid(0), lambda: os.chroot('/tmp'), lambda: time.clock_settime(0, 1), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))]\nfor f in do:\n    try: f(); print('it worked')\n    except PermissionError: print('PermissionError')\n    except OSError: print('OSError')",
        "PermissionError",
    ),
    node(
        "`net`, `http`, `dgram`, `fetch`, servers in `cluster`: `EPERM`",
        NO_NETWORK,
        "`child_process.fork` and its messages",
        "require('net').createServer().on('error', e => console.log(e.code)).listen(0, () => { console.log('it worked'); process.exit() }); require('dgram').createSocket('udp4').on('error', e => console.log(e.code)).bind(0) // CONTROL",
        "EPERM",
    ),
    node(
        "`fetch(…)`: `fetch failed`",
        NO_NETWORK,
        "nothing",
        "fetch('http://127.0.0.1:1/').then(() => console.log('it worked'), e => console.log(e.message))",
        "fetch failed",
    ),
    node(
        "`dns.lookup`, `dns.resolve`: `ENOTFOUND`, `ECONNREFUSED`",
        NO_NETWORK,
        "nothing",
        "const d = require('dns'); for (const f of [d.lookup, d.resolve]) f('example.com', e => console.log(e ? e.code : 'it worked'))",
        "ENOTFOUND",
    ),
    node(
        "`os.cpus()` is empty, which is no error: dividing by its length, or starting so many workers, does not do what was meant",
        NO_FACTS,
        "`os.availableParallelism()`",
        "console.log(os.cpus().length === 0 ? 'empty' : 'it worked') // CONTROL",
        "empty",
    ),
    node(
        "`os.networkInterfaces()` throws `ERR_SYSTEM_ERROR`",
        NO_NETWORK,
        "nothing",
        "os.networkInterfaces(); console.log('it worked') // CONTROL",
        "ERR_SYSTEM_ERROR",
    ),
    node(
        "Debuggers: `node --inspect`, `strace`, `gdb` on a process",
        "no sockets; the filter has no `ptrace`",
        "print",
        "require('inspector').open(0); console.log(require('inspector').url() ? 'it worked' : 'no inspector')",
        "no inspector",
    ),
    sh(
        None,
        "`su`, `sudo`, `mount`, `chroot` and every other program that gains rights",
        "setuid bits are without effect, there is no root, and no capability",
        "nothing",
        "su -c 'echo it worked'",
        "su:",
    ),
    sh(
        Some("/usr/bin/unshare"),
        "Sandboxes and containers inside: `unshare`, `bwrap`, browsers",
        "the filter lets nobody make namespaces",
        "a browser's `--no-sandbox`, for what needs no network",
        "unshare --user echo it worked",
        "Operation not permitted",
    ),
    sh(
        Some("/usr/bin/free"),
        "`free`, `uptime`, `lsof`, `ps aux`, `ps -f`: an error; `top` shows nothing of the machine",
        NO_FACTS,
        "`ps -e`, `pgrep`, `pkill`, `kill`, `jobs`, which work",
        "free && echo it worked # CONTROL",
        "meminfo",
    ),
    sh(
        Some("/usr/bin/curl"),
        "`curl`, `ssh`, `git clone` of an address, `pip install`: an error at once. `wget` and `npm install` try again for longer than most deadlines; `wget --tries=1` and `npm install --fetch-retries=0` do not",
        NO_NETWORK,
        "fetch outside, and grant the result",
        "curl -sS http://127.0.0.1:9/; echo code $?",
        "code 7",
    ),
    sh(
        Some("/usr/bin/gcc"),
        "Compiling works, running the result does not: `Permission denied`",
        NO_RUN,
        "compile inside, run in another sandbox that is granted the result for reading",
        "echo 'int main(){return 0;}' > t.c && gcc -o t t.c && echo compiled && ./t && echo it worked # CONTROL",
        "Permission denied",
    ),
    Row {
        what: "Bash's `/dev/tcp` and `/dev/udp`",
        why: NO_NETWORK,
        instead: "pipes",
        by: (BASH, None),
        code: "exec 3<>/dev/udp/127.0.0.1/9 && echo it worked # CONTROL",
        says: "/dev/udp/127.0.0.1/9:",
    },
];
