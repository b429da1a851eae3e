//! What goes in and what comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fumehood_core::Code;
use fumehood_core::tool::Failure;

use super::{ECHO, tool, tool_at};
use crate::world::{World, errors, failed, output, refused};

/// A program that writes these bytes, in pieces.
fn writing(pieces: &[&[u8]]) -> String {
    let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
    format!(
        "import {{ writeSync }} from 'node:fs';\nfor (const piece of {pieces:?}) {{ let at = 0; const all = Buffer.from(piece); while (at < all.length) at += writeSync(1, all.subarray(at)); await new Promise(r => setTimeout(r, 5)); }}\n"
    )
}

// CHK-122, CHK-159: both kinds of modules, with paths that a shell would take for more; CHK-092: listed files are what there is.
#[test]
fn both_kinds_of_modules_run() {
    let module = "import { word } from './part one.mjs';\nconsole.log(JSON.stringify({ word, at: process.cwd(), argv: process.argv.length }));";
    let common = "const { word } = require('./it; touch x && $(y).cjs');\nconsole.log(JSON.stringify({ word, at: process.cwd(), argv: process.argv.length }));";
    for (entry, text, other, part) in [
        ("scripts/a b $(id);'x'.mjs", module, "scripts/part one.mjs", "export const word = 'm';"),
        ("it.cjs", common, "it; touch x && $(y).cjs", "exports.word = 'm';"),
    ] {
        let world = World::new();
        let tool = tool_at(&world, entry, text).file(other, part).listing(other);
        assert_eq!(output(&tool.call("{}")), "{\"word\":\"m\",\"at\":\"/skill\",\"argv\":2}\n");
        world.assert_clean();
    }
}

// CHK-094, CHK-096, CHK-159, CHK-112: arguments are data, whatever they say, and the bytes are those that were validated and hashed.
#[test]
fn the_program_reads_what_was_validated() {
    let world = World::new();
    let script = r#"import { readFileSync } from "node:fs";
import { createHash } from "node:crypto";
const bytes = readFileSync(0);
console.log(JSON.stringify({ sha256: createHash("sha256").update(bytes).digest("hex"), text: bytes.toString() }));
"#;
    let input = " {\"b\": \"$(touch /tmp/x) `id` ; rm -rf / & | > \\u0041 ' \\\" ä 😀\", \"a\" : 1.50 }\n";
    let ended = tool(&world, script).call(input);
    let answer = output(&ended);
    let sent = r#"{"a":1.5,"b":"$(touch /tmp/x) `id` ; rm -rf / & | > A ' \" ä 😀"}"#;
    let said = fumehood_core::Json::parse(answer.as_bytes(), 1 << 16).unwrap();
    assert_eq!(said.as_object().unwrap()["text"].as_str(), Some(sent));
    let arguments = fumehood_core::Sha256::of(sent.as_bytes()).to_string();
    assert_eq!(said.as_object().unwrap()["sha256"].as_str(), Some(arguments.as_str()));
    // Of the arguments, the record has this and nothing else.
    let rows = world.journal.newest(None, None, 100).unwrap();
    assert!(rows.iter().any(|row| row.json.contains(&arguments)));
    assert!(rows.iter().all(|row| !row.json.contains("touch")));
}

