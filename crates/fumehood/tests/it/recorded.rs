//! What runs leave behind, written as the host writes it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::binding::BindingParts;
use fumehood_core::consent::{Decision, Ledger, Surface};
use fumehood_core::containment::Enforcement;
use fumehood_core::receipt::{
    Authority, Captured, Closing, Exit, Limits, Opening, Processes, ROW_CLOSED, ROW_OPEN, SkillIdentity,
};
use fumehood_core::tool::Tier;
use fumehood_core::{
    AgentLabel, ArtifactId, Binding, CallId, Containment, InterpreterIdentity, Now, ProposalId, Receipt,
    ReceiptId, RelPath, RunId, Sha256, SkillName, ToolName, VerifiedRevision, WallTime, WorkspaceIdentity,
};
use fumehood_store::{Artifacts, Flush, Home, Journal};
use fumehood_testkit::World;

/// The state folder of a world's person, below the world.
pub(crate) const STATE: &str = "home/.local/share/fumehood";

pub(crate) fn home(world: &World) -> Home {
    Home { config: world.path("home/.config/fumehood"), state: world.path(STATE) }
}

pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Keeps an artifact of an agent called `cli` and gives its id.
pub(crate) fn keep(world: &World, bytes: impl AsRef<[u8]>) -> String {
    keep_as(world, "cli", "run", SystemTime::now(), [bytes.as_ref()])
}

pub(crate) fn keep_as<'a>(
    world: &World,
    agent: &str,
    run: &str,
    now: SystemTime,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> String {
    let store = Artifacts::open(&home(world), Artifacts::BYTES_MAX_DEFAULT).unwrap();
    let mut spool = store.create(agent, run, now).unwrap();
    pieces.into_iter().for_each(|piece| spool.write(piece).unwrap());
    spool.finish().unwrap().id.to_string()
}

pub(crate) fn journal(world: &World) -> Journal {
    Journal::open(&home(world)).unwrap()
}

/// The receipt number `n`, opened `n` seconds after a moment.
pub(crate) fn opening(n: u8) -> Opening {
    let bytes = BTreeMap::from([(RelPath::parse("SKILL.md").unwrap(), b"x")]);
    let mut containment = Containment::none();
    for report in &mut containment.axes {
        (report.asked, report.enforced) = (true, Enforcement::Enforced);
        report.mechanism = String::from("namespace");
    }
    Opening {
        id: ReceiptId::from_random([n; 16]),
        run: RunId::from_random([1; 16]),
        call: CallId::from_random([2; 16]),
        agent: AgentLabel::parse("cli").unwrap(),
        tool: ToolName::parse("run_notes_count").unwrap(),
        tier: Tier::Script,
        skill: Some(SkillIdentity {
            source: "user".to_owned(),
            name: SkillName::parse("notes").unwrap(),
            revision: VerifiedRevision::of(&bytes).revision(),
            overlay: Some(Sha256::of(b"overlay")),
        }),
        interpreter: Some(InterpreterIdentity::of_hashed_file("/usr/bin/sh", None, Sha256::of(b"sh"))),
        workspace: Some(WorkspaceIdentity::of_open_directory(1, 2, "/home/user/notes")),
        binding: binding(),
        arguments: Sha256::of(b"{}"),
        authority: authority(),
        containment,
        limits: Limits { wall: Some(Duration::from_secs(5)), processes: Some(64), ..Limits::default() },
        unsafe_controls: Vec::new(),
        state_folder: None,
        started: WallTime::from_unix_ms(1_700_000_000_000 + 1000 * u64::from(n)),
    }
}

pub(crate) fn closing() -> Closing {
    Closing {
        attempts: 1,
        failure: None,
        exit: Some(Exit::Code(0)),
        killed: None,
        output: Captured { kept_bytes: 7, dropped_bytes: 0 },
        errors: Captured::default(),
        artifact: Some(ArtifactId::from_random([4; 16])),
        errors_artifact: None,
        applied: Vec::new(),
        processes: Processes::ProvenGone,
        fallback: false,
        ended: WallTime::from_unix_ms(1_700_000_000_250),
        elapsed: Duration::from_millis(249),
    }
}

fn binding() -> Binding {
    Binding::of(&BindingParts {
        agent: &AgentLabel::parse("cli").unwrap(),
        run: RunId::from_random([1; 16]),
        tool: &ToolName::parse("run_notes_count").unwrap(),
        workspace: None,
        revision: None,
        overlay: None,
        invocation: b"{}",
        validator_version: 1,
        interpreter: None,
        profile: b"",
        policy: Sha256::of(b""),
    })
}

/// A person's yes, as the one way to it gives it.
fn authority() -> Authority {
    let now = Now { monotonic: Duration::ZERO, boot: Duration::ZERO };
    let mut ledger = Ledger::new(RunId::from_random([1; 16]));
    let id = ProposalId::from_random([3; 16]);
    ledger.propose(now, WallTime::from_unix_ms(0), id, binding(), &[]).unwrap();
    ledger.decide(now, id, Decision::Approve(Surface::Terminal)).unwrap();
    Authority::consent(&ledger.consume(now, id, &binding()).unwrap())
}

/// Puts a receipt on record, closed if there is an end; gives the JSON of the last row.
pub(crate) fn record(journal: &Journal, opening: Opening, closing: Option<Closing>) -> String {
    let now = UNIX_EPOCH + Duration::from_millis(opening.started.unix_ms());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let open = text(opening.to_json());
    journal.append(ROW_OPEN, &open, now, Flush::Soon).unwrap();
    let Some(closing) = closing else { return open };
    let closed = text(Receipt::close(opening, closing).to_json());
    journal.append(ROW_CLOSED, &closed, now + Duration::from_secs(1), Flush::Soon).unwrap();
    closed
}
