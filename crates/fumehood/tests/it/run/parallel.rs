//! Several runs at once.

use std::collections::BTreeSet;

use serde_json::json;

use super::{approved, assert_clean, flagged, scripted};
use crate::text;

// Each has files, results and rows of its own, in one state folder that all begin with empty.
#[test]
fn runs_at_once_do_not_disturb_each_other() {
    const RUNS: usize = 6;
    let params = json!([
        {"name": "who", "type": "string"}, {"name": "file", "type": "path", "access": "create"},
    ]);
    let script = "echo \"$1\" >/tmp/own; echo \"$1\" >\"$2\"; cat /tmp/own; ls /tmp /skill\n";
    let world = flagged(&scripted(&params, script));
    world.folder("out");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let run = |n: usize| {
            let (who, file) = (format!("who=w{n}"), format!("file=out/f{n}"));
            let arguments = approved(&world, &["go", "--param", &who, "--param", &file, "--format", "json"]);
            let world = &world;
            scope.spawn(move || world.run(arguments))
        };
        let handles: Vec<_> = (0..RUNS).map(run).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let mut artifacts = BTreeSet::new();
    for (n, answer) in answers.iter().enumerate() {
        let report = crate::schemas::assert_valid("run", &answer.stdout);
        let expected = format!("w{n}\n/skill:\nSKILL.md\nfumehood.json\ngo.sh\n\n/tmp:\nown\n");
        assert_eq!((answer.code, text(&report["output"]["text"])), (Some(0), expected.as_str()));
        assert_eq!(world.read(&format!("out/f{n}")), format!("w{n}\n").into_bytes());
        artifacts.insert(text(&report["output"]["artifact"]).to_owned());
    }
    assert_eq!(artifacts.len(), RUNS);
    let runs = world.json(["runs"]);
    let runs = runs["runs"].as_array().unwrap();
    assert!(runs.len() == RUNS && runs.iter().all(|run| run["outcome"] == "succeeded"), "{runs:?}");
    assert_clean(&world);
}
