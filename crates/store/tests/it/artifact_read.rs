//! Reading artifacts, whatever they hold.

use fumehood_core::{Code, Coded as _};
use fumehood_store::{Artifact, Artifacts, Asker, Bounds, Cut, Line, LineEnd, Lines};
use fumehood_testkit::Scratch;
use proptest::prelude::*;
use std::time::SystemTime;

use crate::child::home;

/// An artifact of these bytes. The folder goes with the first value; the artifact, being open, can be read on.
pub(crate) fn kept(bytes: &[u8]) -> (Scratch, Artifact) {
    kept_pieces([bytes])
}

pub(crate) fn kept_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Scratch, Artifact) {
    let scratch = Scratch::new();
    let artifacts = Artifacts::open(&home(&scratch), Artifacts::BYTES_MAX_DEFAULT).unwrap();
    let mut spool = artifacts.create("agent", "run", SystemTime::now()).unwrap();
    pieces.into_iter().for_each(|piece| spool.write(piece).unwrap());
    let info = spool.finish().unwrap();
    let artifact = artifacts.get(info.id, Asker::Agent("agent")).unwrap();
    (scratch, artifact)
}

fn bounds(lines: usize, bytes: usize, line_bytes: usize) -> Bounds {
    Bounds::new(lines, bytes, line_bytes).unwrap()
}

