//! Tries one small thing after the other and says what the kernel answered. For comparing a run with a prediction.

use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, WaitOptions};

use crate::sys::exec::execve;
use crate::sys::process::{self, Clone, Namespaces};

/// The first argument of the tests' helper by which it tries things; each further argument is one, in words separated
/// by tabs. Without further ones it just leaves, with success.
pub const TRY_ARGUMENT: &str = "--fumehood-try";

/// Tries what each argument says, in order, and writes one line for each: `ok`, with what was seen, or `refused`, with
/// the kind of refusal.
///
/// # Authority
/// Does to files, sockets and processes whatever the arguments say.
pub fn try_each(arguments: impl Iterator<Item = OsString>) -> ! {
    // A mode is what was asked for.
    rustix::process::umask(Mode::empty());
    let mut lines = String::new();
    for argument in arguments {
        let argument = argument.to_string_lossy().into_owned();
        let words: Vec<&str> = argument.split('\t').collect();
        let answer = attempt(&words);
        lines.push_str(
            &answer.map_or_else(|errno| format!("refused {}", kind_of(errno)), |seen| format!("ok{seen}")),
        );
        lines.push('\n');
    }
    let written = std::io::stdout().write_all(lines.as_bytes());
    process::exit(i32::from(written.is_err()))
}

fn attempt(words: &[&str]) -> Result<String, Errno> {
    let nothing = |()| String::new();
    match words {
        ["read", path] => read(path),
        ["list", path] => list(path),
        ["look", path] => look(path),
        ["write", path, text] => {
            let file = rustix::fs::open(*path, OFlags::WRONLY | OFlags::APPEND | PLAIN, Mode::empty())?;
            rustix::io::write(&file, text.as_bytes()).map(|_| String::new())
        }
        ["cut", path] => rustix::fs::open(*path, OFlags::WRONLY | OFlags::TRUNC | PLAIN, Mode::empty())
            .map(|_| String::new()),
        ["create", path, text] => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | PLAIN;
            let file = rustix::fs::open(*path, flags, Mode::from_raw_mode(0o644))?;
            rustix::io::write(&file, text.as_bytes()).map(|_| String::new())
        }
        ["folder", path] => rustix::fs::mkdir(*path, Mode::from_raw_mode(0o755)).map(nothing),
        ["fifo", path] => make(path, FileType::Fifo).map(nothing),
        ["device", path] => make(path, FileType::CharacterDevice).map(nothing),
        ["link", target, path] => rustix::fs::symlink(*target, *path).map(nothing),
        ["name", old, new] => rustix::fs::linkat(CWD, *old, CWD, *new, AtFlags::empty()).map(nothing),
        ["move", old, new] => rustix::fs::rename(*old, *new).map(nothing),
        ["remove", path] => rustix::fs::unlink(*path).map(nothing),
        ["remove-folder", path] => rustix::fs::rmdir(*path).map(nothing),
        ["mode", path, mode] => {
            let mode = u32::from_str_radix(mode, 8).map_err(|_| Errno::INVAL)?;
            rustix::fs::chmod(*path, Mode::from_raw_mode(mode)).map(nothing)
        }
        ["run", path] => run(path).map(nothing),
        ["connect", path] => {
            UnixStream::connect(path).map(drop).map_err(|error| errno_of(&error)).map(nothing)
        }
        ["socket", kind] => socket(kind).map(nothing),
        ["signal", whom] => signal(whom).map(nothing),
        _ => Err(Errno::NOSYS),
    }
}

fn read(path: &str) -> Result<String, Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | PLAIN, Mode::empty())?;
    let mut bytes = [0; READ_BYTES_MAX];
    let length = rustix::io::read(&file, &mut bytes)?;
    Ok(format!(" {}", bytes[..length].escape_ascii()))
}

fn list(path: &str) -> Result<String, Errno> {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | PLAIN, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(format!(" {}", names.join(",")))
}

