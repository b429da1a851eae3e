//! What goes over the control socket: one line of JSON each way, in one version, with no field more or less.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fumehood_core::Code;
use fumehood_store::Passphrase;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::report::{PendingRequest, Question, visible};

/// Bytes of a question, its line feed included.
pub(in crate::host) const ASK_BYTES_MAX: usize = 64 << 10;
/// Bytes of an answer, its line feed included.
pub(in crate::host) const REPLY_BYTES_MAX: usize = 4 << 20;

const VERSION: u32 = 1;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::host) enum Ask {
    /// The open requests.
    List {},
    /// How far one got.
    State { id: String },
    /// All of one that is open.
    Question { id: String },
    /// To answer one. A yes brings the passphrase where one is required.
    Decide {
        id: String,
        answer: Said,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "as_hex")]
        passphrase: Option<Passphrase>,
    },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::host) enum Said {
    Yes,
    No,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::host) enum Reply {
    List { requests: Vec<PendingRequest> },
    State { state: String },
    Question { question: Box<Question> },
    Fault { code: String, message: String, advice: String, id: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<A> {
    schema_version: u32,
    ask: A,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replied<R> {
    schema_version: u32,
    reply: R,
}

/// All that is read of what another version may have written.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

/// A passphrase as text, of which no copy is left behind.
mod as_hex {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    use super::{Passphrase, fmt};

    #[expect(clippy::ref_option, reason = "it is what serde calls this with")]
    pub(super) fn serialize<S: Serializer>(
        passphrase: &Option<Passphrase>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match passphrase {
            Some(passphrase) => serializer.serialize_str(&passphrase.to_hex()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Passphrase>, D::Error> {
        deserializer.deserialize_str(Digits).map(Some)
    }

    struct Digits;

    impl Visitor<'_> for Digits {
        type Value = Passphrase;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("hexadecimal digits")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Passphrase, E> {
            // Nothing of what was sent is in an error.
            Passphrase::of_hex(text).ok_or_else(|| E::custom("no passphrase"))
        }
    }
}

impl Ask {
    pub(in crate::host) fn to_line(&self) -> Zeroizing<Vec<u8>> {
        line(&Asked { schema_version: VERSION, ask: self })
    }

    /// # Errors
    /// `E_CONTROL_INVALID`.
    pub(in crate::host) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        check_version(bytes)?;
        serde_json::from_slice(bytes).map(|asked: Asked<_>| asked.ask).map_err(|_| invalid())
    }
}

impl Reply {
    pub(in crate::host) fn of_fault(fault: &Fault) -> Self {
        Self::Fault {
            code: fault.code.as_str().to_owned(),
            message: fault.message.clone(),
            advice: fault.advice.clone(),
            id: fault.id.clone(),
        }
    }

    /// One that is too long is none; that is said instead.
    pub(in crate::host) fn to_line(&self) -> Zeroizing<Vec<u8>> {
        let bytes = line(&Replied { schema_version: VERSION, reply: self });
        if bytes.len() <= REPLY_BYTES_MAX {
            return bytes;
        }
        let message = "the request for approval is too large to be shown in another process";
        let fault = Fault::new(Code::ControlInvalid, message, "ask for less in one call");
        line(&Replied { schema_version: VERSION, reply: Self::of_fault(&fault) })
    }

    /// The same without anything that is not to be seen: some of it are words of the host's, which are shown as they are, and
    /// whoever holds a request need not be one. Of a list nothing is shown as it is.
    fn visible(self) -> serde_json::Result<Self> {
        if matches!(self, Self::List { .. }) {
            return Ok(self);
        }
        serde_json::from_value(visible(serde_json::to_value(self)?))
    }

    /// # Errors
    /// The fault that was answered; `E_CONTROL_INVALID` for what is no answer.
    pub(in crate::host) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        check_version(bytes)?;
        let replied = serde_json::from_slice(bytes).map(|replied: Replied<_>| replied.reply);
        match replied.and_then(Self::visible).map_err(|_| invalid())? {
            Self::Fault { code, message, advice, id } => {
                let code = Code::ALL.iter().find(|known| known.as_str() == code);
                let code = code.copied().unwrap_or(Code::ControlInvalid);
                Err(Fault { code, class: code.class(), message, advice, id })
            }
            reply => Ok(reply),
        }
    }
}

/// Wiped afterwards, and with room for the longest passphrase from the beginning: what grows leaves copies behind.
fn line(value: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(PIECE));
    // Texts, numbers and lists: there is nothing that has no JSON form.
    let _ = serde_json::to_writer(&mut *bytes, value);
    bytes.push(b'\n');
    bytes
}

fn check_version(bytes: &[u8]) -> Result<(), Fault> {
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(Versioned { schema_version: VERSION }) => Ok(()),
        Ok(_) => Err(Fault::new(
            Code::ControlInvalid,
            "the other process is another version of fumehood",
            "start again what was running before fumehood was updated",
        )),
        Err(_) => Err(invalid()),
    }
}

pub(in crate::host) fn invalid() -> Fault {
    Fault::new(
        Code::ControlInvalid,
        "what came over the control socket is not what fumehood says there",
        "see that both sides are the same version of fumehood",
    )
}

/// One line without its end, wiped when it is dropped. `None` if the other side ends or is silent before there is a whole one.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for a line that is longer than `most`; whatever the connection says.
pub(in crate::host) fn read_line(
    mut peer: &UnixStream,
    most: usize,
    end: Instant,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(PIECE));
    let mut piece = Zeroizing::new(vec![0; PIECE.min(most)]);
    loop {
        let Some(left) = left(end) else { return Ok(None) };
        peer.set_read_timeout(Some(left))?;
        let length = match peer.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(length) => length,
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let new = &piece[..length];
        let ended = new.iter().position(|byte| *byte == b'\n');
        bytes.extend_from_slice(&new[..ended.unwrap_or(length)]);
        if bytes.len() >= most {
            return Err(ErrorKind::InvalidData.into());
        }
        if ended.is_some() {
            return Ok(Some(bytes));
        }
    }
}