/// All lines of some bytes, slowly.
fn lines_of(bytes: &[u8]) -> Vec<Line> {
    let mut offset = 0;
    let mut lines = Vec::new();
    for (number, whole) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let (text, end) = match whole {
            [text @ .., b'\r', b'\n'] => (text, LineEnd::CrLf),
            [text @ .., b'\n'] => (text, LineEnd::Lf),
            text => (text, LineEnd::Open),
        };
        let length = text.len() as u64;
        lines.push(Line { number, offset, length, shown: offset, bytes: text.to_vec(), end });
        offset += whole.len() as u64;
    }
    lines
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        4 => proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'\r'), Just(0), any::<u8>()], 0..40),
        1 => (65_500..65_600_usize).prop_map(|size| vec![b'l'; size]),
        1 => (0..150_000_usize).prop_map(|size| vec![b'l'; size]),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("")];
    proptest::collection::vec((text, end), 0..12).prop_map(|lines| {
        lines.into_iter().flat_map(|(text, end)| [&text, end.as_bytes()].concat()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // RES-19
    #[test]
    fn a_span_holds_the_lines_and_nothing_else(bytes in contents(), first in 1..14_u64, count in 0..14_u64) {
        let (_scratch, artifact) = kept(&bytes);
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let start = usize::try_from(first - 1).unwrap();
        if start > 0 && start >= lines.len() {
            prop_assert_eq!(artifact.line_span(first, count).unwrap_err().code(), Code::ArtifactRange);
            return Ok(());
        }
        let end = lines.len().min(start + usize::try_from(count).unwrap());
        let length = |lines: &[&[u8]]| lines.iter().map(|line| line.len() as u64).sum::<u64>();
        let expected = length(&lines[..start])..length(&lines[..end]);
        prop_assert_eq!(artifact.line_span(first, count).unwrap(), expected);
    }

    // RES-19
    #[test]
    fn lines_are_those_of_the_bytes(bytes in contents(), first in 1..14_u64, count in 0..14_u64, cut in 1..70_000_usize) {
        let (_scratch, artifact) = kept(&bytes);
        let all = lines_of(&bytes);
        prop_assert_eq!(artifact.line_count(), all.len() as u64);
        let wide = bounds(Bounds::LINES_MAX, Bounds::BYTES_MAX, Bounds::LINE_BYTES_MAX.min(cut));
        let shown = |lines: &[Line]| -> Vec<Line> {
            let mut lines = lines.to_vec();
            for line in &mut lines {
 line.bytes.truncate(cut.min(Bounds::LINE_BYTES_MAX));
 }
            lines
        };
        let upto = |count: u64| usize::try_from(count).unwrap().min(all.len());
        let whole = |lines: &[Line]| Lines { lines: shown(lines), next: None };
        prop_assert_eq!(artifact.head(count, wide).unwrap(), whole(&all[..upto(count)]));
        prop_assert_eq!(artifact.tail(count, wide).unwrap(), whole(&all[all.len() - upto(count)..]));
        let cat = artifact.cat(first, count, wide);
        if upto(first) as u64 == first || first == 1 {
            let from = upto(first - 1);
            prop_assert_eq!(cat.unwrap(), whole(&all[from..upto(first - 1 + count)]));
        } else {
            prop_assert_eq!(cat.unwrap_err().code(), Code::ArtifactRange);
        }
    }

    // RES-19
    #[test]
    fn pages_join_to_the_whole(bytes in contents(), lines in 1..5_usize, room in 100..90_000_usize) {
        let (_scratch, artifact) = kept(&bytes);
        let page_bounds = bounds(lines, room, room.min(Bounds::LINE_BYTES_MAX));
        let mut joined = Vec::new();
        let mut next = (!bytes.is_empty()).then_some(1);
        while let Some(first) = next {
            let page = artifact.cat(first, u64::MAX, page_bounds).unwrap();
            prop_assert!(page.lines.len() <= lines && !page.lines.is_empty());
            prop_assert!(page.lines.iter().map(|line| line.bytes.len()).sum::<usize>() <= room);
            joined.extend(page.lines);
            next = page.next;
        }
        let all = lines_of(&bytes);
        prop_assert_eq!(joined.len(), all.len());
        for (line, whole) in joined.iter().zip(&all) {
            prop_assert_eq!((line.number, line.offset, line.length, line.end), (whole.number, whole.offset, whole.length, whole.end));
            prop_assert!(whole.bytes.starts_with(&line.bytes));
            let cut = whole.bytes.len() - line.bytes.len();
            let expected = (cut > 0).then(|| Cut { bytes: cut as u64, offset: line.offset + line.bytes.len() as u64 });
            prop_assert_eq!(line.cut_after(), expected);
        }
        let slices: Vec<u8> = (0..bytes.len()).step_by(50_000)
            .flat_map(|at| artifact.slice(at as u64, 50_000).unwrap().bytes).collect();
        prop_assert_eq!(slices, bytes);
    }
}

#[test]
fn an_empty_artifact_has_no_lines() {
    let (_scratch, artifact) = kept(b"");
    assert_eq!((artifact.byte_length(), artifact.line_count(), artifact.estimate_tokens()), (0, 0, 0));
    for lines in [
        artifact.head(5, Bounds::default()),
        artifact.tail(5, Bounds::default()),
        artifact.cat(1, 5, Bounds::default()),
    ] {
        assert_eq!(lines.unwrap(), Lines::default());
    }
    assert_eq!(artifact.slice(0, 10).unwrap().bytes, b"");
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    // Invalid UTF-8, NUL, a lone carriage return, and UTF-16 with its mark: none is turned into anything.
    let utf16: Vec<u8> =
        [0xfe, 0xff].into_iter().chain("a\nb".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    for (bytes, lines) in [
        (b"\xff\xfe\n\x80".as_slice(), vec![b"\xff\xfe".as_slice(), b"\x80"]),
        (b"a\0b\n\0\n", vec![b"a\0b", b"\0"]),
        (b"10%\r20%\r\n", vec![b"10%\r20%"]),
        (b"\r\n\r\n", vec![b"", b""]),
        (b"x\r", vec![b"x\r"]),
        (&utf16, vec![b"\xfe\xff\0a\0", b"\0b"]),
    ] {
        let (_scratch, artifact) = kept(bytes);
        let read = artifact.head(9, Bounds::default()).unwrap().lines;
        assert_eq!(read.iter().map(|line| line.bytes.as_slice()).collect::<Vec<_>>(), lines);
        assert_eq!(artifact.slice(0, 100).unwrap().bytes, bytes);
    }
}

#[test]
fn bounds_hold_at_the_limit_and_refuse_above() {
    for (lines, bytes, line_bytes) in
        [(Bounds::LINES_MAX, Bounds::BYTES_MAX, Bounds::LINE_BYTES_MAX), (1, 1, 1), (1, 10, 10)]
    {
        assert!(Bounds::new(lines, bytes, line_bytes).is_ok());
        for above in [
            Bounds::new(Bounds::LINES_MAX + 1, bytes, line_bytes),
            Bounds::new(lines, Bounds::BYTES_MAX + 1, line_bytes),
            Bounds::new(lines, bytes, Bounds::LINE_BYTES_MAX.min(bytes) + 1),
            Bounds::new(0, bytes, line_bytes),
            Bounds::new(lines, 0, 0),
            Bounds::new(lines, bytes, 0),
        ] {
            assert_eq!(above.unwrap_err().code(), Code::ArtifactRange);
        }
    }
    let (_scratch, artifact) = kept("12345678\n".repeat(3).as_bytes());
    // 24 bytes of lines fit exactly; one less leaves the last out.
    assert_eq!(artifact.head(9, bounds(3, 24, 8)).unwrap().next, None);
    assert_eq!(artifact.head(9, bounds(3, 23, 8)).unwrap().next, Some(3));
    assert_eq!(artifact.head(9, bounds(2, 24, 8)).unwrap().next, Some(3));
    assert_eq!(artifact.tail(2, bounds(1, 24, 8)).unwrap().next, Some(3));
    assert_eq!(artifact.cat(0, 1, Bounds::default()).unwrap_err().code(), Code::ArtifactRange);
    assert_eq!(artifact.cat(3, u64::MAX, Bounds::default()).unwrap().lines.len(), 1);
    assert_eq!(artifact.cat(4, 1, Bounds::default()).unwrap_err().code(), Code::ArtifactRange);
    assert_eq!(artifact.cat(u64::MAX, u64::MAX, Bounds::default()).unwrap_err().code(), Code::ArtifactRange);
    assert_eq!(artifact.slice(27, 1).unwrap().bytes, b"");
    assert_eq!(artifact.slice(28, 1).unwrap_err().code(), Code::ArtifactRange);
    assert_eq!(artifact.slice(u64::MAX, 1).unwrap_err().code(), Code::ArtifactRange);
    assert!(artifact.slice(0, Bounds::BYTES_MAX).is_ok());
    assert_eq!(artifact.slice(0, Bounds::BYTES_MAX + 1).unwrap_err().code(), Code::ArtifactRange);
}

// A line of 1 GiB: nothing is read but what is shown, since the index says where it ends.
#[test]
fn a_line_of_a_gibibyte_is_cut() {
    let piece = vec![b'z'; 1 << 20];
    let long = std::iter::repeat_n(piece.as_slice(), 1024);
    let (_scratch, artifact) =
        kept_pieces([b"first\n".as_slice()].into_iter().chain(long).chain([b"\r\nlast".as_slice()]));
    assert_eq!(artifact.line_count(), 3);
    let start = std::time::Instant::now();
    for lines in [artifact.head(3, Bounds::default()), artifact.tail(3, Bounds::default())] {
        let lines = lines.unwrap().lines;
        assert_eq!(
            (lines[0].bytes.as_slice(), lines[2].bytes.as_slice()),
            (b"first".as_slice(), b"last".as_slice())
        );
        assert_eq!((lines[1].offset, lines[1].length, lines[1].end), (6, 1 << 30, LineEnd::CrLf));
        assert_eq!(lines[1].cut_after(), Some(Cut { bytes: (1 << 30) - 4096, offset: 6 + 4096 }));
    }
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}
