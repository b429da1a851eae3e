//! `pending`, `approve` and `deny`: a person answers what another process asks, and nobody else does.

mod peers;
mod stand;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fumehood::Fault;
use fumehood::host::{Desk, Over, Passphrase};
use fumehood::report::{Answer, Question};
use fumehood_core::consent::{State, Surface};
use fumehood_core::{Code, ProposalId};
use fumehood_testkit::{Streams, World};
use serde_json::{Value, json};

use crate::schemas::{assert_notices, assert_valid};
use crate::{text, texts, world};
use stand::{Stand, host, not_open, now_unix_ms, open, question_of};

/// The end of the question, behind which keys count.
const ASKED: &str = "[y/N]\u{1b}[0m ";

const ID: &str = "ask_00112233445566778899aabbccddeeff";
const OTHER: &str = "ask_ffeeddccbbaa99887766554433221100";

fn pending(world: &World) -> Value {
    world.json(["pending"])
}

fn ids(pending: &Value) -> Vec<&str> {
    texts(&pending["requests"], "id")
}

/// What the person sees who answers, and how it ends.
fn approve(world: &World, id: &str, keys: &str) -> (String, fumehood_testkit::Answer) {
    world.call().at_terminal(["approve", id], ASKED, keys)
}

/// At a terminal, where nothing is asked.
fn deny(world: &World, id: &str) -> fumehood_testkit::Answer {
    world.call().sit_down(["deny", id], Streams::Pipes).leave().1
}

