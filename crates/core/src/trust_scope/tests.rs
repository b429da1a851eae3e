use std::collections::BTreeSet;

use core::time::Duration;

use super::*;
use crate::digest::VerifiedRevision;
use crate::json::Json;
use crate::path::RelPath;
use crate::policy::{
    ArgumentFacts, Conditions, Fact, Mode, OneOf, Outcome, PathFact, Policy, PolicyFacts, PolicyTier, Rule,
    RuleParts, Surfaces, Why, WorkspaceFact,
};
use crate::time::WallTime;

fn revision(content: &str) -> VerifiedRevision {
    VerifiedRevision::of(&[(RelPath::parse("SKILL.md").unwrap(), content.as_bytes())].into())
}

fn place(text: &str) -> HostPath {
    HostPath::parse(text).unwrap()
}

fn parts() -> ScopeParts {
    ScopeParts {
        agent: AgentLabel::parse("cli").unwrap(),
        source: "team".to_owned(),
        id: SkillName::parse("pdf").unwrap(),
        revision: revision("1").revision(),
        tool: ToolName::parse("run_pdf_read").unwrap(),
        overlay: Some(Sha256::of(b"overlay")),
        workspace: Some("8:1:42 /srv".to_owned()),
        paths: [("file".to_owned(), place("/srv/papers"))].into(),
        timeout_seconds_max: 30,
        output_bytes_max: 1024,
    }
}

fn draft(change: impl FnOnce(&mut ScopeParts)) -> ScopeDraft {
    let mut parts = parts();
    change(&mut parts);
    ScopeDraft::new(parts).unwrap()
}