fn look(path: &str) -> Result<String, Errno> {
    let seen = rustix::fs::lstat(path)?;
    let kind = match FileType::from_raw_mode(seen.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlink(path, Vec::new())?;
            return Ok(format!(" link {}", target.to_string_lossy()));
        }
        FileType::Directory => "folder",
        FileType::RegularFile => "file",
        FileType::Socket => "socket",
        FileType::Fifo => "fifo",
        _ => "device",
    };
    let is_own = seen.st_uid == rustix::process::geteuid().as_raw();
    let owner = if is_own { "own" } else { "strange" };
    Ok(format!(" {kind} {:o} {owner}", seen.st_mode & 0o7777))
}

fn make(path: &str, kind: FileType) -> Result<(), Errno> {
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), 0)
}

/// Starts a program, and waits for its success.
fn run(path: &str) -> Result<(), Errno> {
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    // Another process of the host may hold the file open for writing for a moment: a fork of whoever made it.
    for _ in 0..BUSY_TRIES {
        match run_once(&path) {
            Err(Errno::TXTBSY) => std::thread::sleep(Duration::from_millis(5)),
            done => return done,
        }
    }
    Err(Errno::TXTBSY)
}

fn run_once(path: &CString) -> Result<(), Errno> {
    match process::clone(Namespaces::NONE)? {
        Clone::Child => {
            let itself = CString::new(TRY_ARGUMENT).unwrap_or_default();
            let errno = execve(path, &[path, &itself], &[]);
            process::exit(NOT_STARTED + errno.raw_os_error())
        }
        Clone::Parent { child, .. } => {
            let ended = rustix::process::waitpid(Some(child), WaitOptions::empty())?;
            match ended.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                Some(code) if code > NOT_STARTED => Err(Errno::from_raw_os_error(code - NOT_STARTED)),
                _ => Err(Errno::IO),
            }
        }
    }
}

fn socket(kind: &str) -> Result<(), Errno> {
    let (family, kind) = match kind {
        "tcp" => (AddressFamily::INET, SocketType::STREAM),
        "udp" => (AddressFamily::INET6, SocketType::DGRAM),
        "netlink" => (AddressFamily::NETLINK, SocketType::RAW),
        "local" => (AddressFamily::UNIX, SocketType::DGRAM),
        _ => return Err(Errno::INVAL),
    };
    rustix::net::socket(family, kind, None).map(drop)
}

/// Asks whether a signal would arrive; nothing is sent but to a child made for it.
fn signal(whom: &str) -> Result<(), Errno> {
    match whom {
        "itself" => rustix::process::test_kill_process(rustix::process::getpid()),
        "group" => rustix::process::test_kill_current_process_group(),
        "child" => match process::clone(Namespaces::NONE)? {
            Clone::Child => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            Clone::Parent { child, .. } => {
                rustix::process::kill_process(child, rustix::process::Signal::KILL)?;
                rustix::process::waitpid(Some(child), WaitOptions::empty()).map(drop)
            }
        },
        pid => {
            let pid = pid.parse().ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
            rustix::process::test_kill_process(pid)
        }
    }
}

/// Which of several answers the kernel gives to who may not is not worth a prediction.
fn kind_of(errno: Errno) -> String {
    let kind = match errno {
        // The last is what the program says that runs, before anybody asks whether it may be written.
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::OVERFLOW | Errno::TXTBSY => "denied",
        Errno::NOENT => "missing",
        Errno::EXIST => "exists",
        Errno::NOTDIR => "no-folder",
        Errno::ISDIR => "folder",
        Errno::XDEV => "other-mount",
        Errno::NOTEMPTY => "not-empty",
        Errno::LOOP => "loop",
        Errno::NXIO => "no-partner",
        Errno::NOEXEC => "no-program",
        Errno::INVAL => "invalid",
        Errno::SRCH => "no-process",
        Errno::NOSPC => "full",
        Errno::STALE => "stale",
        Errno::BUSY => "busy",
        other => return format!("errno-{}", other.raw_os_error()),
    };
    kind.to_owned()
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

const PLAIN: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const READ_BYTES_MAX: usize = 256;
const BUSY_TRIES: u32 = 200;
const NOT_STARTED: i32 = 100;
