//! Searching artifacts, whatever they hold.

use std::time::{Duration, Instant};

use fumehood_core::{Code, Coded as _};
use fumehood_store::{Artifact, Bounds, Case, Found, Grep, Pattern, Stop};
use proptest::prelude::*;

use crate::artifact_read::{kept, kept_pieces};

fn grep(pattern: &Pattern) -> Grep<'_> {
    Grep {
        pattern,
        from: 0,
        before: 0,
        after: 0,
        hits_max: Grep::HITS_MAX,
        search_bytes_max: u64::MAX,
        deadline: Instant::now() + Duration::from_mins(1),
        bounds: Bounds::default(),
    }
}

fn search(artifact: &Artifact, grep: &Grep<'_>) -> Found {
    artifact.grep(grep, &mut || true).unwrap()
}

fn regex(text: &str) -> Pattern {
    Pattern::regex(text, Case::Exact).unwrap()
}

fn literal(text: &str) -> Pattern {
    Pattern::literal(text, Case::Exact).unwrap()
}

/// The numbers of the lines that match.
fn numbers(bytes: &[u8], pattern: &Pattern) -> Vec<u64> {
    let (_scratch, artifact) = kept(bytes);
    search(&artifact, &grep(pattern)).hits.iter().map(|hit| hit.number).collect()
}

#[test]
fn lines_that_match_are_found() {
    let cases: &[(&[u8], &str, &[u64])] = &[
        (b"one\ntwo\nthree\n", "t", &[2, 3]),
        (b"one\ntwo", "two", &[2]),
        (b"", "x*", &[]),
        (b"a\n", "x*", &[1]),
        (b"a\n\nb\n", "^$", &[2]),
        (b"a\nb", "$", &[1, 2]),
        // Anchors know both line ends; a lone carriage return ends nothing that is counted.
        (b"a\r\nba\r\nab\n", "a$", &[1, 2]),
        (b"a\r\nb\r\n", "^b$", &[2]),
        (b"10%\r20%\n", "20%", &[1]),
        // NUL is a byte like any other, and stops nothing.
        (b"a\0b\nneedle\0\n", "needle", &[2]),
        (b"\0\0\n\0x\n", r"\x00x", &[2]),
        // A byte that is no UTF-8 matches only where Unicode is off.
        (b"x\xffy\nxzy\n", "x.y", &[2]),
        (b"x\xffy\nxzy\n", "(?-u:x.y)", &[1, 2]),
        (b"x\xffy\n", r"\xff", &[]),
        (b"x\xffy\n", r"(?-u:\xff)", &[1]),
        (b"\xffneedle\xfe\n", "needle", &[1]),
        // Nothing is turned into another encoding because of a mark at the start.
        (b"\xff\xfen\0e\0e\0\n\0", "nee", &[]),
        (b"\xef\xbb\xbfa\nb\n", "^a", &[]),
        ("ÄRGER\närger\n".as_bytes(), "ärger", &[2]),
        ("ÄRGER\närger\n".as_bytes(), "(?i)ärger", &[1, 2]),
        (b"aXb\n", "a[^y]b", &[1]),
        (b"a\nb\n", r"a\sb", &[]),
        (b"a\nb\n", "a[^x]b", &[]),
    ];
    for (bytes, pattern, expected) in cases {
        assert_eq!(numbers(bytes, &regex(pattern)), *expected, "{pattern} in {bytes:?}");
    }
    assert_eq!(numbers(b"a.c\nabc\n", &literal("a.c")), [1]);
    assert_eq!(numbers(b"A.C\na.c\nabc\n", &Pattern::literal("a.c", Case::Either).unwrap()), [1, 2]);
    assert_eq!(numbers(b"(\\n)\n", &literal("(\\n)")), [1]);
}

