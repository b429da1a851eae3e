//! The sockets of processes that hold requests for approval: one for each, where whoever answers for the person finds it.
//!
//! They lie in `control` in the state folder, 0600 in a folder that is 0700, under names that nobody can guess. A process
//! that died leaves its name behind, and whoever looks next removes it: only a name that refuses to be connected to is
//! one of the dead, and only who holds the lock may say so, since a socket that is being made refuses for a moment too.

use std::fmt;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fumehood_core::{Code, Coded};
use rustix::fs::{AtFlags, FileType, Mode, fchmod, statat};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, shutdown,
    socket_with,
};
use rustix::process::Uid;

use crate::home::{Home, HomeError};
use crate::own::OwnDir;

/// How many sockets are looked at; what is beyond is of nobody that could be told apart.
pub const CONTROL_SOCKETS_MAX: usize = 64;

/// The folder `control`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Control {
    dir: Arc<OwnDir>,
}

/// A socket of this process. Its name is removed when it is dropped.
#[derive(Debug)]
#[must_use = "the socket is closed when this is dropped"]
pub struct ControlSocket {
    folder: Control,
    name: String,
    listener: UnixListener,
}

/// Why a socket could not be made or found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlError {
    /// The state folder is not private.
    Home(HomeError),
    /// The folder for sockets is a link, somebody else's, or open to others.
    Refused,
    /// There are 64 sockets already, all of living processes.
    Full,
    /// The operating system said no to this.
    System {
        /// What was being done, to stand after "cannot".
        doing: &'static str,
        /// What it said.
        errno: i32,
    },
}

impl Control {
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// `E_HOME_REFUSED` if the state folder or this one is not private, `E_STATE_UNAVAILABLE`.
    pub fn open(home: &Home) -> Result<Self, ControlError> {
        home.make_state().map_err(ControlError::Home)?;
        let dir = OwnDir::open(&real_state(home)?).and_then(|state| state.open_or_make(FOLDER));
        dir.map(Self::of).map_err(of_folder)
    }

    /// Opens the folder if there is one. Makes nothing.
    ///
    /// # Errors
    /// As [`Control::open`].
    pub fn open_if_any(home: &Home) -> Result<Option<Self>, ControlError> {
        if !home.has_state().map_err(ControlError::Home)? {
            return Ok(None);
        }
        match OwnDir::open(&real_state(home)?).and_then(|state| state.open_dir(FOLDER)) {
            Err(Errno::NOENT) => Ok(None),
            opened => opened.map(Self::of).map(Some).map_err(of_folder),
        }
    }

    fn of(dir: OwnDir) -> Self {
        Self { dir: Arc::new(dir) }
    }

    /// A new socket for this process, which from then on can be connected to. Removes the names of dead processes first.
    ///
    /// # Errors
    /// [`ControlError::Full`] (`E_STATE_UNAVAILABLE`), `E_STATE_UNAVAILABLE`.
    pub fn listen(&self) -> Result<ControlSocket, ControlError> {
        let failed = failed("make a socket");
        let _lock = self.dir.lock(LOCK).map_err(failed)?;
        if self.living().map_err(failed)?.len() >= CONTROL_SOCKETS_MAX {
            return Err(ControlError::Full);
        }
        let make = || {
            let mut random = [0; 16];
            getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
            let name = format!("{:032x}{SUFFIX}", u128::from_be_bytes(random));
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            // What it is before it has a name is what its name becomes: there is no moment in which it is open to others.
            fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
            bind(&socket, &self.address(&name)?)?;
            let listener = UnixListener::from(socket);
            let made = ControlSocket { folder: self.clone(), name, listener };
            listen(&made.listener, BACKLOG)?;
            Ok(made)
        };
        make().map_err(failed)
    }

    /// The names of all that can be connected to, in order; at most 64. Removes those of dead processes, unless somebody
    /// is about to make one.
    ///
    /// # Errors
    /// `E_STATE_UNAVAILABLE`.
    pub fn sockets(&self) -> Result<Vec<String>, ControlError> {
        let look = || match self.dir.try_lock(LOCK)? {
            Some(_lock) => self.living(),
            None => self.names(),
        };
        look().map_err(failed("look for sockets"))
    }