/// A change of one part, by name.
type Change = (&'static str, fn(&mut ScopeParts));
/// How a fact is taken away, and what is then amiss.
type Removal = (Mismatch, fn(&mut PolicyFacts<'_>));

/// Each of these makes another scope.
const CHANGES: &[Change] = &[
    ("agent", |parts| parts.agent = AgentLabel::parse("ci").unwrap()),
    ("source", |parts| parts.source = "other".to_owned()),
    ("id", |parts| parts.id = SkillName::parse("pdg").unwrap()),
    ("revision", |parts| parts.revision = revision("2").revision()),
    ("tool", |parts| parts.tool = ToolName::parse("run_pdf_write").unwrap()),
    ("overlay", |parts| parts.overlay = Some(Sha256::of(b"another"))),
    ("no overlay", |parts| parts.overlay = None),
    ("workspace", |parts| parts.workspace = Some("8:1:43 /srv".to_owned())),
    ("no workspace", |parts| parts.workspace = None),
    ("place", |parts| drop(parts.paths.insert("file".to_owned(), place("/srv/papers2")))),
    ("no place", |parts| parts.paths.clear()),
    ("timeout", |parts| parts.timeout_seconds_max = 29),
    ("output", |parts| parts.output_bytes_max = 1023),
];

/// Saves at a time, with receipts whose random bytes begin with it.
fn save_at(time: u8, old: &Scopes, new: Vec<ScopeDraft>, mode: Mode) -> Scopes {
    let mut count = 0;
    let mut random = || {
        count += 1;
        let mut bytes = [0; 16];
        (bytes[0], bytes[1]) = (time, count);
        Some(bytes)
    };
    save(old, new, mode, &mut random, WallTime::from_unix_ms(u64::from(time))).unwrap()
}

fn receipts(scopes: &Scopes) -> Vec<Option<(String, u64)>> {
    let receipts = scopes
        .as_slice()
        .iter()
        .map(|scope| scope.receipt().map(|receipt| (receipt.id.to_string(), receipt.approved.unix_ms())));
    receipts.collect()
}

#[allow(clippy::unnecessary_wraps, reason = "to compare with")]
fn receipt(time: u8, count: u8) -> Option<(String, u64)> {
    Some((format!("{time:02x}{count:02x}0000-0000-4000-8000-000000000000"), u64::from(time)))
}

// CHK-036: the host mints id and time, when the person saves in mode trusted.
#[test]
fn a_scope_saved_in_mode_trusted_gets_a_receipt() {
    let scopes = save_at(1, &Scopes::default(), vec![draft(|_| ()), draft(CHANGES[0].1)], Mode::Trusted);
    assert_eq!(receipts(&scopes), [receipt(1, 1), receipt(1, 2)]);
}

// CHK-037: what did not change keeps its receipt, in whatever mode it is saved.
#[test]
fn an_unchanged_scope_keeps_its_receipt() {
    let first = save_at(1, &Scopes::default(), vec![draft(|_| ())], Mode::Trusted);
    for mode in Mode::ALL {
        let again = save_at(2, &first, first.drafts(), mode);
        assert_eq!(again, first, "{mode:?}");
        let among = save_at(3, &again, vec![draft(CHANGES[0].1), draft(|_| ())], mode);
        let fresh = if mode == Mode::Trusted { receipt(3, 1) } else { None };
        assert_eq!(receipts(&among), [fresh, receipt(1, 1)], "{mode:?}");
    }
}

// CHK-038: a draft has no place for a receipt; whoever wants to bring one along has no words for it.
#[test]
fn callers_bring_no_receipt() {
    let scopes = save_at(1, &Scopes::default(), vec![draft(|_| ())], Mode::Trusted);
    // Also not by handing in again what was shown to them, once it is gone.
    let drafts = scopes.drafts();
    let empty = save_at(2, &scopes, Vec::new(), Mode::Trusted);
    assert_eq!(receipts(&save_at(3, &empty, drafts, Mode::Ask)), [None]);
}

// CHK-039: any part that differs, ceilings and places included, is a new approval.
#[test]
fn a_changed_scope_gets_a_new_receipt() {
    let first = save_at(1, &Scopes::default(), vec![draft(|_| ())], Mode::Trusted);
    for (what, change) in CHANGES {
        let changed = save_at(2, &first, vec![draft(change)], Mode::Trusted);
        assert_eq!(receipts(&changed), [receipt(2, 1)], "{what}");
        let back = save_at(3, &changed, first.drafts(), Mode::Trusted);
        assert_eq!(receipts(&back), [receipt(3, 1)], "{what}");
    }
}

// CHK-040: without a receipt it is a draft, which becomes more only by a save in mode trusted.
#[test]
fn a_scope_saved_in_another_mode_is_a_draft() {
    for mode in [Mode::Ask, Mode::Blocked, Mode::Workflow] {
        let draft = save_at(1, &Scopes::default(), vec![draft(|_| ())], mode);
        assert_eq!(receipts(&draft), [None]);
        with_call(&Call::default(), |facts| {
            assert_eq!(draft.as_slice()[0].covers(facts), Err(Mismatch::Draft));
        });
        assert_eq!(receipts(&save_at(2, &draft, draft.drafts(), Mode::Trusted)), [receipt(2, 1)]);
    }
}

// CHK-042: what is removed is revoked, and added again it is another approval.
#[test]
fn a_removed_scope_is_revoked() {
    let first = save_at(1, &Scopes::default(), vec![draft(|_| ())], Mode::Trusted);
    let gone = save_at(2, &first, Vec::new(), Mode::Trusted);
    with_call(&Call::default(), |facts| {
        assert!(first.covering(facts).is_some());
        assert_eq!(gone.covering(facts), None);
    });
    assert_eq!(receipts(&save_at(3, &gone, first.drafts(), Mode::Trusted)), [receipt(3, 1)]);
}

// CHK-028: at most 64, no two alike, and no receipt from a broken source of random bytes.
#[test]
fn what_cannot_be_saved() {
    let many =
        |count: u64| (1..=count).map(|n| draft(|parts| parts.output_bytes_max = n)).collect::<Vec<_>>();
    let save_with = |new, random: &mut dyn FnMut() -> Option<[u8; 16]>| {
        save(&Scopes::default(), new, Mode::Trusted, random, WallTime::from_unix_ms(1)).map(drop)
    };
    let mut count = 0_u8;
    let mut fresh = || {
        count += 1;
        Some([count; 16])
    };
    assert_eq!(save_with(many(64), &mut fresh), Ok(()));
    assert_eq!(save_with(many(65), &mut || panic!("nothing is minted")), Err(ScopesError::Full));
    assert_eq!(save_with(vec![draft(|_| ()), draft(|_| ())], &mut fresh), Err(ScopesError::Twice));
    assert_eq!(save_with(many(1), &mut || None), Err(ScopesError::NoRandomness));
    assert_eq!(save_with(many(1), &mut || Some([1; 16])), Ok(()));
    assert_eq!(save_with(many(2), &mut || Some([1; 16])), Err(ScopesError::IdTaken));
    let old = save_at(1, &Scopes::default(), vec![draft(|_| ())], Mode::Trusted);
    let mut bytes = [0; 16];
    (bytes[0], bytes[1]) = (1, 1);
    let again = save(&old, many(1), Mode::Trusted, &mut || Some(bytes), WallTime::from_unix_ms(2));
    assert_eq!(again, Err(ScopesError::IdTaken), "not even that of a scope that ends here");
}

// CHK-033: people name a scope by its digest, so no two have one.
#[test]
fn every_part_is_in_the_digest() {
    let mut seen = BTreeSet::from([draft(|_| {}).sha256().to_string()]);
    assert!(!seen.insert(draft(|_| {}).sha256().to_string()));
    for (name, change) in CHANGES {
        assert!(seen.insert(draft(change).sha256().to_string()), "{name}");
    }
}

#[test]
fn drafts_have_rules() {
    let refused = |change: &dyn Fn(&mut ScopeParts)| {
        let mut parts = parts();
        change(&mut parts);
        ScopeDraft::new(parts).err()
    };
    for bad in ["", "Team", "a b", "server:git", &"a".repeat(33)] {
        assert_eq!(refused(&|parts| parts.source = bad.to_owned()), Some(ScopeError::Source), "{bad}");
    }
    let longest = "w".repeat(WORKSPACE_IDENTITY_BYTES_MAX);
    assert_eq!(refused(&|parts| parts.workspace = Some(longest.clone())), None);
    for bad in ["", "a\n", &format!("{longest}w")] {
        assert_eq!(refused(&|parts| parts.workspace = Some(bad.to_owned())), Some(ScopeError::Workspace));
    }
    let name = "n".repeat(SCOPE_PARAMETER_CHARS_MAX);
    let with = |parts: &mut ScopeParts, name: &str| drop(parts.paths.insert(name.to_owned(), place("/")));
    assert_eq!(refused(&|parts| with(parts, &name)), None);
    for bad in ["", "a\u{200b}", &format!("{name}n")] {
        assert_eq!(refused(&|parts| with(parts, bad)), Some(ScopeError::Parameter), "{bad}");
    }
    let many = |count: usize| (0..count).map(|n| (n.to_string(), place("/"))).collect();
    assert_eq!(refused(&|parts| parts.paths = many(SCOPE_PATHS_MAX)), None);
    assert_eq!(refused(&|parts| parts.paths = many(SCOPE_PATHS_MAX + 1)), Some(ScopeError::TooManyPaths));
    for (seconds, fits) in [(0, false), (1, true), (3600, true), (3601, false)] {
        assert_eq!(refused(&|parts| parts.timeout_seconds_max = seconds).is_none(), fits, "{seconds}");
    }
    for (bytes, fits) in [(0, false), (1, true), (64 << 20, true), ((64 << 20) + 1, false)] {
        assert_eq!(refused(&|parts| parts.output_bytes_max = bytes).is_none(), fits, "{bytes}");
    }
}

#[test]
fn receipt_ids_are_random_uuids_written_in_one_way() {
    let id = ScopeReceiptId::from_random([0xff; 16]);
    let text = "ffffffff-ffff-4fff-bfff-ffffffffffff";
    assert_eq!(id.to_string(), text);
    assert_eq!(ScopeReceiptId::parse(text), Some(id));
    for bad in [
        "",
        "ffffffffffff4fffbfffffffffffffff",
        "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF",
        "ffffffff-ffff-1fff-bfff-ffffffffffff",
        "ffffffff-ffff-4fff-ffff-ffffffffffff",
        "ffffffff-ffff-4fff-bfff-fffffffffffff",
        "+fffffff-ffff-4fff-bfff-ffffffffffff",
    ] {
        assert_eq!(ScopeReceiptId::parse(bad), None, "{bad}");
    }
}

/// A call that the scope of [`parts`] covers, unless something is changed.
#[derive(Clone)]
struct Call {
    parts: ScopeParts,
    revision: VerifiedRevision,
    arguments: &'static str,
    file: Option<&'static str>,
    tier: Fact<PolicyTier>,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            parts: parts(),
            revision: revision("1"),
            arguments: r#"{"file":"a.pdf","page":3}"#,
            file: Some("/srv/papers/a.pdf"),
            tier: Fact::Is(PolicyTier::Script),
        }
    }
}

fn with_call<T>(call: &Call, look: impl FnOnce(&PolicyFacts<'_>) -> T) -> T {
    let value = Json::parse(call.arguments.as_bytes(), 1 << 16).unwrap();
    let file = call.file.map(place);
    let folder = place("/srv");
    let paths: Vec<_> =
        file.iter().map(|file| PathFact { parameter: "file", resolved: Some(file) }).collect();
    let parts = &call.parts;
    let workspace = parts.workspace.as_deref().map(|identity| WorkspaceFact { resolved: &folder, identity });
    look(&PolicyFacts {
        agent: Fact::Is(&parts.agent),
        source: Fact::Is(&parts.source),
        id: Fact::Is(&parts.id),
        revision: Fact::Is(call.revision),
        overlay: Fact::of_option(parts.overlay),
        tool: Fact::Is(&parts.tool),
        tier: call.tier,
        workspace: Fact::of_option(workspace),
        arguments: Fact::Is(ArgumentFacts { value: &value, paths: &paths }),
        timeout: Fact::Is(Duration::from_secs(parts.timeout_seconds_max)),
        output_bytes: Fact::Is(parts.output_bytes_max),
        ..PolicyFacts::default()
    })
}

fn saved(change: impl FnOnce(&mut ScopeParts)) -> Scopes {
    save_at(1, &Scopes::default(), vec![draft(change)], Mode::Trusted)
}

fn mismatch(scopes: &Scopes, call: &Call) -> Option<Mismatch> {
    with_call(call, |facts| scopes.as_slice()[0].covers(facts).err())
}

// CHK-033, CHK-034, CHK-041: everything is the same, or nobody is spared the question.
#[test]
fn a_scope_covers_only_what_is_the_same_throughout() {
    let scopes = saved(|_| ());
    let call = Call::default();
    assert_eq!(mismatch(&scopes, &call), None);
    let changed = |change: &dyn Fn(&mut Call)| {
        let mut call = call.clone();
        change(&mut call);
        mismatch(&scopes, &call)
    };
    let overlay = Some(Mismatch::Overlay);
    let workspace = Some(Mismatch::Workspace);
    for (what, expected) in [
        ("agent", Some(Mismatch::Agent)),
        ("source", Some(Mismatch::Source)),
        ("id", Some(Mismatch::Id)),
        ("tool", Some(Mismatch::Tool)),
        ("overlay", overlay.clone()),
        ("no overlay", overlay),
        ("workspace", workspace.clone()),
        ("no workspace", workspace),
        // Less than the ceiling.
        ("timeout", None),
        ("output", None),
    ] {
        let (_, change) = CHANGES.iter().find(|(name, _)| *name == what).unwrap();
        assert_eq!(changed(&|call| change(&mut call.parts)), expected, "{what}");
    }
    assert_eq!(changed(&|call| call.revision = revision("2")), Some(Mismatch::Revision));
    assert_eq!(changed(&|call| call.parts.timeout_seconds_max += 1), Some(Mismatch::Timeout));
    assert_eq!(changed(&|call| call.parts.output_bytes_max += 1), Some(Mismatch::OutputBytes));
    for tier in [Fact::Is(PolicyTier::Undeclared), Fact::Missing] {
        assert_eq!(changed(&|call| call.tier = tier), Some(Mismatch::Undeclared));
    }
    assert_eq!(changed(&|call| call.tier = Fact::Is(PolicyTier::Checked)), None);
}

// CHK-035: other valid arguments are covered, paths within their places.
#[test]
fn arguments_may_differ_and_paths_within_their_places() {
    let scopes = saved(|_| ());
    let path = || Some(Mismatch::Path("file".to_owned()));
    let hidden = || Some(Mismatch::Hidden("file".to_owned()));
    for (file, expected) in [
        ("/srv/papers/b/c.pdf", None),
        ("/srv/papers", None),
        ("/srv/papers/a.b", None),
        ("/srv/papers2/a.pdf", path()),
        ("/srv", path()),
        ("/etc/passwd", path()),
        ("/srv/papers/.git/config", hidden()),
        ("/srv/papers/a/.env", hidden()),
        ("/srv/papers/...", hidden()),
    ] {
        let call = Call { file: Some(file), ..Call::default() };
        assert_eq!(mismatch(&scopes, &call), expected, "{file}");
    }
    let arguments = |arguments, file| mismatch(&scopes, &Call { arguments, file, ..Call::default() });
    let file = Call::default().file;
    assert_eq!(arguments(r#"{"file":"b","page":9,"more":[true]}"#, file), None);
    assert_eq!(arguments(r#"{"page":9}"#, None), None);
    // The host says nothing of a path that is there.
    assert_eq!(arguments(r#"{"file":"a.pdf"}"#, None), path());
    // A path parameter of which the scope says nothing.
    assert_eq!(mismatch(&saved(|parts| parts.paths.clear()), &Call::default()), path());
    // A leading dot in the place itself was the person's own choice.
    let dotted = saved(|parts| drop(parts.paths.insert("file".to_owned(), place("/srv/.papers"))));
    assert_eq!(mismatch(&dotted, &Call { file: Some("/srv/.papers/a"), ..Call::default() }), None);
    let root = saved(|parts| drop(parts.paths.insert("file".to_owned(), place("/"))));
    assert_eq!(mismatch(&root, &Call::default()), None);
    assert_eq!(mismatch(&root, &Call { file: Some("/.a"), ..Call::default() }), hidden());
}

// What the host cannot tell is not the same as what was trusted.
#[test]
fn a_missing_fact_is_never_covered() {
    let without: &[Removal] = &[
        (Mismatch::Agent, |facts| facts.agent = Fact::Missing),
        (Mismatch::Source, |facts| facts.source = Fact::Missing),
        (Mismatch::Id, |facts| facts.id = Fact::Missing),
        (Mismatch::Revision, |facts| facts.revision = Fact::Missing),
        (Mismatch::Tool, |facts| facts.tool = Fact::Missing),
        (Mismatch::Overlay, |facts| facts.overlay = Fact::Missing),
        (Mismatch::Workspace, |facts| facts.workspace = Fact::Missing),
        (Mismatch::Undeclared, |facts| facts.tier = Fact::Missing),
        (Mismatch::Arguments, |facts| facts.arguments = Fact::Missing),
        (Mismatch::Timeout, |facts| facts.timeout = Fact::Missing),
        (Mismatch::OutputBytes, |facts| facts.output_bytes = Fact::Missing),
    ];
    // Also where the scope has no overlay and no workspace: not known is not none.
    let bare = |parts: &mut ScopeParts| (parts.overlay, parts.workspace) = (None, None);
    let mut bare_call = Call::default();
    bare(&mut bare_call.parts);
    for (scopes, call) in [(saved(|_| ()), Call::default()), (saved(bare), bare_call)] {
        assert_eq!(mismatch(&scopes, &call), None);
        for (expected, remove) in without {
            with_call(&call, |facts| {
                let mut facts = *facts;
                remove(&mut facts);
                assert_eq!(scopes.as_slice()[0].covers(&facts).as_ref(), Err(expected));
            });
        }
    }
}

// CHK-033, CHK-047: only in mode trusted, and behind every deny and ask rule.
#[test]
fn a_scope_counts_in_mode_trusted_behind_deny_and_ask() {
    let scopes = saved(|_| ());
    let decide = |mode, outcome: Option<Outcome>| {
        let when = Conditions {
            agent: Some(OneOf::new(vec![AgentLabel::parse("cli").unwrap()]).unwrap()),
            ..Conditions::default()
        };
        let parts = |outcome| RuleParts {
            name: "r".to_owned(),
            outcome,
            when,
            limits: crate::policy::Limits::default(),
        };
        let rules = outcome.map(|outcome| Rule::new(parts(outcome)).unwrap()).into_iter().collect();
        let policy = Policy::new(mode, Surfaces::default(), rules).unwrap();
        with_call(&Call::default(), |facts| {
            let decision = policy.decide(facts, &scopes);
            let explained = policy.explain(facts, &scopes);
            assert_eq!((explained.outcome, &explained.why), (decision.outcome, &decision.why));
            (decision.outcome, decision.why)
        })
    };
    let scope = Why::Scope(scopes.as_slice()[0].receipt().unwrap().id);
    let rule = || Why::Rule("r".to_owned());
    assert_eq!(decide(Mode::Trusted, None), (Outcome::Allow, scope.clone()));
    assert_eq!(decide(Mode::Trusted, Some(Outcome::Allow)), (Outcome::Allow, scope));
    assert_eq!(decide(Mode::Trusted, Some(Outcome::Ask)), (Outcome::Ask, rule()));
    assert_eq!(decide(Mode::Trusted, Some(Outcome::Deny)), (Outcome::Deny, rule()));
    assert_eq!(decide(Mode::Ask, None), (Outcome::Ask, Why::Default));
    assert_eq!(decide(Mode::Ask, Some(Outcome::Allow)), (Outcome::Ask, Why::NotWaived("r".to_owned())));
    assert_eq!(decide(Mode::Blocked, None), (Outcome::Deny, Why::Blocked));
    assert_eq!(decide(Mode::Workflow, None), (Outcome::Deny, Why::Workflow));
}
