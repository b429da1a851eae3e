use std::collections::BTreeMap;

use super::*;
use crate::path::RelPath;

/// Owned values of every part, so that a test can change one.
struct Sample {
    agent: AgentLabel,
    run: RunId,
    tool: ToolName,
    workspace: Option<WorkspaceIdentity>,
    revision: Option<VerifiedRevision>,
    overlay: Option<Sha256>,
    invocation: Vec<u8>,
    validator_version: u32,
    interpreter: Option<InterpreterIdentity>,
    profile: Vec<u8>,
    policy: Sha256,
}

fn revision(bytes: &[u8]) -> VerifiedRevision {
    VerifiedRevision::of(&BTreeMap::from([(RelPath::parse("SKILL.md").unwrap(), bytes)]))
}

fn interpreter(path: &str, version: Option<&str>, bytes: &[u8]) -> InterpreterIdentity {
    InterpreterIdentity::of_hashed_file(path, version, Sha256::of(bytes))
}

fn sample() -> Sample {
    Sample {
        agent: AgentLabel::parse("cli").unwrap(),
        run: RunId::from_random([7; 16]),
        tool: ToolName::parse("run_word-count_count").unwrap(),
        workspace: Some(WorkspaceIdentity::of_open_directory(64, 1042, "/home/user/papers")),
        revision: Some(revision(b"x")),
        overlay: Some(Sha256::of(b"overlay")),
        invocation: br#"{"file":"a.txt"}"#.to_vec(),
        validator_version: 1,
        interpreter: Some(interpreter("/usr/bin/python3.13", Some("3.13.5"), b"python")),
        profile: b"profile".to_vec(),
        policy: Sha256::of(b"policy"),
    }
}

impl Sample {
    fn binding(&self) -> Binding {
        Binding::of(&BindingParts {
            agent: &self.agent,
            run: self.run,
            tool: &self.tool,
            workspace: self.workspace.as_ref(),
            revision: self.revision,
            overlay: self.overlay,
            invocation: &self.invocation,
            validator_version: self.validator_version,
            interpreter: self.interpreter.as_ref(),
            profile: &self.profile,
            policy: self.policy,
        })
    }
}

/// Each change makes another binding than the sample's, and than each other's.
fn assert_bound(changes: &[fn(&mut Sample)]) {
    let mut seen = std::collections::BTreeSet::from([sample().binding()]);
    for (index, change) in changes.iter().enumerate() {
        let mut other = sample();
        change(&mut other);
        assert!(seen.insert(other.binding()), "change {index}");
    }
}

// The framing is a promise: this value was computed by an independent program (docs/decisions/0004).
#[test]
fn framing_is_version_1() {
    assert_eq!(
        sample().binding().to_string(),
        "dc2aa16bfbfeb5a17d8095243480ee66f87721717f9d6ba9e0bbc526ede7bcc1"
    );
}

#[test]
fn equal_parts_make_one_binding() {
    assert_eq!(sample().binding(), sample().binding());
}

// CHK-006, CHK-007
#[test]
fn the_agent_is_bound() {
    assert_bound(&[|sample| sample.agent = AgentLabel::parse("cli2").unwrap()]);
}

// CHK-006, CHK-007, CHK-017: another instance of the same run has another id.
#[test]
fn the_run_is_bound() {
    assert_bound(&[|sample| sample.run = RunId::from_random([8; 16])]);
}

// CHK-007
#[test]
fn the_tool_is_bound() {
    assert_bound(&[|sample| sample.tool = ToolName::parse("run_word-count_counts").unwrap()]);
}

// CHK-006, CHK-007, CHK-023: a folder is more than its path.
#[test]
fn the_workspace_is_bound() {
    assert_bound(&[
        |sample| sample.workspace = None,
        |sample| sample.workspace = Some(WorkspaceIdentity::of_open_directory(65, 1042, "/home/user/papers")),
        |sample| sample.workspace = Some(WorkspaceIdentity::of_open_directory(64, 1043, "/home/user/papers")),
        |sample| sample.workspace = Some(WorkspaceIdentity::of_open_directory(64, 1042, "/home/user/paper")),
    ]);
}

// CHK-006, CHK-007
#[test]
fn the_revision_is_bound() {
    assert_bound(&[|sample| sample.revision = None, |sample| sample.revision = Some(revision(b"y"))]);
}

// CHK-007
#[test]
fn the_overlay_is_bound() {
    assert_bound(&[|sample| sample.overlay = None, |sample| sample.overlay = Some(Sha256::of(b"other"))]);
}

// CHK-006, CHK-007: every byte, also where the value would be the same.
#[test]
fn the_invocation_is_bound() {
    assert_bound(&[
        |sample| sample.invocation = br#"{"file":"b.txt"}"#.to_vec(),
        |sample| sample.invocation = br#"{"file": "a.txt"}"#.to_vec(),
        |sample| sample.invocation = Vec::new(),
    ]);
}

// CHK-007, CHK-130
#[test]
fn the_validator_is_bound() {
    assert_bound(&[|sample| sample.validator_version = 2]);
}

// CHK-006, CHK-007
#[test]
fn the_interpreter_is_bound() {
    assert_bound(&[
        |sample| sample.interpreter = None,
        |sample| sample.interpreter = Some(interpreter("/usr/bin/python3", Some("3.13.5"), b"python")),
        |sample| sample.interpreter = Some(interpreter("/usr/bin/python3.13", Some("3.13.6"), b"python")),
        |sample| sample.interpreter = Some(interpreter("/usr/bin/python3.13", Some(""), b"python")),
        |sample| sample.interpreter = Some(interpreter("/usr/bin/python3.13", None, b"python")),
        |sample| sample.interpreter = Some(interpreter("/usr/bin/python3.13", Some("3.13.5"), b"pythom")),
    ]);
}

// CHK-006, CHK-007: execution limits and output limits are in the profile, and so is the environment.
#[test]
fn the_profile_is_bound() {
    assert_bound(&[|sample| sample.profile = b"profilf".to_vec(), |sample| sample.profile = Vec::new()]);
}

// CHK-007
#[test]
fn the_policy_is_bound() {
    assert_bound(&[|sample| sample.policy = Sha256::of(b"other")]);
}

#[test]
fn bytes_cannot_move_between_parts() {
    assert_bound(&[
        |sample| {
            sample.agent = AgentLabel::parse("clirun").unwrap();
            sample.tool = ToolName::parse("_word-count_count").unwrap();
        },
        |sample| {
            sample.invocation = br#"{"file":"a.txt"}profile"#.to_vec();
            sample.profile = Vec::new();
        },
        |sample| {
            sample.workspace = None;
            sample.revision = None;
        },
        |sample| {
            sample.revision = None;
            sample.overlay = None;
        },
        |sample| {
            sample.workspace = None;
            sample.overlay = None;
        },
        |sample| sample.overlay = sample.revision.map(|revision| *revision.revision().sha256()),
    ]);
}

// CHK-025
#[test]
fn a_binding_keeps_a_digest_and_nothing_else() {
    assert_eq!(size_of::<Binding>(), 32);
    let text = sample().binding().to_string();
    assert_eq!(serde_json::to_string(&sample().binding()).unwrap(), format!("\"{text}\""));
    assert_eq!(text.len(), 64);
}
