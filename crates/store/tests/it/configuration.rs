//! `docs/configuration.md` says what the code does.

use std::path::Path;

use fumehood_core::Envelope;
use fumehood_core::containment::Level;
use fumehood_core::envelope::{BOUNDS, EnvelopeParts, Rule};
use fumehood_store::{Settings, Surroundings, overlays_to_toml};
use fumehood_testkit::Scratch;

use crate::child::home;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    std::fs::read_to_string(path).unwrap()
}

fn example() -> String {
    let page = page();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, rest) = rest.split_once("```\n").unwrap();
    assert!(!rest.contains("```"), "there is one example");
    example.to_owned()
}

fn read(text: &str) -> Result<Settings, String> {
    let scratch = Scratch::new();
    scratch.file("config/fumehood.toml", text);
    scratch.mode("config/fumehood.toml", 0o600);
    scratch.mode("config", 0o700);
    // A home of its own, so that no link of this machine is on the way.
    let surroundings = Surroundings { home: Some(scratch.at("home")), ..Surroundings::default() };
    Settings::read(&home(&scratch), &surroundings).map_err(|error| error.message)
}

// EXE-38: every key is in the example, and none has the value that it has without.
#[test]
fn the_example_is_read_and_says_something_about_everything() {
    let Settings {
        sources,
        envelope,
        interpreters,
        environment,
        approve_by_revision_flag,
        passphrase,
        fail_on_nonzero_exit,
        execute_checked,
        safety,
        artifact_store_bytes_max,
        unlocked,
        overlays,
    } = read(&example()).unwrap();
    let default = Settings::default();
    assert_eq!((sources.len(), interpreters.len(), unlocked.len(), overlays.len()), (1, 2, 1, 1));
    assert_ne!(environment, default.environment);
    assert_ne!(approve_by_revision_flag, default.approve_by_revision_flag);
    assert_ne!(passphrase, default.passphrase);
    assert_ne!(fail_on_nonzero_exit, default.fail_on_nonzero_exit);
    assert_ne!((execute_checked, safety), (default.execute_checked, default.safety));
    assert_ne!(execute_checked, default.execute_checked);
    assert_ne!(artifact_store_bytes_max, default.artifact_store_bytes_max);
    let (said, person) = (envelope.parts(), Envelope::of_a_person());
    let each = |parts: &EnvelopeParts| numbers(parts);
    for ((key, said), (_, default)) in each(said).into_iter().zip(each(person.parts())) {
        assert_ne!(said, default, "{key}");
    }
    for roots in [&said.read_roots, &said.write_roots, &said.interpreter_read_paths] {
        assert!(roots.listed().is_some_and(|roots| !roots.is_empty()));
    }
    assert_eq!(said.level_floor, Level::Namespaces);
    let tools: Vec<_> = overlays[0].tools().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (tools.as_slice(), overlays[0].parts().fail_on_nonzero_exit),
        (&["csv_summary"][..], Some(true))
    );
    // What a program would write in its place reads the same.
    assert_eq!(read(&overlays_to_toml(&overlays).unwrap()).unwrap().overlays, overlays);
}

/// The numbers of an envelope, in the order of [`BOUNDS`].
fn numbers(parts: &EnvelopeParts) -> Vec<(&'static str, Option<u64>)> {
    let limits = parts.limits;
    let values = [
        Some(parts.timeout_seconds_default),
        Some(parts.timeout_seconds_max),
        Some(parts.output_bytes_max),
        Some(limits.memory_bytes_per_process),
        Some(limits.processes),
        Some(limits.cpu_seconds),
        Some(limits.file_bytes),
        Some(limits.open_files),
        Some(limits.temporary_bytes),
        Some(limits.temporary_files),
        parts.memory_bytes_total,
    ];
    BOUNDS.iter().map(|bound| bound.key).zip(values).collect()
}

// X-06
#[test]
fn every_number_on_the_page_is_the_one_that_holds() {
    let page = page();
    let person = Envelope::of_a_person();
    for (bound, (key, default)) in BOUNDS.into_iter().zip(numbers(person.parts())) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
        let default = default.map_or("none".to_owned(), |default| default.to_string());
        let end = format!("| {default} | {} | {} |", bound.min, bound.max);
        assert!(row.ends_with(&end), "{row}\n{end}");
    }
    for rule in Rule::ALL {
        let key = rule.as_str().strip_prefix("envelope.").unwrap();
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    let store = Settings::default().artifact_store_bytes_max;
    assert!(page.contains(&format!("are refused | {store} |")));
    for (name, value) in Settings::default().environment.iter() {
        assert!(page.contains(&format!("{name}={value}")), "{name}");
    }
}

// X-22: whatever key is misspelt, nothing of the file is used.
#[test]
fn each_key_of_the_example_misspelt_is_refused() {
    let example = example();
    let mut keys = 0;
    for (number, line) in example.lines().enumerate() {
        let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| !key.contains(['{', ' '])) else {
            continue;
        };
        // The names of variables are the deployer's own.
        if ["TZ", "LANG"].contains(&key) {
            continue;
        }
        let lines = example.lines().enumerate();
        let changed = lines.map(|(other, line)| match line.strip_prefix(key).filter(|_| other == number) {
            Some(rest) => format!("{key}s{rest}\n"),
            None => format!("{line}\n"),
        });
        let error = read(&changed.collect::<String>()).unwrap_err();
        assert!(error.contains(key), "{key}: {error}");
        keys += 1;
    }
    assert!(keys > 25, "{keys}");
}
