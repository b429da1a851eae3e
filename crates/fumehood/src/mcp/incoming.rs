//! What comes in, looked at before it is read as messages: what is none is told, and so is the end.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::model::ErrorData;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use super::stdio::LINE_BYTES_MAX;

/// A reader whose end is told before anybody waits for what is under way: a client that is gone wants none of it.
pub(super) struct Incoming<R> {
    reader: R,
    lines: Lines,
    gone: Arc<dyn Fn() + Send + Sync>,
}

/// What is not passed on. The answer names no request: which one was meant nobody can tell, or the answer would be taken for that of
/// another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoMessage {
    TooLong,
    NotJson,
}

/// The lines as they come.
struct Lines {
    /// The beginning of one.
    line: Vec<u8>,
    is_too_long: bool,
    no_messages: mpsc::Sender<NoMessage>,
}

impl NoMessage {
    pub(super) fn error(self) -> ErrorData {
        match self {
            Self::TooLong => ErrorData::invalid_request("a message has at most 1 MiB", None),
            Self::NotJson => ErrorData::parse_error("a message is one line of JSON", None),
        }
    }
}

impl<R> Incoming<R> {
    /// With whoever is told of lines that are no messages. Of a flood of them, not each is told.
    pub(super) fn new(reader: R, gone: Arc<dyn Fn() + Send + Sync>) -> (Self, mpsc::Receiver<NoMessage>) {
        let (no_messages, told) = mpsc::channel(TOLD_MAX);
        let lines = Lines { line: Vec::new(), is_too_long: false, no_messages };
        (Self { reader, lines, gone }, told)
    }
}

impl Lines {
    fn look_at(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.is_too_long |= self.line.len() + piece.len() > LINE_BYTES_MAX;
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        let what = if mem::take(&mut self.is_too_long) {
            Some(NoMessage::TooLong)
        } else {
            (!is_blank_or_json(&self.line)).then_some(NoMessage::NotJson)
        };
        self.line.clear();
        if let Some(what) = what {
            let _ = self.no_messages.try_send(what);
        }
    }
}

fn is_blank_or_json(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    // As a value, since that is what the messages are read as: nested no deeper, and of whole characters.
    line.is_empty() || serde_json::from_slice::<serde_json::Value>(line).is_ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for Incoming<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        let is_over = match &read {
            Poll::Ready(Ok(())) => new.is_empty(),
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        self.lines.look_at(new);
        if is_over {
            (self.gone)();
        }
        read
    }
}

/// Lines that are no messages and have yet to be answered. More have no answer.
const TOLD_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pieces: &[&[u8]]) -> Vec<NoMessage> {
        let (no_messages, mut told) = mpsc::channel(TOLD_MAX);
        let mut lines = Lines { line: Vec::new(), is_too_long: false, no_messages };
        for piece in pieces {
            lines.look_at(piece);
        }
        std::iter::from_fn(|| told.try_recv().ok()).collect()
    }

    #[test]
    fn a_line_is_judged_as_a_whole_however_it_comes() {
        use NoMessage::{NotJson, TooLong};
        assert_eq!(told(&[b"{\"a\":", b"1}\r\n\n\r\n[]\n\xef\xbb\xbf{}\n", b"half"]), []);
        assert_eq!(told(&[b"{\"a\"", b"1}\n{}\nx\n"]), [NotJson, NotJson]);
        assert_eq!(told(&[b"\"\xff\"\n{} {}\n"]), [NotJson, NotJson]);
        let longest = [b"\"".to_vec(), vec![b'x'; LINE_BYTES_MAX - 3], b"\"\n".to_vec()].concat();
        let longer = [b"\"x".to_vec(), longest[1..].to_vec()].concat();
        assert_eq!(told(&[&longest, &longer, b"{}\n"]), [TooLong]);
        let pieces: Vec<_> = longer.chunks(1000).collect();
        assert_eq!(told(&pieces), [TooLong]);
        assert_eq!(told(&[&b"x\n".repeat(1000)]).len(), TOLD_MAX);
    }
}
