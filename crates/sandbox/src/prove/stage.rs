//! What the host lays out for an attack: canaries in a folder of its own, listeners, a bystander. Afterwards it tells
//! what was touched.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::scene::Scene;
use super::{in_place, payload};

/// One stage, for one run. Gone with its value.
pub(crate) struct Stage {
    pub(crate) root: PathBuf,
    /// In the command line of every process of the run, and of no other.
    pub(crate) marker: String,
    /// Inside, everything is where it is outside.
    in_place: bool,
    bystander: Child,
    _bystander_input: Option<ChildStdin>,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    granted_stream: UnixListener,
    granted_datagram: UnixDatagram,
    abstract_stream: UnixListener,
    before: BTreeMap<PathBuf, Entry>,
}

/// What the host sees of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    content: Option<(Vec<u8>, i64, i64)>,
}

impl Stage {
    /// Lays everything out. `program` plays the bystander.
    pub(crate) fn new(program: &Path, in_place: bool) -> io::Result<Self> {
        let marker = marker();
        let root = if in_place { in_place::folder() } else { std::env::temp_dir() }.join(&marker);
        std::fs::DirBuilder::new().mode(0o700).create(&root)?;
        for folder in ["read", "write", "tmp", "shm"] {
            std::fs::create_dir(root.join(folder))?;
        }
        write(&root.join("secret"), SECRET, 0o600)?;
        write(&root.join("read/file"), "granted\n", 0o644)?;
        write(&root.join("read/tool"), "#!/bin/sh\n", 0o755)?;
        std::os::unix::fs::symlink(root.join("secret"), root.join("read/link"))?;
        let pipe = root.join("read/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, 0o666.into(), 0)?;
        let shared = Path::new(SHARED_MEMORY).join(&marker);
        if Path::new(SHARED_MEMORY).is_dir() {
            write(&shared, SECRET, 0o600)?;
        }
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = UnixListener::bind(root.join("stream"))?;
        let granted_stream = UnixListener::bind(root.join("read/stream"))?;
        let granted_datagram = UnixDatagram::bind(root.join("read/datagram"))?;
        let abstract_stream = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&marker)?)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        stream.set_nonblocking(true)?;
        granted_stream.set_nonblocking(true)?;
        granted_datagram.set_nonblocking(true)?;
        abstract_stream.set_nonblocking(true)?;
        let mut bystander = payload::command(program, &Scene::new("bystander"));
        if in_place && rustix::process::geteuid().is_root() {
            in_place::give_away(&root)?;
            if shared.exists() {
                in_place::give_away(&shared)?;
            }
        }
        if in_place {
            in_place::run_as_a_child_would(&mut bystander);
        }
        let mut bystander = bystander
            .env("FUMEHOOD_CANARY", SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let bystander_input = bystander.stdin.take();
        let before = entries(&root)?;
        Ok(Self {
            root,
            marker,
            in_place,
            bystander,
            _bystander_input: bystander_input,
            tcp,
            udp,
            stream,
            granted_stream,
            granted_datagram,
            abstract_stream,
            before,
        })
    }

    /// The scene as it is outside the sandbox.
    pub(crate) fn outside(&self, name: &str, program: &Path) -> Scene {
        self.in_place(name, program).with("place", "outside").with("init", self.bystander.id())
    }

    fn in_place(&self, name: &str, program: &Path) -> Scene {
        let place = |name: &str| self.root.join(name).display().to_string();
        self.everywhere(name)
            .with("program", program.display())
            .with("read", place("read"))
            .with("write", place("write"))
            .with("tmp", place("tmp"))
            .with("shm", place("shm"))
    }

    /// The scene as it is inside.
    pub(crate) fn inside(&self, name: &str, program: &Path) -> Scene {
        if self.in_place {
            return self.in_place(name, program).with("place", "inside").with("init", payload::PARENT);
        }
        self.everywhere(name)
            .with("place", "inside")
            .with("init", 1)
            .with("program", "/payload")
            .with("read", "/granted")
            .with("write", "/work")
            .with("tmp", "/tmp")
            .with("shm", SHARED_MEMORY)
    }

