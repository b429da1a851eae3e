//! What it takes to decide: 1,000 rules of which none matches, and 64 trust scopes of which only the last does.
//!
//! Prints minimums and medians, beside the aim of 50 µs for a decision. Nothing here passes or fails.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot make its files has nothing to say")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fumehood_core::policy::{
    ArgumentFacts, Fact, Mode, NetworkUse, Outcome, PathFact, PolicyFacts, PolicyTier, WorkspaceFact,
};
use fumehood_core::tool::Effect;
use fumehood_core::trust_scope::{ScopeDraft, ScopeParts};
use fumehood_core::{
    AgentLabel, HostPath, Json, Policy, RelPath, Scopes, SkillName, ToolName, VerifiedRevision,
};
use fumehood_store::{Home, PolicyFile, PolicyState, TrustScopes};

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join("policy");
    let _ = fs::remove_dir_all(&folder);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join("config")).unwrap();
    let home = Home { config: folder.join("config"), state: folder.join("state") };
    let path = home.config.join("policy.toml");
    fs::write(&path, rules()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let file = PolicyFile::read(&home);
    assert_eq!((&file.state, file.policy.rules().len()), (&PolicyState::Read, 1000));
    let drafts = (0..64).map(|n| draft(&n.to_string())).collect();
    let trust = TrustScopes::open(&home).unwrap();
    let scopes = trust.save(Mode::Trusted, SystemTime::now(), |_| drafts).unwrap();
    decide(&file.policy, &scopes);
    report("reading policy.toml with 1,000 rules", 50, || {
        black_box(PolicyFile::read(&home));
    });
    report("reading 64 trust scopes", 200, || {
        black_box(trust.load().unwrap());
    });
    fs::remove_dir_all(folder).unwrap();
}

/// A tenth each by its first condition, the rest by its last, so that most of them are looked at to the end.
fn rules() -> String {
    let mut text = String::from("mode = \"trusted\"\n");
    for number in 0..1000 {
        let (outcome, more) = match number % 3 {
            0 => ("deny", ""),
            1 => ("ask", ""),
            _ => ("allow", "revision = \"*\", "),
        };
        let tool =
            if number % 10 == 0 { "tool = \"another\"" } else { "tool = [\"run_pdf_read\", \"other\"]" };
        let conditions = format!(
            "{more}source = \"team\", id = \"pdf\", {tool}, tier = [\"script\", \"checked\"], effect = \"other\", workspace = \"/srv\", \
             arguments = {{ file = {{ below = \"/srv/papers\" }}, mode = [\"a\", \"b\"], count = {{ at_least = {} }} }}",
            1000 + number
        );
        let _ = writeln!(text, "[[rule]]\nname = \"rule {number}\"\n{outcome} = {{ {conditions} }}");
    }
    text
}

fn revision(content: &str) -> VerifiedRevision {
    VerifiedRevision::of(&[(RelPath::parse("SKILL.md").unwrap(), content.as_bytes())].into())
}

fn place(text: &str) -> HostPath {
    HostPath::parse(text).unwrap()
}

fn draft(content: &str) -> ScopeDraft {
    ScopeDraft::new(ScopeParts {
        agent: AgentLabel::parse("cli").unwrap(),
        source: "team".to_owned(),
        id: SkillName::parse("pdf").unwrap(),
        revision: revision(content).revision(),
        tool: ToolName::parse("run_pdf_read").unwrap(),
        overlay: None,
        workspace: Some("8:1:42 /srv".to_owned()),
        paths: [("file".to_owned(), place("/srv/papers"))].into(),
        timeout_seconds_max: 60,
        output_bytes_max: 1 << 20,
    })
    .unwrap()
}

fn decide(policy: &Policy, scopes: &Scopes) {
    let (agent, id) = (AgentLabel::parse("cli").unwrap(), SkillName::parse("pdf").unwrap());
    let tool = ToolName::parse("run_pdf_read").unwrap();
    let (folder, file) = (place("/srv"), place("/srv/papers/a.pdf"));
    let arguments = Json::parse(br#"{"file":"a.pdf","mode":"b","count":7}"#, 1024).unwrap();
    let paths = [PathFact { parameter: "file", resolved: Some(&file) }];
    let facts = |content: &str| PolicyFacts {
        agent: Fact::Is(&agent),
        source: Fact::Is("team"),
        id: Fact::Is(&id),
        revision: Fact::Is(revision(content)),
        overlay: Fact::None,
        tool: Fact::Is(&tool),
        tier: Fact::Is(PolicyTier::Script),
        effect: Fact::Is(Effect::Other),
        network: Fact::Is(NetworkUse::None),
        workspace: Fact::Is(WorkspaceFact { resolved: &folder, identity: "8:1:42 /srv" }),
        arguments: Fact::Is(ArgumentFacts { value: &arguments, paths: &paths }),
        timeout: Fact::Is(Duration::from_mins(1)),
        output_bytes: Fact::Is(1 << 20),
    };
    let (trusted, unknown) = (facts("63"), facts("another"));
    assert_eq!(policy.decide(&trusted, scopes).outcome, Outcome::Allow);
    assert_eq!(policy.decide(&unknown, scopes).outcome, Outcome::Ask);
    report("deciding by the last of 64 scopes (aim: 50 µs)", 5000, || {
        let _ = black_box(policy.decide(black_box(&trusted), black_box(scopes)));
    });
    report("deciding to ask after 1,000 rules and 64 scopes (aim: 50 µs)", 5000, || {
        let _ = black_box(policy.decide(black_box(&unknown), black_box(scopes)));
    });
}

fn report(what: &str, times: usize, mut act: impl FnMut()) {
    let mut taken: Vec<_> = (0..times)
        .map(|_| {
            let start = Instant::now();
            act();
            start.elapsed()
        })
        .collect();
    taken.sort();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("{what}: minimum {:.1} µs, median {:.1} µs", micros(taken[0]), micros(taken[times / 2]));
}