// mcp.md 1.5, 4.2: the person sees all of it, says yes once, and the same call runs once.
#[test]
fn a_person_approves_what_another_process_asks() {
    let world = world();
    assert_eq!(world.run(["pending"]).text(), "Nothing is waiting for an answer\n");
    assert!(!world.has("home/.local"), "looking leaves nothing behind");
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    assert_eq!(stand.asks("a"), id);

    let report = pending(&world);
    assert_eq!((ids(&report), &report["silent_processes"]), (vec![id.as_str()], &json!(0)));
    let request = &report["requests"][0];
    assert_eq!((&request["agent"], &request["skill"]), (&json!("claude"), &json!("user:worker")));
    let listed = world.run(["pending"]).text();
    assert!(listed.starts_with(&format!("{id}  made ")), "{listed}");
    assert!(listed.contains("\n  claude wants work: scripts/\\u{202e}go.sh of user:worker\n"), "{listed}");
    // A program that reads it is told of no way to approve; a person is.
    assert!(!listed.contains("approve"), "{listed}");
    assert!(world.call().on_terminal(["pending"]).0.contains("`fumehood approve ID`"));

    let (shown, answer) = approve(&world, &id[..12], "y\n");
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{shown}");
    let said = answer.text();
    assert!(
        said.starts_with("Approved once: claude wants work: scripts/\\u{202e}go.sh of user:worker;"),
        "{said}"
    );
    for part in [
        "Run 'scripts/\\u{202e}go.sh' from worker?",
        "its author says Its author \\u{1b}[2J says.",
        "asked by        claude, in run_0707",
        "CHANGED since it was approved on 1970-01-01 00:00:00Z: +1 ~2 -3 files",
        "It can read and change nothing else of yours",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    let request = shown.lines().find(|line| line.starts_with("  request ")).unwrap();
    assert!(request.contains(&id) && request.contains(" s ago, open for 4 min "), "{request}");
    assert!(request.ends_with(", good once"), "{request}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'), "{shown:?}");

    assert_eq!(stand.state(&id), Some(State::Approved(Surface::Terminal)));
    assert!(ids(&pending(&world)).is_empty());
    assert_eq!((stand.call("a"), stand.entered()), (Ok(()), 1));
    let rows = stand.decisions();
    assert_eq!(
        (rows.len(), &rows[0]["decision"], &rows[0]["surface"]),
        (1, &json!("approved"), &json!("terminal"))
    );
    // It is used up, and was good for nothing else.
    assert_ne!(stand.asks("a"), id);
    assert_ne!(stand.asks("b"), id);
    assert_eq!(stand.entered(), 1);
    assert_eq!(not_open(&world, &id).code, Code::ConsentDecided);
}

// mcp.md 4.2: two requests of one script are told apart by what they are about, of which no more is listed than a person reads.
#[test]
fn requests_of_one_script_are_told_apart_by_their_arguments() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    stand.asks("one");
    stand.asks("two\u{202e}");
    let report = assert_valid("pending", &world.run(["pending", "--format", "json"]).stdout);
    let arguments = texts(&report["requests"], "arguments");
    assert!(arguments.contains(&r#"{"text":"one"}"#), "{arguments:?}");
    assert!(arguments.contains(&"{\"text\":\"two\u{202e}\"}"), "{arguments:?}");
    let listed = world.run(["pending"]).text();
    for line in [r#"  with {"text":"one"}"#, r#"  with {"text":"two\u{202e}"}"#] {
        assert!(listed.lines().any(|listed| listed == line), "{line} in {listed}");
    }
    let (shown, _) = world.call().on_terminal(["pending"]);
    assert!(!shown.contains('\u{202e}') && shown.contains(r#"{"text":"one"}"#), "{shown}");

    // A long one is cut, and says by how much; whoever is to approve it reads all of it.
    let whole = format!(r#"{{"text":"{}"}}"#, "é".repeat(1_000));
    let long = Question { arguments: whole.clone(), ..question_of(ID, "codex", now_unix_ms()) };
    let exact = Question { arguments: "é".repeat(1_000), ..question_of(OTHER, "codex", now_unix_ms() + 1) };
    let _socket = host(&world).serve_desk(Arc::new(Fixed(vec![long, exact]))).unwrap();
    let report = assert_valid("pending", &world.run(["pending", "--format", "json"]).stdout);
    let of = |id: &str| {
        let mut all = report["requests"].as_array().unwrap().iter();
        let request = all.find(|request| request["id"] == id).unwrap();
        (text(&request["arguments"]).chars().count(), request["arguments_cut"].as_u64().unwrap())
    };
    assert_eq!((of(ID), of(OTHER)), ((1_000, 11), (1_000, 0)));
    let listed = world.run(["pending"]).text();
    assert!(listed.contains("é… (+11 characters)\n"), "{listed}");
    assert_eq!(listed.matches("characters)").count(), 1, "{listed}");
    assert_eq!(open(&world, ID).question().arguments, whole);
}

// X-14: a no is one however it is said, and is told to whoever makes the call again.
#[test]
fn a_person_denies() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    for (text, keys) in [("a", "n\n"), ("b", "\n"), ("c", "\u{4}"), ("d", "yes, but\n")] {
        let id = stand.asks(text);
        let (_, answer) = approve(&world, &id, keys);
        assert_eq!(answer.code, Some(3), "{keys:?}");
        assert!(answer.errors().contains("E_NOT_CONFIRMED"), "{}", answer.errors());
        assert_eq!(
            (stand.state(&id), stand.call(text)),
            (Some(State::Denied), Err((Code::ToolDenied, None)))
        );
    }
    let id = stand.asks("e");
    let answer = deny(&world, &id[4..12]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
    assert_eq!(answer.text(), "Denied: claude wants work: scripts/\\u{202e}go.sh of user:worker\n");
    assert_eq!((stand.call("e"), stand.entered()), (Err((Code::ToolDenied, None)), 0));
    let again = deny(&world, &id);
    assert_eq!(again.code, Some(2));
    assert!(again.errors().contains("E_CONSENT_DECIDED"), "{}", again.errors());
}

// DESIGN 6: without a controlling terminal nobody answers, whatever standard input says.
#[test]
fn a_program_without_a_terminal_answers_nothing() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    for command in ["approve", "deny"] {
        assert_eq!(text(&world.fault([command, &id], 3)["code"]), "E_TERMINAL_REQUIRED");
        let piped = "exec 2>&1; yes | exec /usr/bin/setsid --wait \"$@\"";
        let answer = world.call().run_behind("/bin/sh", ["-c", piped, "sh"], [command, &id]);
        assert!(answer.text().contains("E_TERMINAL_REQUIRED"), "{}", answer.text());
    }
    assert_eq!((stand.state(&id), ids(&pending(&world))), (Some(State::Pending), vec![id.as_str()]));
}

/// How a request ends while somebody reads it.
type End = fn(&Stand, &str);

// mcp.md 4.2: what is over while it is read is taken back with its reason.
#[test]
fn a_question_that_is_over_is_taken_back() {
    let ends: [(End, &str, &str); 3] = [
        (
            |stand, id| {
                stand.requests.decide(ProposalId::parse(id).unwrap(), Answer::No, Surface::Page).unwrap();
            },
            "this request has its answer already",
            "E_CONSENT_DECIDED",
        ),
        (|stand, _| stand.pass(Duration::from_mins(5)), "older than five minutes", "E_CONSENT_EXPIRED"),
        (|stand, _| stand.gate.end(), "this request was withdrawn", "E_RUN_ENDED"),
    ];
    for (end, sentence, code) in ends {
        let world = world();
        let stand = Stand::new(&world, "claude");
        let id = stand.asks("a");
        let mut session = world.call().sit_down(["approve", &id], Streams::Pipes);
        session.see(ASKED);
        end(&stand, &id);
        session.see(sentence);
        let (_, answer) = session.leave();
        assert!(answer.errors().contains(code), "{}", answer.errors());
        assert_eq!(stand.entered(), 0);
    }
    // The process is no more.
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let mut session = world.call().sit_down(["approve", &id], Streams::Pipes);
    session.see(ASKED);
    drop(stand);
    session.see("this request was withdrawn");
    assert!(session.leave().1.errors().contains("E_RUN_ENDED"));
}

// CHK-008, CHK-015, CHK-016: whatever is looked up too late says why.
#[test]
fn an_answer_that_comes_too_late_is_none() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let (one, other) = (open(&world, &id), open(&world, &id));
    assert_eq!(one.over(), None);
    one.decide(Answer::Once, None).unwrap();
    for answer in [Answer::Once, Answer::No] {
        assert_eq!(other.decide(answer, None).unwrap_err().code, Code::ConsentDecided);
    }
    assert_eq!(stand.state(&id), Some(State::Approved(Surface::Terminal)));

    let (late, id) = (stand.asks("b"), stand.asks("c"));
    let (asked, ended) = (open(&world, &late), open(&world, &id));
    stand.pass(Duration::from_mins(5));
    assert_eq!(asked.decide(Answer::Once, None).unwrap_err().code, Code::ConsentExpired);
    assert_eq!(not_open(&world, &late).code, Code::ConsentExpired);
    assert!(ids(&pending(&world)).is_empty());
    assert_eq!(stand.call("a").unwrap_err().0, Code::ConsentPending);

    stand.gate.end();
    assert_eq!(ended.decide(Answer::Once, None).unwrap_err().code, Code::ConsentExpired);
    drop(stand);
    assert_eq!(ended.decide(Answer::Once, None).unwrap_err().code, Code::RunEnded);
    assert_eq!(not_open(&world, &id).code, Code::ConsentUnknown);
}

// DESIGN 6: which surface may say yes is asked when it does; a no is taken from everywhere.
#[test]
fn the_policy_says_whether_a_yes_from_here_counts() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let policy = |surfaces: &str| {
        world.write("home/.config/fumehood/policy.toml", format!("mode = \"ask\"\n[surfaces]\n{surfaces}"));
    };
    policy("terminal = []\n");
    let (_, answer) = approve(&world, &id, "y\n");
    assert_eq!(answer.code, Some(3));
    assert!(answer.errors().contains("E_POLICY_DENIED"), "{}", answer.errors());
    assert_eq!(stand.state(&id), Some(State::Pending));
    policy("terminal = [\"once\"]\n");
    assert_eq!(approve(&world, &id, "y\n").1.code, Some(0));
    assert_eq!(stand.call("a"), Ok(()));

    let (id, other) = (stand.asks("b"), stand.asks("c"));
    policy("terminal = []\nelicitation = [\"once\"]\npage = []\n");
    assert_eq!(deny(&world, &id).code, Some(0));
    let other = ProposalId::parse(&other).unwrap();
    let say = |surface| stand.requests.decide(other, Answer::Once, surface).map_err(|fault| fault.code);
    for shut in [Surface::Terminal, Surface::Page, Surface::Flag] {
        assert_eq!(say(shut), Err(Code::PolicyDenied));
    }
    assert_eq!(say(Surface::Elicitation), Ok(()));
    // Answered, it is that which is said, whatever the policy says.
    assert_eq!(say(Surface::Terminal), Err(Code::ConsentDecided));
}

// DESIGN 6: the process that holds a request looks at the passphrase itself, whoever speaks to its socket.
#[test]
fn a_yes_without_the_passphrase_that_is_required_is_none() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let id = stand.asks("a");
    let settings = format!("[approver]\npassphrase = \"{}\"\n", crate::run::HASH);
    world.write("home/.config/fumehood/fumehood.toml", settings);
    let tries = world.path("home/.local/share/fumehood/passphrase-tries");
    let say = |passphrase: Option<&str>| {
        let typed = |text: &str| {
            let read = Passphrase::read(|buffer| {
                buffer[..text.len()].copy_from_slice(text.as_bytes());
                Ok::<_, ()>(text.len())
            });
            read.unwrap().unwrap()
        };
        open(&world, &id).decide(Answer::Once, passphrase.map(typed)).map(drop).map_err(|fault| fault.code)
    };
    assert_eq!(say(None), Err(Code::PassphraseRequired));
    assert!(!tries.exists());
    for _ in 0..3 {
        assert_eq!(say(Some("wrong horse\n")), Err(Code::PassphraseWrong));
    }
    assert!(fs::read_to_string(&tries).unwrap().starts_with("3 "));
    assert_eq!((stand.state(&id), stand.entered()), (Some(State::Pending), 0));
    fs::remove_file(&tries).unwrap();

    let (shown, wrong) = type_passphrase(&world, &id, "wrong\n");
    assert!(wrong.errors().contains("E_PASSPHRASE_WRONG"), "{shown}{}", wrong.errors());
    assert!(fs::read_to_string(&tries).unwrap().starts_with("1 "), "one try is counted once");
    assert_eq!(stand.state(&id), Some(State::Pending));
    let (shown, right) = type_passphrase(&world, &id, "correct horse\n");
    assert_eq!((right.code, right.errors().as_str()), (Some(0), ""), "{shown}");
    assert!(!tries.exists() && !shown.contains("horse"));
    assert_eq!(stand.call("a"), Ok(()));
    // A no needs none.
    let id = stand.asks("b");
    assert_eq!(deny(&world, &id).code, Some(0));
}

/// Says yes and types this.
fn type_passphrase(world: &World, id: &str, typed: &str) -> (String, fumehood_testkit::Answer) {
    let mut session = world.call().sit_down(["approve", id], Streams::Pipes);
    session.see(ASKED).keys("y\n").see("Passphrase: ").keys(typed);
    session.leave()
}

// CHK-025, DESIGN 2: each process answers for its own, and all of them are found.
#[test]
fn two_processes_hold_requests_at_once() {
    let world = world();
    let (one, other) = (Stand::new(&world, "claude"), Stand::new(&world, "codex"));
    let (first, second) = (one.asks("a"), other.asks("a"));
    let report = pending(&world);
    let mut found = ids(&report);
    found.sort_unstable();
    let mut both = [first.as_str(), second.as_str()];
    both.sort_unstable();
    assert_eq!(found, both);
    assert_eq!(one.state(&second), None);
    let unknown = one.requests.decide(ProposalId::parse(&second).unwrap(), Answer::Once, Surface::Terminal);
    assert_eq!(unknown.unwrap_err().code, Code::ConsentUnknown);
    assert_eq!(open(&world, &second).question().agent, "codex");
    open(&world, &second).decide(Answer::Once, None).unwrap();
    assert_eq!((one.state(&first), other.call("a")), (Some(State::Pending), Ok(())));
    assert_eq!((one.entered(), other.entered()), (0, 1));
    // Somebody else's home is another place altogether.
    let elsewhere = crate::world();
    assert!(ids(&pending(&elsewhere)).is_empty());
    assert_eq!(not_open(&elsewhere, &first).code, Code::ConsentUnknown);
}

/// A desk with these requests on it.
struct Fixed(Vec<Question>);

impl Desk for Fixed {
    fn pending(&self) -> Vec<Question> {
        self.0.clone()
    }

    fn question(&self, id: ProposalId) -> Option<Question> {
        self.0.iter().find(|question| question.id == id.to_string()).cloned()
    }

    fn state(&self, id: ProposalId) -> Option<State> {
        self.question(id).map(|_| State::Pending)
    }

    fn decide(&self, _: ProposalId, _: Answer, _: Surface) -> Result<(), Fault> {
        panic!("nobody is to be answered here")
    }
}

#[test]
fn a_request_is_named_by_digits_that_no_other_begins_with() {
    let world = world();
    let now = now_unix_ms();
    let id = |end: char| format!("ask_{}{end}", "1".repeat(31));
    let desk =
        |ids: &[char]| Arc::new(Fixed(ids.iter().map(|end| question_of(&id(*end), "a", now)).collect()));
    let _one = host(&world).serve_desk(desk(&['a', 'b'])).unwrap();
    assert_eq!(open(&world, &id('a')).question().id, id('a'));
    assert_eq!(open(&world, &id('b')[4..]).question().id, id('b'));
    for (typed, message) in [
        ("ask_11111111", "several requests"),
        ("1111111", "not the id of a request"),
        ("ask_", "not the id of a request"),
        ("ask_1111111G", "not the id of a request"),
        ("ASK_11111111", "not the id of a request"),
        (&format!("{}1", id('a')), "not the id of a request"),
        (&format!("art_{}", "1".repeat(32)), "not the id of a request"),
        ("ask_\u{1b}[2J1111", "not the id of a request"),
        ("", "not the id of a request"),
    ] {
        let fault = not_open(&world, typed);
        assert_eq!(fault.code, Code::IdInvalid, "{typed}");
        assert!(fault.message.contains(message), "{typed}: {fault}");
    }
    assert!(not_open(&world, &format!("art_{}", "1".repeat(32))).advice.contains("an artifact"));
    assert_eq!(not_open(&world, "ask_2222222222").code, Code::ConsentUnknown);
    // Another process has one of the same id: neither is meant.
    let _other = host(&world).serve_desk(desk(&['a'])).unwrap();
    assert_eq!(not_open(&world, &id('a')).code, Code::IdInvalid);
    assert_eq!(open(&world, &id('b')).question().id, id('b'));
}

const HELD_FOR: &str = "FUMEHOOD_TEST_HOLDS_A_REQUEST_IN";
const MARK: &str = "holds";

/// This very test as another process, which holds a request and waits to be killed.
fn holding(world: &World) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "control::a_killed_process_leaves_nothing_that_counts"])
        .env(HELD_FOR, world.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while !world.has(MARK) {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it holds nothing");
        thread::sleep(Duration::from_millis(10));
    }
    let id = String::from_utf8(world.read(MARK)).unwrap();
    fs::remove_file(world.path(MARK)).unwrap();
    (child, id)
}