// CHK-098, CHK-104, CHK-114, CHK-113: what does not fit is refused before anybody is asked, and nothing is made to fit.
#[test]
fn arguments_that_do_not_fit_start_nothing() {
    let world = World::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    let mut tool = tool(&world, ECHO);
    tool.input = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":3}},"additionalProperties":false}"#;
    tool.job = tool.job.when_asked(move || {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    for (input, code) in [
        ("{}", Code::SchemaMismatch),
        ("{\"n\":\"1\"}", Code::SchemaMismatch),
        ("{\"n\":4}", Code::SchemaMismatch),
        ("{\"n\":1,\"m\":1}", Code::SchemaMismatch),
        ("[1]", Code::SchemaMismatch),
        ("{\"n\":1,\"n\":1}", Code::JsonDuplicateKey),
        ("{\"n\":1}{\"n\":1}", Code::JsonTrailing),
        ("{\"n\":NaN}", Code::JsonSyntax),
        ("\u{feff}{\"n\":1}", Code::JsonSyntax),
        ("{\"n\":1e999}", Code::JsonNumber),
    ] {
        assert_eq!(refused(&tool.call(input)), (code, Failure::Validation), "{input}");
    }
    assert_eq!(refused(&tool.call_bytes(b"{\"n\":1,\"\xff\":1}")), (Code::JsonEncoding, Failure::Validation));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(output(&tool.call("{\"n\":3}")), "{\"got\":{\"n\":3}}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);

    // To the byte: 64 KiB as it is sent.
    let tool = super::tool(&world, "console.log(JSON.stringify({}));");
    let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
    assert_eq!(output(&tool.call(&sized(64 << 10))), "{}\n");
    assert_eq!(refused(&tool.call(&sized((64 << 10) + 1))), (Code::JsonTooLarge, Failure::Validation));
}

// CHK-097, CHK-099, CHK-116, CHK-123, CHK-125, CHK-127: one JSON value that fits, or a failure that tells nothing of it.
#[test]
fn what_is_no_answer_is_a_failure() {
    let deep = "[".repeat(33) + &"]".repeat(33);
    let cases: &[(&[&[u8]], &str)] = &[
        (&[b""], "is not one JSON value"),
        (&[b"   \n"], "is not one JSON value"),
        (&[b"{}", b"{}"], "is not one JSON value"),
        (&[b"{}\n", b"secret-word"], "is not one JSON value"),
        (&[b"\xef\xbb\xbf{}"], "is not one JSON value"),
        (&[b"{\"a\":NaN}"], "is not one JSON value"),
        (&[b"{\"a\":Infinity}"], "is not one JSON value"),
        (&[b"{\"a\":1,\"a\":2}"], "is not one JSON value"),
        (&[b"{\"a\":\"\\ud800\"}"], "is not one JSON value"),
        (&[b"secret-word"], "is not one JSON value"),
        (&[deep.as_bytes()], "is not one JSON value"),
        // Half a character, and the other half never comes, or something else does.
        (&[b"{\"a\":\"\xe2\x82", b"\x28\"}"], "is not UTF-8"),
        (&[b"{\"a\":\"\xc3", b"\"}"], "is not UTF-8"),
        (&[b"{}\xf0\x9f\x98"], "is not UTF-8"),
        (&[b"[\"secret-word\"]"], "is not what the skill declares"),
        (&[b"null"], "is not what the skill declares"),
    ];
    let world = World::new();
    for (pieces, why) in cases {
        let ended = tool(&world, &writing(pieces)).call("{}");
        assert_eq!(failed(&ended), Code::ToolBadResponse, "{pieces:?}");
        let error = ended.unwrap_err();
        assert_eq!(error.failure, Failure::BadResponse);
        assert!(error.message.contains(why) && !error.message.contains("secret"), "{}", error.message);
    }
    // A character in two pieces is one.
    let ended = tool(&world, &writing(&[b" {\"a\":\"\xe2\x82", b"\xac\"} ", b"\n"])).call("{}");
    assert_eq!(output(&ended), " {\"a\":\"€\"} \n");
    world.assert_clean();
}

// CHK-127: an error of the output's shape names what the skill declares and nothing that the program made up.
#[test]
fn an_output_that_does_not_fit_is_told_without_its_names() {
    let world = World::new();
    let mut tool = tool(&world, "console.log('{\"secret\":1,\"n\":\"secret\"}');");
    tool.output = r#"{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}"#;
    let error = tool.call("{}").unwrap_err();
    assert!(error.message.contains("/n") && !error.message.contains("secret"), "{}", error.message);
    let rows = world.journal.newest(None, None, 100).unwrap();
    assert!(rows.iter().all(|row| !row.json.contains("secret")));
}

// CHK-106, CHK-107, CHK-110, CHK-126, CHK-117: the caps are exact, each stream has its own, and nothing is cut to fit.
#[test]
fn each_stream_has_its_cap_to_the_byte() {
    let script = |out: usize, err: usize| {
        format!(
            "process.stderr.write('e'.repeat({err}), () => process.stdout.write('\"' + 'x'.repeat({}) + '\"'));",
            out - 2
        )
    };
    let world = World::new();
    for (out, err, is_good) in [
        (1024, 0, true),
        (1025, 0, false),
        (10, 16 << 10, true),
        (10, (16 << 10) + 1, false),
        (1 << 20, 0, false),
        (10, 1 << 20, false),
    ] {
        let mut tool = tool(&world, &script(out, err)).limits(60_000, 1024);
        tool.output = r#"{"type":"string"}"#;
        let ended = tool.call("{}");
        if is_good {
            assert_eq!((output(&ended).len(), errors(&ended).len()), (out, err));
        } else {
            assert_eq!(failed(&ended), Code::ScriptOutputLimit, "{out} {err}");
            assert!(ended.unwrap_err().ran.unwrap().artifact.is_some());
        }
    }
    // The most that a manifest may ask for.
    let mut tool = tool(&world, &script(256 << 10, 0)).limits(60_000, 256 << 10);
    tool.output = r#"{"type":"string"}"#;
    assert_eq!(output(&tool.call("{}")).len(), 256 << 10);
    world.assert_clean();
}

// CHK-123: what is said beside is text as well.
#[test]
fn standard_error_is_text() {
    let world = World::new();
    let script = "process.stderr.write(Buffer.from([0x61, 0xff]), () => console.log('{}'));";
    assert_eq!(failed(&tool(&world, script).call("{}")), Code::ToolBadResponse);
    let ended = tool(&world, "console.error('wörds'); console.log('{}');").call("{}");
    assert_eq!((output(&ended).as_str(), errors(&ended).as_str()), ("{}\n", "wörds\n"));
}

// CHK-096: a program that does not read holds up nobody, and its answer counts.
#[test]
fn a_program_need_not_read() {
    let world = World::new();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(60_000));
    for script in ["console.log('{}');", "process.stdin.destroy(); console.log('{}');"] {
        assert_eq!(output(&tool(&world, script).call(&large)), "{}\n");
    }
    // The end of input comes, also behind much of it.
    let script = "let n = 0; for await (const piece of process.stdin) n += piece.length; console.log(JSON.stringify({ n }));";
    assert_eq!(output(&tool(&world, script).call(&large)), format!("{{\"n\":{}}}\n", large.len()));
    world.assert_clean();
}