/// # Errors
/// [`ErrorKind::TimedOut`] if nobody reads it in time; whatever the connection says.
pub(in crate::host) fn write_line(mut peer: &UnixStream, mut line: &[u8], end: Instant) -> io::Result<()> {
    while !line.is_empty() {
        let left = left(end).ok_or(ErrorKind::TimedOut)?;
        peer.set_write_timeout(Some(left))?;
        match peer.write(line) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => line = &line[written..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What is left until then; `None` if nothing is.
fn left(end: Instant) -> Option<Duration> {
    end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

const PIECE: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "ask_00112233445566778899aabbccddeeff";

    #[test]
    fn what_is_asked_comes_back_and_nothing_else_is_taken() {
        for ask in [
            Ask::List {},
            Ask::State { id: ID.to_owned() },
            Ask::Question { id: ID.to_owned() },
            Ask::Decide { id: ID.to_owned(), answer: Said::No, passphrase: None },
            Ask::Decide { id: ID.to_owned(), answer: Said::Yes, passphrase: Passphrase::of_hex("00ff") },
        ] {
            let line = ask.to_line();
            let back = Ask::parse(&line).unwrap();
            assert_eq!(format!("{ask:?}"), format!("{back:?}"));
            assert_eq!(back.to_line(), line);
        }
        for line in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"ask":{"list":{}}}"#,
            r#"{"schema_version":1}"#,
            r#"{"schema_version":1,"ask":{"list":{}},"more":1}"#,
            r#"{"schema_version":1,"ask":{"list":{"more":1}}}"#,
            r#"{"schema_version":1,"ask":{"list":{},"state":{"id":"x"}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"yes","answer":"no"}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"maybe"}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x"}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"yes","passphrase":"abc"}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"yes","passphrase":""}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"yes","passphrase":["61"]}}}"#,
            r#"{"schema_version":1,"ask":{"decide":{"id":"x","answer":"yes","passphrase":null}}}"#,
            r#"{"schema_version":1,"ask":{"approve_all":{}}}"#,
            r#"{"schema_version":1,"ask":{"list":{}}} {}"#,
        ] {
            assert_eq!(Ask::parse(line.as_bytes()).unwrap_err().code, Code::ControlInvalid, "{line}");
        }
        let other = Ask::parse(br#"{"schema_version":2,"ask":{"grant":{}}}"#).unwrap_err();
        assert!(other.message.contains("another version"), "{other}");
    }

    #[test]
    fn an_answer_is_what_was_said_or_a_fault() {
        let fault = Fault::new(Code::ConsentDecided, "m", "a");
        assert_eq!(Reply::parse(&Reply::of_fault(&fault).to_line()).unwrap_err(), fault);
        let unknown =
            r#"{"schema_version":1,"reply":{"fault":{"code":"E_NEW","message":"m","advice":"a","id":"f"}}}"#;
        assert_eq!(Reply::parse(unknown.as_bytes()).unwrap_err().code, Code::ControlInvalid);
        let state = Reply::State { state: "x".repeat(REPLY_BYTES_MAX) };
        assert_eq!(Reply::parse(&state.to_line()).unwrap_err().code, Code::ControlInvalid);
        assert!(matches!(
            Reply::parse(&Reply::State { state: "x".to_owned() }.to_line()),
            Ok(Reply::State { .. })
        ));
    }

    #[test]
    fn a_line_is_whole_and_no_longer_than_it_may_be() {
        let read = |said: &[u8]| {
            let (here, mut there) = UnixStream::pair().unwrap();
            there.write_all(said).unwrap();
            drop(there);
            let read = read_line(&here, 8, Instant::now() + Duration::from_secs(20));
            read.map(|line| line.map(|line| line.to_vec())).map_err(|error| error.kind())
        };
        assert_eq!(read(b"1234567\nrest"), Ok(Some(b"1234567".to_vec())));
        assert_eq!(read(b"\n"), Ok(Some(Vec::new())));
        assert_eq!(read(b"12345678\n"), Err(ErrorKind::InvalidData));
        assert_eq!(read(b"123456789"), Err(ErrorKind::InvalidData));
        assert_eq!(read(b"half"), Ok(None));
        assert_eq!(read(b""), Ok(None));
        // Somebody is there and says nothing.
        let (here, there) = UnixStream::pair().unwrap();
        let soon = Instant::now() + Duration::from_millis(10);
        assert_eq!(read_line(&here, 8, soon).unwrap(), None);
        drop(there);
    }
}
