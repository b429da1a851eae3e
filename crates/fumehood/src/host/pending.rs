//! `pending`, `approve` and `deny`: the requests that other processes hold, found and answered by way of their sockets.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::consent::ConsentError;
use fumehood_core::id::ID_BYTES;
use fumehood_core::{Code, Coded as _, ProposalId};
use fumehood_store::{Control, Passphrase};

use super::control::wire::{self, Ask, Reply, Said};
use super::{Host, Over, desk, of_other_kind};
use crate::fault::Fault;
use crate::report::{Answer, DecisionReport, PendingReport, PendingRequest, Question, SCHEMA_VERSION};

/// Hexadecimal digits that name a request at the least, if no other one begins with them.
pub const REQUEST_DIGITS_MIN: usize = 8;

/// A request for approval that another process holds, and that nobody had answered when it was looked at.
#[derive(Debug)]
pub struct OpenRequest {
    holder: Holder,
    id: ProposalId,
    question: Question,
    /// When it was asked about the last time, and what was answered.
    looked: Cell<(Instant, Option<Over>)>,
}

/// A process that holds requests.
#[derive(Clone, Debug)]
struct Holder {
    control: Control,
    socket: String,
}

/// What all of them say.
struct Found {
    requests: Vec<(Holder, PendingRequest)>,
    holders: Vec<Holder>,
    silent: usize,
}

impl Host {
    /// The requests for approval that nobody has answered, of all processes of the same user and state folder.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`.
    ///
    /// # Authority
    /// Removes the sockets of processes that are no more.
    pub fn pending(&self) -> Result<PendingReport, Fault> {
        let Found { requests, silent, .. } = self.look_around()?;
        let mut requests: Vec<_> = requests.into_iter().map(|(_, request)| request).collect();
        requests
            .sort_by(|one, other| (one.created_unix_ms, &one.id).cmp(&(other.created_unix_ms, &other.id)));
        Ok(PendingReport { schema_version: SCHEMA_VERSION, requests, silent_processes: silent })
    }

    /// One of them, by its id or the beginning of it, eight digits at the least.
    ///
    /// # Errors
    /// `E_ID_INVALID` for what is no id or names several, `E_CONSENT_UNKNOWN`, `E_CONSENT_DECIDED`, `E_CONSENT_EXPIRED`,
    /// `E_CONSENT_STALE`, `E_RUN_ENDED`, `E_CONTROL_SILENT` if it may be with a process that says nothing,
    /// `E_CONTROL_INVALID`; those of [`Host::pending`].
    pub fn open_request(&self, id: &str) -> Result<OpenRequest, Fault> {
        let digits = digits(id)?;
        let found = self.look_around()?;
        let begins = |request: &PendingRequest| {
            request.id.strip_prefix(ProposalId::PREFIX).is_some_and(|of| of.starts_with(digits))
        };
        let mut meant = found.requests.into_iter().filter(|(_, request)| begins(request));
        let (holder, request) = match (meant.next(), meant.next()) {
            (Some(one), None) => one,
            (Some(_), Some(_)) => {
                let message = "several requests for approval begin like that";
                return Err(Fault::new(Code::IdInvalid, message, "give more of its digits"));
            }
            (None, _) => return Err(none(digits, &found.holders, found.silent)),
        };
        let id = ProposalId::parse(&request.id).map_err(|_| wire::invalid())?;
        let Reply::Question { question } = holder.ask(&Ask::Question { id: request.id }, PATIENCE)? else {
            return Err(wire::invalid());
        };
        // What is shown is what is answered.
        if question.id != id.to_string() || question.schema_version != SCHEMA_VERSION {
            return Err(wire::invalid());
        }
        Ok(OpenRequest { holder, id, question: *question, looked: Cell::new((Instant::now(), None)) })
    }