fn sockets(world: &World) -> usize {
    let names = fs::read_dir(world.path("home/.local/share/fumehood/control")).unwrap();
    names.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|is| is == "sock")).count()
}

// CHK-016, CHK-021: with the process its requests are gone; the name that it leaves is swept by whoever looks or starts.
#[test]
fn a_killed_process_leaves_nothing_that_counts() {
    if let Some(root) = std::env::var_os(HELD_FOR) {
        let home = std::path::Path::new(&root);
        let stand = Stand::at(home, "claude");
        let id = stand.asks("a");
        fs::write(home.join("mark.new"), id).unwrap();
        fs::rename(home.join("mark.new"), home.join(MARK)).unwrap();
        // Whoever started it kills it, or is gone.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    }
    let world = world();
    for sweeps in [(|world| drop(pending(world))) as fn(&World), |world| drop(Stand::new(world, "codex"))] {
        let (mut child, id) = holding(&world);
        assert_eq!((ids(&pending(&world)), sockets(&world)), (vec![id.as_str()], 1));
        let request = open(&world, &id);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sockets(&world), 1);
        assert_eq!(request.decide(Answer::Once, None).unwrap_err().code, Code::RunEnded);
        thread::sleep(Duration::from_millis(350));
        assert_eq!(request.over(), Some(Over::Ended));
        sweeps(&world);
        assert_eq!(sockets(&world), 0);
        assert_eq!(not_open(&world, &id).code, Code::ConsentUnknown);
    }
}

#[test]
fn the_answers_have_their_shapes() {
    let world = world();
    let stand = Stand::new(&world, "claude");
    let (id, other) = (stand.asks("a"), stand.asks("b"));
    let answer = world.run(["--format", "json", "pending"]);
    assert_notices("pending", &assert_valid("pending", &answer.stdout));
    let (_, answer) = world.call().at_terminal(["--format", "json", "approve", &id], ASKED, "y\n");
    let approved = assert_valid("decision", &answer.stdout);
    assert_eq!((&approved["decision"], &approved["request"]["id"]), (&json!("approved"), &json!(id)));
    assert_notices("decision", &approved);
    let denied = world.call().sit_down(["--format", "json", "deny", &other], Streams::Pipes).leave().1;
    assert_eq!(assert_valid("decision", &denied.stdout)["decision"], "denied");
}
