//! The readers of results.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rmcp::model::{MetaObject, ResourceContents};
use serde_json::json;

use super::answer::{Reply, TEXT_BYTES_MAX};
use super::arguments::Arguments;
use super::fence::fenced;
use crate::fault::Fault;
use crate::host::{ArtifactSearch, ByteRange, Cancel, Case, LineRange, Session};
use crate::report::{ArtifactGrepReport, ArtifactLinesReport, ArtifactSizeReport, ArtifactSliceReport};

/// What an artifact is called by clients that know it by another name.
const ARTIFACT: [&str; 3] = ["artifact", "artifact_id", "id"];

pub(super) fn read(
    session: &Session,
    tool: &str,
    mut arguments: Arguments,
    cancel: &Cancel,
) -> Result<Reply, Fault> {
    let id = arguments.required(&ARTIFACT)?;
    match tool {
        "artifact_head" | "artifact_tail" => {
            let count = arguments.number("lines")?.unwrap_or(LINES);
            arguments.end()?;
            let is_head = tool == "artifact_head";
            let range = if is_head { LineRange::Head(count) } else { LineRange::Tail(count) };
            session.artifact_lines(&id, range).map(|report| lines(&report))
        }
        "artifact_cat" => {
            let first = arguments.number("first")?.unwrap_or(1);
            let last = arguments.number("last")?;
            arguments.end()?;
            session.artifact_lines(&id, LineRange::Numbers(first, last)).map(|report| lines(&report))
        }
        "artifact_grep" => grep(session, &id, arguments, cancel),
        "artifact_slice" => {
            let offset = arguments.number("offset")?.unwrap_or(0);
            let length = arguments.number("length")?.unwrap_or(u64::MAX).min(TEXT_BYTES_MAX as u64);
            arguments.end()?;
            let report = session.artifact_slice(&id, ByteRange { offset, length: Some(length) })?;
            let end = report.offset + report.length;
            let text = report.content.text().map(|text| fenced(OUTPUT, text));
            Ok(Reply::new(json!({
                "artifact": report.id, "bytes": report.bytes, "offset": report.offset, "length": report.length,
                "next_offset": (end < report.bytes).then_some(end), "content": text, "base64": report.content.base64(),
            })))
        }
        _ => {
            arguments.end()?;
            let ArtifactSizeReport { id, byte_length, line_count, estimated_tokens, .. } =
                session.artifact_size(&id)?;
            Ok(Reply::new(json!({
                "artifact": id, "byte_length": byte_length, "line_count": line_count, "estimated_tokens": estimated_tokens,
            })))
        }
    }
}

/// The bytes of an artifact as a client reads a resource: as they are, so that they can be saved and compared, and labelled beside
/// them as what a fence would label them.
pub(super) fn contents(slice: &ArtifactSliceReport, uri: &str) -> ResourceContents {
    let contents = match (slice.content.text(), slice.content.base64()) {
        (Some(text), _) => ResourceContents::text(text, uri),
        (None, base64) => ResourceContents::blob(base64.unwrap_or_default(), uri),
    };
    let mut meta = MetaObject::new();
    meta.0.insert(UNTRUSTED.to_owned(), OUTPUT.into());
    if slice.next_offset.is_some() {
        meta.0.insert(CLIPPED.to_owned(), true.into());
    }
    contents.with_meta(meta)
}

/// Lines as one text, as many as fit.
fn lines(report: &ArtifactLinesReport) -> Reply {
    let (mut text, mut given, mut cut) = (String::new(), 0_usize, 0_usize);
    for line in &report.lines {
        let shown = String::from_utf8_lossy(line.content.bytes());
        if given > 0 && text.len() + shown.len() >= TEXT_BYTES_MAX {
            break;
        }
        given += 1;
        cut += usize::from(line.cut_before + line.cut_after > 0);
        text.push_str(&shown);
        text.push('\n');
    }
    let next = report.lines.get(given).map(|line| line.number).or(report.next_line);
    Reply::new(json!({
        "artifact": report.id, "bytes": report.bytes, "line_count": report.line_count,
        "first_line": report.lines.first().map(|line| line.number), "lines": given, "next_line": next,
        "lines_cut": cut, "content": fenced(OUTPUT, text.trim_end_matches('\n')),
    }))
}

fn grep(session: &Session, id: &str, mut arguments: Arguments, cancel: &Cancel) -> Result<Reply, Fault> {
    let pattern = arguments.required(&["pattern"])?;
    let fixed = arguments.flag("fixed")?;
    let case = if arguments.flag("ignore_case")? { Case::Either } else { Case::Exact };
    let context = arguments.number("context")?.unwrap_or(0);
    let hits = arguments.number("hits")?.unwrap_or(HITS);
    let from = arguments.number("offset")?.unwrap_or(0);
    arguments.end()?;
    let search = ArtifactSearch {
        pattern: &pattern,
        fixed,
        case,
        from,
        context,
        hits_max: usize::try_from(hits).unwrap_or(usize::MAX),
        line_bytes: LINE_BYTES,
        deadline: Instant::now() + SEARCH_MAX,
    };
    let report = session.search_artifact(id, &search, cancel)?;
    let ArtifactGrepReport { id, hits, lines, stopped, next_offset, .. } = report;
    let (mut text, mut unshown) = (String::new(), None);
    for found in &lines {
        if text.len() >= TEXT_BYTES_MAX {
            unshown = Some(found.line.offset);
            break;
        }
        let mark = if found.matches { ':' } else { '-' };
        let shown = String::from_utf8_lossy(found.line.content.bytes());
        let _ = writeln!(text, "{}{mark}{shown}", found.line.number);
    }
    Ok(Reply::new(json!({
        "artifact": id, "hits": hits.len(), "stopped": stopped, "next_offset": unshown.or(next_offset),
        "content": fenced(OUTPUT, text.trim_end_matches('\n')),
    })))
}

/// What a fence says about what is in it.
pub(super) const OUTPUT: &str = "output of a script";
/// The key under which the contents of a resource say what they are, for a client that fences or marks what it shows.
const UNTRUSTED: &str = "fumehood/untrusted";
/// The key under which they say that there is more, which only the readers give.
const CLIPPED: &str = "fumehood/clipped";
const LINES: u64 = 50;
const HITS: u64 = 50;
const LINE_BYTES: usize = 1 << 10;
const SEARCH_MAX: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Content;

    #[test]
    fn the_contents_of_a_resource_say_what_they_are_and_whether_that_is_all() {
        let of = |bytes: &[u8], next_offset| {
            let content = Content::new(bytes.to_vec());
            let length = bytes.len() as u64;
            let report = ArtifactSliceReport {
                schema_version: 1,
                id: String::new(),
                bytes: length,
                offset: 0,
                length,
                next_offset,
                content,
            };
            serde_json::to_value(contents(&report, "fumehood://artifact/a")).unwrap()
        };
        let label = json!({"fumehood/untrusted": "output of a script"});
        let text = of(b"a", None);
        assert_eq!((&text["text"], &text["_meta"]), (&json!("a"), &label));
        let bytes = of(b"\xff", None);
        assert_eq!((&bytes["blob"], &bytes["_meta"]), (&json!("/w=="), &label));
        assert_eq!(of(b"a", Some(1))["_meta"]["fumehood/clipped"], true);
    }
}