    fn everywhere(&self, name: &str) -> Scene {
        let port = |address: io::Result<std::net::SocketAddr>| address.map_or(0, |address| address.port());
        Scene::new(name)
            .with("marker", &self.marker)
            .with("secret", self.root.join("secret").display())
            .with("stream", self.root.join("stream").display())
            .with("shared", Path::new(SHARED_MEMORY).join(&self.marker).display())
            .with("bystander", self.bystander.id())
            .with("tcp", port(self.tcp.local_addr()))
            .with("udp", port(self.udp.local_addr()))
    }

    /// What an attack has done that the host can see; `None` if all is as it was.
    pub(crate) fn traces(&mut self) -> Option<String> {
        let mut traces = Vec::new();
        let mut buffer = [0; 512];
        if self.tcp.accept().is_ok() {
            traces.push("a TCP connection arrived".to_owned());
        }
        if self.udp.recv_from(&mut buffer).is_ok() {
            traces.push("a UDP packet arrived".to_owned());
        }
        let listeners = [
            ("by path", &self.stream),
            ("by granted path", &self.granted_stream),
            ("by abstract name", &self.abstract_stream),
        ];
        for (how, listener) in listeners {
            if listener.accept().is_ok() {
                traces.push(format!("a local connection arrived {how}"));
            }
        }
        if self.granted_datagram.recv(&mut buffer).is_ok() {
            traces.push("a local datagram arrived by granted path".to_owned());
        }
        match self.bystander.try_wait() {
            Ok(None) => {}
            _ => traces.push("a process of the host is dead".to_owned()),
        }
        let pid = i32::try_from(self.bystander.id()).ok().and_then(rustix::process::Pid::from_raw);
        if rustix::process::getpriority_process(pid).is_ok_and(|priority| priority == RENICED) {
            traces.push("a process of the host has another priority".to_owned());
        }
        match entries(&self.root) {
            Ok(after) => traces.extend(differences(&self.before, &after)),
            Err(error) => traces.push(format!("the folder cannot be read: {error}")),
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if mounts.contains(&self.marker) {
            traces.push("the host sees a mount of the sandbox's".to_owned());
        }
        (!traces.is_empty()).then(|| traces.join("; "))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
        for pid in processes_with(&self.marker) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = std::fs::remove_file(Path::new(SHARED_MEMORY).join(&self.marker));
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The host's processes that have `marker` in their command line.
pub(crate) fn processes_with(marker: &str) -> Vec<rustix::process::Pid> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
    })
    .filter_map(rustix::process::Pid::from_raw)
    .collect()
}

/// A name that no other stage has, now or earlier.
pub(crate) fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("fumehood-prove-{}-{count}-{}", std::process::id(), time.subsec_nanos())
}

fn write(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    std::fs::write(path, content)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

fn entries(root: &Path) -> io::Result<BTreeMap<PathBuf, Entry>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let metadata = std::fs::symlink_metadata(&path)?;
            let content = metadata.is_file() && metadata.len() < CONTENT_BYTES_MAX;
            let content = content
                .then(|| (std::fs::read(&path).unwrap_or_default(), metadata.mtime(), metadata.mtime_nsec()));
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
            let owner = (metadata.uid(), metadata.gid());
            all.insert(path, Entry { mode: metadata.mode(), owner, links, content });
        }
    }
    Ok(all)
}

fn differences(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut all = Vec::new();
    for (path, entry) in after {
        let kind = rustix::fs::FileType::from_raw_mode(entry.mode);
        let is_dangerous = entry.mode & 0o6000 != 0 || kind.is_char_device() || kind.is_block_device();
        match before.get(path) {
            // What an attack may do as part of its preparation.
            None if name(path).starts_with("fair-") && !is_dangerous => {}
            None => all.push(format!("{} is there, with mode {:o}", name(path), entry.mode)),
            Some(old) if old != entry => all.push(format!("{} is changed", name(path))),
            Some(_) => {}
        }
    }
    all.extend(
        before.keys().filter(|path| !after.contains_key(*path)).map(|path| format!("{} is gone", name(path))),
    );
    all
}

/// What nobody inside may ever read.
pub(crate) const SECRET: &str = "canary-7f3a\n";
/// The priority that attacks give to others.
pub(crate) const RENICED: i32 = 7;
const SHARED_MEMORY: &str = "/dev/shm";
const CONTENT_BYTES_MAX: u64 = 4096;