#[test]
fn patterns_have_limits() {
    let long = "x".repeat(Pattern::TEXT_BYTES_MAX);
    assert!(Pattern::literal(&long, Case::Exact).is_ok());
    let longer = format!("{long}x");
    for literal in ["", "a\nb", longer.as_str()] {
        assert_eq!(
            Pattern::literal(literal, Case::Exact).unwrap_err().code(),
            Code::ArtifactPattern,
            "{literal}"
        );
    }
    for regex in [
        "",
        "(",
        r"a\nb",
        "[\\n]",
        r"(?=x)",
        r"(x)\1",
        r"\w{500}",
        "((((x{50}){50}){50}){50}){50}",
        longer.as_str(),
        "(\u{1b}[2J",
    ] {
        let error = Pattern::regex(regex, Case::Exact).unwrap_err();
        assert_eq!(error.code(), Code::ArtifactPattern, "{regex}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

/// Every line of some bytes that a literal is in, with where.
fn slow(bytes: &[u8], needle: &[u8]) -> Vec<(u64, u64, u64)> {
    let mut offset = 0;
    let mut hits = Vec::new();
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        if let Some(at) = line.windows(needle.len()).position(|window| window == needle) {
            hits.push((number, offset as u64, (offset + at) as u64));
        }
        offset += line.len();
    }
    hits
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => (0..100_usize, any::<bool>()),
        2 => (65_500..65_530_usize, any::<bool>()),
        1 => (0..65_530_usize, any::<bool>()),
    ];
    proptest::collection::vec(line, 0..30).prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(size, hit)| {
                [vec![b'.'; size], if hit { b"needle".to_vec() } else { vec![] }, vec![b'\n']].concat()
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // Blocks make no difference, however lines lie across them, and a search that stops goes on where it stopped.
    #[test]
    fn hits_are_those_of_the_bytes(bytes in contents(), hits_max in 1..5_usize, search_bytes_max in 1..300_000_u64) {
        let (_scratch, artifact) = kept(&bytes);
        let expected = slow(&bytes, b"needle");
        let of = |found: &Found| found.hits.iter().map(|hit| (hit.number, hit.offset, hit.matched.start)).collect::<Vec<_>>();
        for pattern in [literal("needle"), regex("n[e]{2}dle"), regex("(?i)NEEDLE")] {
            let found = search(&artifact, &grep(&pattern));
            prop_assert_eq!(of(&found), expected.clone());
            prop_assert_eq!((found.searched, found.next, found.stopped, found.pieces), (bytes.len() as u64, None, None, 0));
            let mut joined = Vec::new();
            let mut from = Some(0);
            while let Some(at) = from {
                let found = search(&artifact, &Grep { from: at, hits_max, search_bytes_max, ..grep(&pattern) });
                prop_assert!(found.hits.len() <= hits_max);
                joined.extend(of(&found));
                prop_assert_eq!(found.stopped.is_some(), found.next.is_some());
                from = found.next;
            }
            prop_assert_eq!(joined, expected.clone());
        }
    }
}

#[test]
fn context_is_shown_once_and_in_order() {
    let text = (1..=20)
        .map(|n| format!("line {n}{}\n", if matches!(n, 1 | 5 | 7 | 20) { " hit" } else { "" }))
        .collect::<Vec<_>>()
        .concat();
    let (_scratch, artifact) = kept(text.as_bytes());
    let pattern = literal("hit");
    for (before, after, expected) in [
        (0, 0, vec![1, 5, 7, 20]),
        (1, 0, vec![1, 4, 5, 6, 7, 19, 20]),
        (0, 3, vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20]),
        (2, 1, vec![1, 2, 3, 4, 5, 6, 7, 8, 18, 19, 20]),
        (100, 100, (1..=20).collect()),
    ] {
        let found = search(&artifact, &Grep { before, after, ..grep(&pattern) });
        let lines: Vec<_> = found.lines.iter().map(|line| line.line.number).collect();
        assert_eq!(lines, expected, "{before} {after}");
        for line in &found.lines {
            let hit = line.hit.map(|index| found.hits[index].number);
            assert_eq!(hit, matches!(line.line.number, 1 | 5 | 7 | 20).then_some(line.line.number));
        }
        assert!(!found.lines_cut);
    }
    // What is shown is bounded; what is found is not less for it.
    for lines in 1..=11 {
        let bounds = Bounds::new(lines, 1000, 100).unwrap();
        let found = search(&artifact, &Grep { before: 2, after: 1, bounds, ..grep(&pattern) });
        assert_eq!((found.lines.len(), found.lines_cut, found.hits.len()), (lines, lines < 11, 4));
    }
    let found = search(&artifact, &Grep { bounds: Bounds::new(9, 20, 20).unwrap(), ..grep(&pattern) });
    assert_eq!((found.lines.len(), found.lines_cut), (2, true));
}

#[test]
fn limits_hold_and_above_them_nothing_is_searched() {
    let (_scratch, artifact) = kept("hit\n".repeat(20_000).as_bytes());
    let pattern = literal("hit");
    let found = search(&artifact, &grep(&pattern));
    assert_eq!(
        (found.hits.len(), found.stopped, found.next),
        (Grep::HITS_MAX, Some(Stop::Hits), Some(40_000))
    );
    let all =
        Grep { hits_max: 1, search_bytes_max: 1, before: 100, after: 100, from: 80_000, ..grep(&pattern) };
    assert_eq!(search(&artifact, &all).hits, []);
    for above in [
        Grep { hits_max: 0, ..all.clone() },
        Grep { hits_max: Grep::HITS_MAX + 1, ..all.clone() },
        Grep { before: 101, ..all.clone() },
        Grep { after: 101, ..all.clone() },
        Grep { from: 80_001, ..all },
    ] {
        assert_eq!(artifact.grep(&above, &mut || true).unwrap_err().code(), Code::ArtifactRange);
    }
}

#[test]
fn a_search_can_be_stopped() {
    let (_scratch, artifact) = kept(&vec![b'\n'; 10 << 20]);
    let pattern = literal("x");
    let past = search(&artifact, &Grep { deadline: Instant::now(), ..grep(&pattern) });
    assert_eq!((past.stopped, past.next, past.searched), (Some(Stop::Deadline), Some(0), 0));
    let mut asked = 0;
    let go_on = &mut || {
        asked += 1;
        asked < 4
    };
    let found = artifact.grep(&grep(&pattern), go_on).unwrap();
    assert_eq!((found.stopped, found.next), (Some(Stop::Cancelled), Some((3 * 64) << 10)));
    let found = search(&artifact, &Grep { search_bytes_max: 1 << 20, ..grep(&pattern) });
    assert_eq!((found.stopped, found.next), (Some(Stop::Bytes), Some(1 << 20)));
    let found = search(&artifact, &Grep { search_bytes_max: 10 << 20, ..grep(&pattern) });
    assert_eq!((found.stopped, found.next), (None, None));
}

// A line of 64 MiB is searched to its end, in pieces, and shown around each hit.
#[test]
fn a_line_longer_than_a_piece_is_searched_in_pieces() {
    let piece = vec![b'z'; 1 << 20];
    let mut with = piece.clone();
    // Across the end of a piece of 64 KiB less 4 KiB, and at the very end.
    with[(60 << 10) - 3..][..6].copy_from_slice(b"needle");
    let zs = |n| std::iter::repeat_n(piece.as_slice(), n);
    let content =
        [with.as_slice()].into_iter().chain(zs(62)).chain([with.as_slice(), b"needle", b"\nneedle\n"]);
    let (_scratch, artifact) = kept_pieces(content);
    let pattern = literal("needle");
    let bounds = Bounds::new(100, 1000, 100).unwrap();
    let found = search(&artifact, &Grep { bounds, before: 1, after: 1, ..grep(&pattern) });
    let starts: Vec<_> = found.hits.iter().map(|hit| (hit.number, hit.offset, hit.matched.start)).collect();
    let (first, size) = ((60 << 10) - 3, 64 << 20);
    assert_eq!(starts, [(1, 0, first), (1, 0, (63 << 20) + first), (1, 0, size), (2, size + 7, size + 7)]);
    assert_eq!((found.searched, found.pieces), (size + 14, 1092));
    assert_eq!(found.lines.len(), 4);
    for line in &found.lines[..3] {
        let hit = &found.hits[line.hit.unwrap()];
        let at = usize::try_from(hit.matched.start - line.line.shown).unwrap();
        assert_eq!((&line.line.bytes[at..at + 6], line.line.bytes.len()), (b"needle".as_slice(), 100));
        assert_eq!(line.line.length, size + 6);
    }
    assert_eq!(found.lines[3].line.bytes, b"needle");
    // Each piece counts as a line.
    assert_eq!(search(&artifact, &grep(&regex("^z+$"))).hits.len(), 1089);
}

// Patterns that take other engines an age: what they cost grows with the content and with nothing else.
#[test]
fn hostile_patterns_take_linear_time() {
    let (_scratch, artifact) = kept(&[&vec![b'a'; 200_000], b"\n".as_slice()].concat().repeat(5));
    for pattern in
        ["(a+)+$x", "^(a|a)*b$", "(a?){50}a{50}b", "(x+x+)+y", r"(\w|a)*\d", ".*.*.*=.*", r"\pL{8}\d"]
    {
        let start = Instant::now();
        assert_eq!(search(&artifact, &grep(&regex(pattern))).hits, [], "{pattern}");
        println!("{pattern}: {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(30), "{pattern}: {:?}", start.elapsed());
    }
}

// Dear patterns on content made for them, of which an automaton would need more states than there is memory.
#[test]
fn a_deadline_holds_whatever_the_pattern() {
    let mut state = 1_u32;
    let mut chance = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { b'a' } else { b'b' }
    };
    let letters: Vec<u8> = (0..1 << 20).map(|_| chance()).collect();
    for (line, name) in [(usize::MAX, "one line"), (70, "short lines"), (9000, "long lines")] {
        let mut content = Vec::new();
        letters.chunks(line).for_each(|line| content.extend([line, b"\n"].concat()));
        let (_scratch, artifact) = kept(&content);
        for regex in
            ["a[ab]{50}[cd]", "a[ab]{2000}[cd]", "(a|b|ab|aba){400}[cd]", r"a\w{8}[cd]", "(a?b?){900}[cd]"]
        {
            let pattern = self::regex(regex);
            let start = Instant::now();
            let deadline = start + Duration::from_millis(50);
            let found = search(&artifact, &Grep { deadline, ..grep(&pattern) });
            println!(
                "{name}, {regex}: {} bytes in {:?}, {:?}",
                found.searched,
                start.elapsed(),
                found.stopped
            );
            assert!(start.elapsed() < Duration::from_secs(10), "{name}, {regex}: {:?}", start.elapsed());
        }
    }
}