    /// A connection to the process that has this socket; `None` if it is no more. Nobody of another user is connected to.
    /// Where too many wait to be let in, it tries again for so long.
    ///
    /// # Errors
    /// `E_STATE_UNAVAILABLE`.
    pub fn connect(&self, name: &str, patience: Duration) -> Result<Option<UnixStream>, ControlError> {
        let end = Instant::now() + patience;
        let connect = || {
            let stream = loop {
                match self.reach(name) {
                    Err(Errno::NOENT | Errno::CONNREFUSED) => return Ok(None),
                    Err(Errno::AGAIN) if Instant::now() < end => std::thread::sleep(LOOK_UP),
                    reached => break UnixStream::from(reached?),
                }
            };
            stream
                .set_nonblocking(false)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            if is_of_caller(&stream) { Ok(Some(stream)) } else { Err(Errno::PERM) }
        };
        connect().map_err(failed("connect to a socket"))
    }

    /// Under the lock: the names that answer; the others are removed.
    fn living(&self) -> Result<Vec<String>, Errno> {
        let mut living = Vec::new();
        for name in self.names()? {
            match self.reach(&name) {
                Err(Errno::CONNREFUSED) => self.dir.remove_file(&name)?,
                Err(Errno::NOENT) => {}
                // One at which too many wait lives as well.
                _ => living.push(name),
            }
        }
        Ok(living)
    }

    /// The first names of sockets of ours. Whatever else lies there is not touched.
    fn names(&self) -> Result<Vec<String>, Errno> {
        let mut names = self.dir.names()?;
        names.retain(|name| is_name(name) && self.is_socket(name));
        names.truncate(CONTROL_SOCKETS_MAX);
        Ok(names)
    }

    fn is_socket(&self, name: &str) -> bool {
        let stat = statat(self.dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
    }

    /// Does not wait, whatever is there.
    fn reach(&self, name: &str) -> Result<OwnedFd, Errno> {
        // A link is not followed to wherever it leads.
        if !is_name(name) || !self.is_socket(name) {
            return Err(Errno::NOENT);
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &self.address(name)?)?;
        Ok(socket)
    }

    /// By way of the open folder: an address has room for 107 bytes only, and a path of the person's may be longer.
    fn address(&self, name: &str) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", self.dir.as_fd().as_raw_fd()))
    }
}

impl ControlSocket {
    /// Where connections come in.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Ends the wait of whoever accepts connections, and takes none from now on.
    pub fn close(&self) {
        let _ = self.folder.dir.remove_file(&self.name);
        let _ = shutdown(&self.listener, Shutdown::Both);
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether who connected is the user that this process acts as. Of somebody whose process cannot be seen from here that
/// cannot be told, so they are nobody's.
pub fn is_of_caller(peer: &UnixStream) -> bool {
    is_of(peer, rustix::process::geteuid())
}

fn is_of(peer: &UnixStream, user: Uid) -> bool {
    socket_peercred(peer).is_ok_and(|peer| peer.uid == user)
}

fn is_name(name: &str) -> bool {
    let random = name.strip_suffix(SUFFIX);
    random.is_some_and(|random| random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn real_state(home: &Home) -> Result<PathBuf, ControlError> {
    std::fs::canonicalize(&home.state)
        .map_err(|error| failed("open the state folder")(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
}

fn of_folder(errno: Errno) -> ControlError {
    match errno {
        Errno::PERM | Errno::LOOP | Errno::NOTDIR => ControlError::Refused,
        errno => failed("open the folder for sockets")(errno),
    }
}

fn failed(doing: &'static str) -> impl Fn(Errno) -> ControlError + Copy {
    move |errno| ControlError::System { doing, errno: errno.raw_os_error() }
}

impl Coded for ControlError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Refused => Code::HomeRefused,
            Self::Full | Self::System { .. } => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Refused => f.write_str(
                "the folder control in the state folder is a link, somebody else's, or open to others",
            ),
            Self::Full => f.write_str("64 processes hold requests for approval already"),
            Self::System { doing, errno } => {
                write!(f, "cannot {doing}: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl std::error::Error for ControlError {}

const FOLDER: &str = "control";
const LOCK: &str = "lock";
const SUFFIX: &str = ".sock";
/// Who waits beyond that is told to come again.
const BACKLOG: i32 = 128;
const LOOK_UP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