    /// Asks all of them at once: one that is silent keeps nobody from being heard.
    fn look_around(&self) -> Result<Found, Fault> {
        let home = self.home()?;
        let control = Control::open_if_any(&home).map_err(|error| Fault::of(&error, MEND))?;
        let Some(control) = control else {
            return Ok(Found { requests: Vec::new(), holders: Vec::new(), silent: 0 });
        };
        let sockets = control.sockets().map_err(|error| Fault::of(&error, MEND))?;
        let holders: Vec<_> =
            sockets.into_iter().map(|socket| Holder { control: control.clone(), socket }).collect();
        let lists: Vec<_> = thread::scope(|scope| {
            let ask = |holder: &Holder| holder.ask(&Ask::List {}, PATIENCE);
            let asked: Vec<_> = holders.iter().map(|holder| scope.spawn(move || ask(holder))).collect();
            asked.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let (mut requests, mut silent) = (Vec::new(), 0);
        for (holder, list) in holders.iter().zip(lists) {
            match list {
                Ok(Ok(Reply::List { requests: these })) => {
                    requests.extend(these.into_iter().map(|request| (holder.clone(), request)));
                }
                // It has ended meanwhile, and its requests with it.
                Ok(Err(fault)) if fault.code == Code::RunEnded => {}
                _ => silent += 1,
            }
        }
        Ok(Found { requests, holders, silent })
    }
}

/// What there is to say of digits that no open request begins with.
fn none(digits: &str, holders: &[Holder], silent: usize) -> Fault {
    if digits.len() == 2 * ID_BYTES {
        // One that is over is known to who held it.
        let id = format!("{}{digits}", ProposalId::PREFIX);
        let known = |holder: &Holder| match holder.ask(&Ask::Question { id: id.clone() }, PATIENCE) {
            Err(fault) if !matches!(fault.code, Code::ConsentUnknown | Code::ControlSilent) => Some(fault),
            _ => None,
        };
        if let Some(fault) = holders.iter().find_map(known) {
            return fault;
        }
    }
    if silent > 0 {
        return silence();
    }
    let message = "no request for approval that is open begins like that";
    let advice =
        "its agent may have ended, and requests end with it; `fumehood pending` lists those that are open";
    Fault::new(Code::ConsentUnknown, message, advice)
}

/// The digits of an id or of its beginning.
fn digits(id: &str) -> Result<&str, Fault> {
    let digits = id.strip_prefix(ProposalId::PREFIX).unwrap_or(id);
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if (REQUEST_DIGITS_MIN..=2 * ID_BYTES).contains(&digits.len()) && digits.bytes().all(is_digit) {
        return Ok(digits);
    }
    let advice = "`fumehood pending` lists those that are open; the first eight digits are enough";
    let message = "that is not the id of a request for approval";
    Err(Fault::new(Code::IdInvalid, message, of_other_kind(id, advice)))
}

impl OpenRequest {
    /// What the person is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Whether an answer still counts, and why not. Asks now and then only; between that it is what was answered last.
    pub fn over(&self) -> Option<Over> {
        let (at, over) = self.looked.get();
        if over.is_some() || at.elapsed() < LOOK_UP {
            return over;
        }
        let over = match self.holder.ask(&Ask::State { id: self.id.to_string() }, GLANCE) {
            Ok(Reply::State { state }) => match state.as_str() {
                "pending" => None,
                "approved" | "denied" | "consumed" => Some(Over::Answered),
                "expired" => Some(Over::Expired),
                "stale" => Some(Over::Stale),
                _ => Some(Over::Ended),
            },
            Err(fault) if matches!(fault.code, Code::RunEnded | Code::ConsentUnknown) => Some(Over::Ended),
            // It is busy. Whether the answer counts is seen when it is given.
            _ => None,
        };
        self.looked.set((Instant::now(), over));
        over
    }

    /// Says yes, once, or no, as the person at this terminal. With a yes goes the passphrase, if one was typed; whether one is
    /// required, and whether it is this one, says the process that holds the request.
    ///
    /// # Errors
    /// Those of [`Desk::decide`](super::Desk::decide); `E_PASSPHRASE_REQUIRED`, `E_PASSPHRASE_WRONG`, `E_PASSPHRASE_WAIT`, after which the
    /// request is still open; `E_CONTROL_SILENT`: then whether it was taken is not known;
    /// `E_CONTROL_INVALID`.
    pub fn decide(&self, answer: Answer, passphrase: Option<Passphrase>) -> Result<DecisionReport, Fault> {
        let (said, decision) = match answer {
            Answer::Once => (Said::Yes, "approved"),
            Answer::No => (Said::No, "denied"),
        };
        let ask = Ask::Decide { id: self.id.to_string(), answer: said, passphrase };
        let reply = self.holder.ask(&ask, PATIENCE).map_err(|fault| match fault.code {
            Code::ControlSilent => Fault {
                message: "the process that holds the request did not say whether it took the answer"
                    .to_owned(),
                ..fault
            },
            _ => fault,
        });
        match reply? {
            Reply::State { .. } => Ok(DecisionReport::of(&self.question, decision)),
            _ => Err(wire::invalid()),
        }
    }

    /// What to tell a person whose answer is not waited for any more.
    pub fn fault(over: Over) -> Fault {
        desk::fault(match over {
            Over::Expired => ConsentError::Expired,
            Over::Stale => ConsentError::Stale,
            Over::Answered => ConsentError::AlreadyDecided,
            Over::Cancelled | Over::Ended => ConsentError::Ended,
        })
    }
}

impl Holder {
    /// # Errors
    /// The fault that it answers; `E_RUN_ENDED` if it is no more, `E_CONTROL_SILENT`, `E_CONTROL_INVALID`.
    fn ask(&self, ask: &Ask, patience: Duration) -> Result<Reply, Fault> {
        let end = Instant::now() + patience;
        let peer = match self.control.connect(&self.socket, patience) {
            Ok(Some(peer)) => peer,
            Ok(None) => return Err(desk::fault(ConsentError::Ended)),
            Err(error) if error.code() == Code::StateUnavailable => return Err(silence()),
            Err(error) => return Err(Fault::of(&error, MEND)),
        };
        let said = wire::write_line(&peer, &ask.to_line(), end);
        let heard = said.and_then(|()| wire::read_line(&peer, wire::REPLY_BYTES_MAX, end));
        match heard {
            Ok(Some(line)) => Reply::parse(&line),
            Ok(None) | Err(_) => Err(silence()),
        }
    }
}

fn silence() -> Fault {
    Fault::new(
        Code::ControlSilent,
        "a process that holds requests for approval does not answer",
        "try again; `fumehood pending` says what is open",
    )
}

const MEND: &str = "mend that and try again";
/// As long as it may take until who came before is served.
const PATIENCE: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_millis(300);
