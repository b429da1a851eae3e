//! The record behind all ways, as whoever embeds the host has it: a request is made once, answered once, and spent once.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use fumehood::host::{Cancel, Refusal, RunRequest, Session, SessionOptions};
use fumehood::report::Answer;
use fumehood::{Host, HostOptions};
use fumehood_core::consent::Surface;
use fumehood_core::{AgentLabel, Code, Json, ProposalId};
use fumehood_testkit::World;

use super::{assert_clean, marked, runs};
use crate::program;

fn session(world: &World) -> Session {
    let agent = AgentLabel::parse("mcp").unwrap();
    let workspace = Some((world.path("work"), true));
    let mut options = HostOptions::isolated(world.path(""));
    options.home = Some(world.path("home"));
    options.helper = Some(PathBuf::from(program()));
    let run = SessionOptions { agent, roots: vec![world.path("skills")], workspace };
    Host::new(options).open_session(run).unwrap()
}

fn request(script: &str, text: &str) -> RunRequest {
    let named = Json::parse(format!("{{\"text\":\"{text}\"}}").as_bytes(), 1024).unwrap();
    RunRequest {
        skill: "tool".to_owned(),
        script: script.to_owned(),
        named: Some(named),
        ..RunRequest::default()
    }
}

fn pending(session: &Session, request: &RunRequest) -> ProposalId {
    let refused = session.run_script(request, &Cancel::new(), |_| {}).unwrap_err();
    assert_eq!(refused.fault.code, Code::ConsentPending, "{refused:?}");
    refused.pending.unwrap()
}

// CHK-013, CHK-015: what lies on the desk is answered by whoever stands there, and found by the same call, once.
#[test]
fn a_parked_request_is_answered_at_the_desk() {
    let world = marked();
    let session = session(&world);
    let (a, b) = (request("go", "a"), request("go", "b"));
    let (first, second) = (pending(&session, &a), pending(&session, &b));
    assert_eq!(pending(&session, &a), first);
    let desk = session.desk();
    let lying: Vec<_> = desk.pending().into_iter().map(|question| question.id).collect();
    assert_eq!(lying.len(), 2);
    assert_eq!(desk.question(first).unwrap().agent, "mcp");

    desk.decide(first, Answer::Once, Surface::Terminal).unwrap();
    assert_eq!(desk.decide(first, Answer::No, Surface::Terminal).unwrap_err().code, Code::ConsentDecided);
    assert_eq!(runs(&world), 0);
    let report = session.run_script(&a, &Cancel::new(), |_| {}).unwrap();
    assert_eq!((report.exit_code, runs(&world)), (Some(0), 1));
    assert_ne!(pending(&session, &a), first);

    desk.decide(second, Answer::No, Surface::Elicitation).unwrap();
    let denied = session.run_script(&b, &Cancel::new(), |_| {}).unwrap_err();
    assert_eq!((denied.fault.code, denied.pending), (Code::ScriptDenied, None));
    assert_eq!(runs(&world), 1);
    session.end();
    let ended = session.run_script(&a, &Cancel::new(), |_| {}).unwrap_err();
    assert_eq!(ended.fault.code, Code::RunEnded);
    assert!(desk.pending().is_empty());
    assert_clean(&world);
}

// Two files that nobody declared share the name of their tool, and neither takes the other's place.
#[test]
fn requests_about_different_files_lie_side_by_side() {
    let world = marked();
    world.write("skills/tool/one.sh", "#!/bin/sh\necho one\n");
    world.write("skills/tool/two.sh", "#!/bin/sh\necho two\n");
    let session = session(&world);
    let exact = |script: &str| RunRequest {
        skill: "tool".to_owned(),
        script: script.to_owned(),
        argv: Some(vec!["--help".to_owned()]),
        ..RunRequest::default()
    };
    let (one, two) = (pending(&session, &exact("one.sh")), pending(&session, &exact("two.sh")));
    assert_eq!((pending(&session, &exact("one.sh")), pending(&session, &exact("two.sh"))), (one, two));
    session.desk().decide(one, Answer::Once, Surface::Terminal).unwrap();
    let report = session.run_script(&exact("one.sh"), &Cancel::new(), |_| {}).unwrap();
    assert_eq!(report.output.content.text(), Some("one\n"));
    assert_eq!(pending(&session, &exact("two.sh")), two);
}

// One yes is one run, however many calls come for it at once.
#[test]
fn calls_at_once_spend_one_yes() {
    let world = marked();
    let session = Arc::new(session(&world));
    let a = request("go", "a");
    let id = pending(&session, &a);
    session.desk().decide(id, Answer::Once, Surface::Terminal).unwrap();
    let ended: Vec<Result<_, Refusal>> = thread::scope(|scope| {
        let call = || session.run_script(&a, &Cancel::new(), |_| {});
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1, "{ended:?}");
    assert_eq!(runs(&world), 1);
}
