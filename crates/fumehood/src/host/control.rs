//! The control socket: where a desk is reached by whoever answers for the person from another process.
//!
//! One line of JSON in, one out, and the connection is over. Nothing that comes in is believed before the system has said
//! that it comes from the same user; then it can do what that user can do anyway. Who connects and says nothing, half of
//! something or too much has changed nothing.

pub(super) mod wire;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::consent::{ConsentError, State, Surface};
use fumehood_core::{Code, ProposalId};
use fumehood_store::{Control, ControlSocket, is_of_caller};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Host;
use super::desk::{self, Desk};
use crate::fault::Fault;
use crate::report::{Answer, PendingRequest};
use wire::{Ask, Reply, Said};

/// A desk that can be reached by `fumehood pending`, `approve` and `deny`, until this is dropped.
#[must_use = "nobody can reach the desk any more when this is dropped"]
pub struct DeskSocket {
    socket: Arc<ControlSocket>,
    is_closing: Arc<AtomicBool>,
}

impl Host {
    /// Lets other processes of the same user see and answer the requests on a desk, by a socket of its own in the state
    /// folder. A yes from there counts as one from the terminal; where a passphrase is required it has to bring that, and it is
    /// compared, and a wrong one counted, here.
    ///
    /// At most 16 are listened to at once, each for at most 4 seconds; who comes then waits.
    ///
    /// # Errors
    /// `E_HOME_REFUSED` if the state folder or its folder `control` is not private, `E_STATE_UNAVAILABLE`.
    ///
    /// # Authority
    /// Makes a socket, and removes those of processes that ended without doing so.
    pub fn serve_desk(&self, desk: Arc<dyn Desk>) -> Result<DeskSocket, Fault> {
        let control = Control::open(&self.home()?).map_err(|error| Fault::of(&error, MEND))?;
        let socket = Arc::new(control.listen().map_err(|error| Fault::of(&error, MEND))?);
        let is_closing = Arc::new(AtomicBool::new(false));
        let served = DeskSocket { socket: Arc::clone(&socket), is_closing: Arc::clone(&is_closing) };
        let accepting = thread::Builder::new().name("fumehood-control".to_owned());
        let host = self.clone();
        let accepting = accepting.spawn(move || accept(&socket, &host, &desk, &is_closing));
        accepting.map_err(|_| Fault::new(Code::StateUnavailable, "there is no thread to listen in", MEND))?;
        Ok(served)
    }
}

impl Drop for DeskSocket {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Release);
        // Whoever is let in already still gets an answer.
        self.socket.close();
    }
}

fn accept(socket: &ControlSocket, host: &Host, desk: &Arc<dyn Desk>, is_closing: &AtomicBool) {
    let places = Arc::new(Places::default());
    while !is_closing.load(Ordering::Acquire) {
        let place = Places::take(&places);
        match socket.listener().accept() {
            // Closed unread.
            Ok((peer, _)) if !is_of_caller(&peer) => {}
            Ok((peer, _)) => {
                let (host, desk) = (host.clone(), Arc::clone(desk));
                let serving = thread::Builder::new().name("fumehood-control".to_owned());
                // Without a thread there is no answer, and they may come again.
                let _ = serving.spawn(move || {
                    serve(&peer, &host, &*desk);
                    drop(place);
                });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Out of handles, most likely; that passes.
            Err(_) => thread::sleep(BREATH),
        }
    }
}

/// One question and its answer. Whatever goes wrong with the connection is the other side's matter.
fn serve(peer: &UnixStream, host: &Host, desk: &dyn Desk) {
    let end = Instant::now() + PATIENCE;
    let reply = match wire::read_line(peer, wire::ASK_BYTES_MAX, end) {
        // Who has gone was told that nobody answers, and takes a yes for one that did not count.
        Ok(Some(_)) if has_left(peer) => return,
        Ok(Some(line)) => {
            Ask::parse(&line).map_or_else(|fault| Reply::of_fault(&fault), |ask| answer(ask, host, desk))
        }
        // Nobody is there, or nobody who says anything.
        Ok(None) | Err(_) => return,
    };
    // To compare a passphrase takes a while, and it may wait for its turn.
    let _ = wire::write_line(peer, &reply.to_line(), Instant::now() + PATIENCE);
}

/// Whether there is nobody any more who could read an answer. Who only says no more is there.
fn has_left(peer: &UnixStream) -> bool {
    let mut peers = [PollFd::new(peer, PollFlags::empty())];
    let polled = poll(&mut peers, Some(&Timespec::default()));
    polled.is_err() || peers[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

fn answer(ask: Ask, host: &Host, desk: &dyn Desk) -> Reply {
    let answered = match ask {
        Ask::List {} => Ok(Reply::List { requests: desk.pending().iter().map(PendingRequest::of).collect() }),
        Ask::State { id } => known(&id, desk).map(|(_, state)| Reply::State { state: state.as_str().into() }),
        Ask::Question { id } => known(&id, desk).and_then(|(id, state)| {
            let question = desk.question(id).ok_or_else(|| desk::fault(over(state)))?;
            Ok(Reply::Question { question: Box::new(question) })
        }),
        Ask::Decide { id, answer, passphrase } => known(&id, desk).and_then(|(id, state)| {
            let answer = match answer {
                Said::Yes => Answer::Once,
                Said::No => Answer::No,
            };
            // Whether the asker had it typed is nothing that could be seen from here. Of what is over, none is looked at.
            if answer == Answer::Once && state == State::Pending {
                let _vouched = host.vouch(|| Ok(passphrase))?;
            }
            // Who is at this socket has a terminal, says the program that is there; it is of the same user.
            desk.decide(id, answer, Surface::Terminal)?;
            let state = desk.state(id).map_or("ended", State::as_str);
            Ok(Reply::State { state: state.to_owned() })
        }),
    };
    answered.unwrap_or_else(|fault| Reply::of_fault(&fault))
}

fn known(id: &str, desk: &dyn Desk) -> Result<(ProposalId, State), Fault> {
    let id = ProposalId::parse(id).map_err(|error| Fault::of(&error, "give all of its digits"))?;
    let state = desk.state(id).ok_or_else(|| desk::fault(ConsentError::Unknown))?;
    Ok((id, state))
}

/// Why a request that is in this state cannot be answered.
pub(super) fn over(state: State) -> ConsentError {
    match state {
        // It is open, and was not shown.
        State::Pending => ConsentError::Unknown,
        State::Approved(_) | State::Denied | State::Consumed(_) => ConsentError::AlreadyDecided,
        State::Expired => ConsentError::Expired,
        State::Stale => ConsentError::Stale,
        State::Cancelled => ConsentError::Ended,
    }
}

/// How many are listened to at once.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// One of them, until it is dropped.
struct Place(Arc<Places>);

impl Places {
    /// Waits for one.
    fn take(places: &Arc<Self>) -> Place {
        let mut taken = places.lock();
        while *taken >= CONNECTIONS_MAX {
            taken = places.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        drop(taken);
        Place(Arc::clone(places))
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.freed.notify_one();
    }
}

const MEND: &str = "mend that and try again";
const CONNECTIONS_MAX: usize = 16;
/// How long one of them may take.
const PATIENCE: Duration = Duration::from_secs(4);
const BREATH: Duration = Duration::from_millis(100);
