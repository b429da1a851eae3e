//! The promises of the floor plan that the compiler does not keep by itself, checked over manifests and sources.
//!
//! Each rule takes text, so that a planted breach shows that it bites; see the tests at the end.

use std::fs;
use std::path::Path;

use crate::repository;
use crate::rust_text::{self, Named};

/// A package may depend on packages of lower floors only.
const FLOORS: &[(&str, u8)] = &[
    ("fumehood-core", 0),
    ("fumehood-sandbox", 0),
    ("fumehood-store", 1),
    ("fumehood-gate", 1),
    ("fumehood-isolate", 1),
    ("fumehood-runners", 2),
    ("fumehood", 3),
    (TESTKIT, u8::MAX),
];

/// On no floor: tests of any crate may use it, and it may use any crate.
const TESTKIT: &str = "fumehood-testkit";

const PRODUCTION_LINES_MAX: usize = 400;

/// The only places for `unsafe`: files, and folders with a slash at the end.
const UNSAFE_HOMES: &[&str] =
    &["crates/sandbox/src/sys.rs", "crates/sandbox/src/sys/", "crates/isolate/src/engine/raw.rs"];

/// Crates that hold such a place: they deny `unsafe_code` and allow it there. All others forbid it.
const UNSAFE_CRATES: &[&str] = &["crates/sandbox/", "crates/isolate/"];

/// Parts of `std` that do I/O, or read what should be an argument.
const IMPURE: &[&str] = &["env", "fs", "net", "os", "process", "thread", "time"];

/// Rooms that may touch files of the host. The attacks that prove the sandbox touch what they attack.
const FILE_ROOMS: &[&str] = &["crates/store/", "crates/testkit/", "crates/sandbox/src/prove/"];

/// Constructors that only vouch for what their caller saw on disk, and the rooms that may call them. Core cannot look, so
/// it cannot keep them to itself.
const MINTS: &[(&str, &[&str])] = &[
    ("of_open_directory", &["crates/store/"]),
    ("of_hashed_file", &["crates/store/"]),
    ("of_record", &["crates/store/"]),
];

const FACES: &[&str] = &["cli", "mcp", "web"];

/// What a face may name of the crate it belongs to, beside itself: the host, the answers it gives, and how it fails.
const FACES_MAY_USE: &[&str] = &["host", "Host", "HostOptions", "report", "fault", "Fault"];

#[test]
fn floors_look_down_only() {
    let root = repository();
    let workspace: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let mut breaches = Vec::new();
    let mut crates = 0;
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let entry = entry.unwrap();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        breaches.extend(check_manifest(&entry.file_name().to_string_lossy(), &manifest, &workspace));
        crates += 1;
    }
    assert!(crates >= 4, "only {crates} crates were seen");
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[test]
fn sources_keep_the_rules() {
    let root = repository();
    let mut sources = Vec::new();
    collect_sources(&root.join("crates"), &root, &mut sources);
    for seen in ["crates/core/src/lib.rs", "crates/testkit/tests/it/floors.rs"] {
        assert!(sources.iter().any(|(path, _)| path == seen), "{seen} was not looked at");
    }
    let breaches: Vec<String> = sources.iter().flat_map(|(path, text)| check_source(path, text)).collect();
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

// Clippy reads only the nearest list, so what is kept from every crate must stand in core's own as well.
#[test]
fn the_list_of_core_holds_the_common_one() {
    for key in ["disallowed-methods", "disallowed-types"] {
        let [common, own] = ["clippy.toml", "crates/core/clippy.toml"].map(|file| {
            let list: toml::Table = fs::read_to_string(repository().join(file)).unwrap().parse().unwrap();
            let entries = list[key].as_array().unwrap().iter();
            entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        let missing: Vec<_> = common.iter().filter(|path| !own.contains(path)).collect();
        assert!(common.len() > 2 && missing.is_empty(), "{key}: core may use {missing:?}");
    }
}

/// Every Rust file below a folder: its path in the repository, and its text.
pub(crate) fn collect_sources(folder: &Path, root: &Path, sources: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_sources(&path, root, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            sources.push((relative, fs::read_to_string(&path).unwrap()));
        }
    }
}

// Manifests.

fn check_manifest(folder: &str, manifest: &str, workspace: &toml::Table) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let own = manifest["package"]["name"].as_str().unwrap();
    let expected = if folder == "fumehood" { folder.to_owned() } else { format!("fumehood-{folder}") };
    let Some(own_floor) = floor(own).filter(|_| own == expected) else {
        return vec![format!("crates/{folder}: a package called {own} has no floor here")];
    };
    let mut breaches = Vec::new();
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for package in packages(&manifest, kind, workspace) {
            if package == TESTKIT {
                if kind != "dev-dependencies" {
                    breaches.push(format!("crates/{folder}: {package} in {kind}, but it is for tests only"));
                }
            } else if let Some(floor) = floor(&package) {
                if floor >= own_floor {
                    breaches.push(format!("crates/{folder}: {package} in {kind} is not on a lower floor"));
                }
            } else if package.starts_with("fumehood") {
                breaches.push(format!("crates/{folder}: {package} in {kind} has no floor"));
            }
        }
    }
    breaches
}

fn floor(package: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == package).map(|(_, floor)| *floor)
}

/// The packages of one kind of dependency, under their real names, those for single targets included.
fn packages(manifest: &toml::Table, kind: &str, workspace: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(|target| target.get(kind));
    tables
        .chain(manifest.get(kind))
        .filter_map(toml::Value::as_table)
        .flatten()
        .map(|(name, spec)| {
            let inherited = workspace
                .get("workspace")
                .and_then(|table| table.get("dependencies"))
                .and_then(|table| table.get(name))
                .filter(|_| spec.get("workspace").is_some());
            let real = inherited.unwrap_or(spec).get("package").and_then(toml::Value::as_str);
            real.unwrap_or(name).to_owned()
        })
        .collect()
}

// Sources.

fn check_source(path: &str, text: &str) -> Vec<String> {
    let (production, mut breaches) = production(path, text);
    let words = rust_text::words(production);
    let named = rust_text::paths(&words);

    let lines = production.lines().count();
    if lines > PRODUCTION_LINES_MAX && !has_length_reason(text) {
        breaches.push(format!("{path}: {lines} production lines, and line 1 gives no `(long: reason)`"));
    }
    if let Some(pair) = words.windows(2).find(|pair| pair[0].text == "mod" && pair[1].text == "tests") {
        breaches.push(format!("{path}:{}: `mod tests` not directly behind `#[cfg(test)]`", pair[0].line));
    }
    if !UNSAFE_HOMES.iter().any(|home| path == *home || (home.ends_with('/') && path.starts_with(home))) {
        let all = rust_text::words(text);
        let found = all.iter().filter(|word| word.text == "unsafe");
        breaches.extend(found.map(|word| format!("{path}:{}: unsafe outside its places", word.line)));
    }
    breaches.extend(check_root(path, text));
    if path.starts_with("crates/core/") {
        let found = named.iter().filter(|named| uses_std(named, IMPURE));
        breaches
            .extend(found.map(|named| breach(path, named, "core has no I/O, and takes these as arguments")));
    }
    if !FILE_ROOMS.iter().any(|room| path.starts_with(room)) {
        let found = named.iter().filter(|named| uses_std(named, &["fs"]) || uses_os_files(named));
        breaches.extend(found.map(|named| breach(path, named, "only the store touches host files")));
    }
    breaches.extend(check_mints(path, &named));
    breaches.extend(check_face(path, &named));
    breaches
}

fn check_mints(path: &str, named: &[Named]) -> Vec<String> {
    let is_minted = |named: &&Named| {
        let last = named.segments.last().map_or("", String::as_str);
        let rooms = MINTS.iter().find(|(constructor, _)| named.segments.len() > 1 && *constructor == last);
        rooms.is_some_and(|(_, rooms)| !rooms.iter().any(|room| path.starts_with(room)))
    };
    let found = named.iter().filter(is_minted);
    found.map(|named| breach(path, named, "only code that saw the file may vouch for it")).collect()
}

fn breach(path: &str, named: &Named, why: &str) -> String {
    format!("{path}:{}: {}: {why}", named.line, named.segments.join("::"))
}

/// The part of a file that is compiled outside tests: all before the `#[cfg(test)] mod tests` that ends it.
///
/// Code after the tests is a breach, because no rule would look at it.
pub(crate) fn production<'a>(path: &str, text: &'a str) -> (&'a str, Vec<String>) {
    let is_test_folder = path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"));
    if is_test_folder {
        return ("", Vec::new());
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let after = &text[start + line.len()..];
        let item = after.lines().find(|next| !next.starts_with("#[")).unwrap_or_default();
        if line.trim_end() == "#[cfg(test)]" && item.starts_with("mod tests") {
            let last = if item.ends_with(';') { item } else { "}" };
            let rest = after.lines().skip_while(|next| *next != last).skip(1);
            let breaches = match rest.filter(|next| !next.trim().is_empty()).count() {
                0 => Vec::new(),
                _ => vec![format!("{path}: code after the tests")],
            };
            return (&text[..start], breaches);
        }
        start += line.len();
    }
    (text, Vec::new())
}

/// Line 1 of a file above the length limit says why: `//! What it is. (long: the reason)`.
fn has_length_reason(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let reason =
        first.strip_prefix("//! ").and_then(|line| line.split_once("(long: ")).map(|(_, reason)| reason);
    reason.and_then(|reason| reason.strip_suffix(')')).is_some_and(|reason| reason.trim().len() > 8)
}

/// The attributes that each crate root must have.
fn check_root(path: &str, text: &str) -> Vec<String> {
    let is_library = path.ends_with("/src/lib.rs");
    if !is_library && !path.ends_with("/src/main.rs") {
        return Vec::new();
    }
    let has = |attribute: &str| text.lines().any(|line| line == attribute);
    let may_deny = UNSAFE_CRATES.iter().any(|home| path.starts_with(home));
    let mut breaches = Vec::new();
    let refuses_unsafe = has("#![forbid(unsafe_code)]") || (may_deny && has("#![deny(unsafe_code)]"));
    if !refuses_unsafe {
        breaches.push(format!("{path}: no #![forbid(unsafe_code)]"));
    }
    if is_library && !has("#![deny(missing_docs)]") {
        breaches.push(format!("{path}: no #![deny(missing_docs)]"));
    }
    breaches
}

/// Whether a path names one of these modules of `std`, or all of `std` under a name that hides them.
fn uses_std(named: &Named, modules: &[&str]) -> bool {
    let second = named.segments.get(1).map(String::as_str);
    named.is(0, "std")
        && second.is_none_or(|module| modules.contains(&module) || matches!(module, "self" | "*"))
}

/// `std::os::unix::fs` makes links and changes owners.
fn uses_os_files(named: &Named) -> bool {
    named.is(0, "std") && named.is(1, "os") && named.segments.iter().any(|segment| segment == "fs")
}

/// A face talks to the host of its crate, to itself, and in the words of core.
fn check_face(path: &str, named: &[Named]) -> Vec<String> {
    let Some(inside) = path.strip_prefix("crates/fumehood/src/") else { return Vec::new() };
    let Some(face) = FACES.iter().find(|face| inside.split(['/', '.']).next() == Some(face)) else {
        return Vec::new();
    };
    let depth = inside.trim_end_matches("/mod.rs").matches('/').count();
    let reaches_out = |named: &&Named| {
        let first = named.segments[0].as_str();
        let room = first.starts_with("fumehood_") && first != "fumehood_core";
        let of_crate = |segment: &String| segment == face || FACES_MAY_USE.contains(&segment.as_str());
        let crate_path =
            matches!(first, "crate" | "fumehood") && named.segments.get(1).is_some_and(|s| !of_crate(s));
        let climbs = named.segments.iter().take_while(|segment| *segment == "super").count() > depth;
        room || crate_path || climbs
    };
    let found = named.iter().filter(reaches_out);
    found.map(|named| breach(path, named, "faces talk to Host only")).collect()
}

// Each rule must bite.

#[test]
fn a_planted_dependency_is_found() {
    let workspace: toml::Table =
        "[workspace.dependencies]\nhidden = { path = 'x', package = 'fumehood-gate' }".parse().unwrap();
    let cases = [
        ("core", "[dependencies]\nfumehood-sandbox = { path = '../sandbox' }", "not on a lower floor"),
        ("core", "[dev-dependencies]\nfumehood-store.workspace = true", "not on a lower floor"),
        ("store", "[dependencies]\nhidden.workspace = true", "fumehood-gate in dependencies"),
        (
            "store",
            "[dependencies]\nx = { package = 'fumehood', path = '../fumehood' }",
            "not on a lower floor",
        ),
        ("store", "[target.'cfg(unix)'.dependencies]\nfumehood-runners = '1'", "not on a lower floor"),
        ("store", "[dependencies]\nfumehood-testkit.workspace = true", "for tests only"),
        ("store", "[build-dependencies]\nfumehood-testkit.workspace = true", "for tests only"),
        ("gate", "[dependencies]\nfumehood-extra = '1'", "has no floor"),
        ("extra", "", "has no floor"),
    ];
    for (folder, dependencies, expected) in cases {
        let manifest = format!("[package]\nname = 'fumehood-{folder}'\n{dependencies}");
        let breaches = check_manifest(folder, &manifest, &workspace);
        assert!(breaches.len() == 1 && breaches[0].contains(expected), "{manifest}\n{breaches:?}");
    }
    let allowed = "[package]\nname = 'fumehood-runners'\n[dependencies]\nhidden.workspace = true\nfumehood-core = '1'\n\
                   serde = '1'\n[dev-dependencies]\nfumehood-testkit.workspace = true";
    assert_eq!(check_manifest("runners", allowed, &workspace), Vec::<String>::new());
}

#[test]
fn a_planted_breach_is_found() {
    let long = format!("//! Long. (long: )\n{}", "use a;\n".repeat(PRODUCTION_LINES_MAX));
    let cases = [
        ("crates/gate/src/x.rs", long.as_str(), "401 production lines"),
        ("crates/gate/src/x.rs", "mod tests {\n}\n", "not directly behind"),
        ("crates/gate/src/x.rs", "#[cfg(test)]\nmod tests {\n}\nfn f() {}\n", "code after the tests"),
        ("crates/gate/src/x.rs", "#[cfg(test)]\n#[a]\nmod tests;\nfn f() {}\n", "code after the tests"),
        ("crates/gate/src/x.rs", "fn f() { unsafe { g() } }", "unsafe outside"),
        ("crates/gate/tests/it/x.rs", "unsafe fn f() {}", "unsafe outside"),
        ("crates/sandbox/src/system.rs", "unsafe fn f() {}", "unsafe outside"),
        (
            "crates/gate/src/lib.rs",
            "#![deny(missing_docs)]\n#![deny(unsafe_code)]\n",
            "no #![forbid(unsafe_code)]",
        ),
        (
            "crates/sandbox/src/lib.rs",
            "#![deny(unsafe_code)]\n// #![deny(missing_docs)]\n",
            "no #![deny(missing_docs)]",
        ),
        ("crates/fumehood/src/main.rs", "fn main() {}", "no #![forbid(unsafe_code)]"),
        ("crates/core/src/x.rs", "use std::{fmt, time::Instant};", "std::time::Instant: core has no I/O"),
        ("crates/core/src/x.rs", "use std as s;", "std: core has no I/O"),
        (
            "crates/core/src/x.rs",
            "fn f() { ::std::env::args(); }\n#[cfg(test)]\nmod tests;\n",
            "std::env::args: core",
        ),
        ("crates/gate/src/x.rs", "#[cfg(test)]\nuse a;\nfn f() { std::fs::read(\"x\"); }", "only the store"),
        ("crates/gate/src/x.rs", "use std::os::unix::{fs as files};", "only the store"),
        ("crates/gate/build.rs", "use std::*;", "only the store"),
        (
            "crates/gate/src/x.rs",
            "fn f() { fumehood_core::WorkspaceIdentity::of_open_directory(1, 2, \"/\") }",
            "may vouch",
        ),
        ("crates/core/src/x.rs", "let f = InterpreterIdentity::of_hashed_file;", "may vouch"),
        ("crates/fumehood/src/cli.rs", "use fumehood_store::Catalog;", "faces talk to Host only"),
        ("crates/fumehood/src/cli/show.rs", "fn f() { crate::config::load() }", "faces talk to Host only"),
        ("crates/fumehood/src/mcp/x.rs", "use crate::{host, cli::Table};", "crate::cli::Table: faces"),
        ("crates/fumehood/src/cli/x.rs", "use super::super::config;", "faces talk to Host only"),
        ("crates/fumehood/src/web/mod.rs", "use super::config;", "faces talk to Host only"),
    ];
    for (path, text, expected) in cases {
        let breaches: Vec<_> =
            check_source(path, text).into_iter().filter(|found| found.contains(expected)).collect();
        assert_eq!(breaches.len(), 1, "{path}: {text}\n{:?}", check_source(path, text));
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    let long = format!("//! Long. (long: one table)\n{}", "use a;\n".repeat(PRODUCTION_LINES_MAX));
    let long_tests =
        format!("use a;\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    use a;\n".repeat(PRODUCTION_LINES_MAX));
    let cases = [
        ("crates/gate/src/x.rs", long.as_str()),
        ("crates/gate/src/x.rs", long_tests.as_str()),
        ("crates/gate/src/x/tests.rs", long_tests.as_str()),
        ("crates/gate/src/x.rs", "// unsafe std::fs\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
        ("crates/sandbox/src/sys/clone.rs", "unsafe fn f() {}"),
        ("crates/sandbox/src/lib.rs", "#![deny(unsafe_code)]\n#![deny(missing_docs)]\n"),
        (
            "crates/core/src/x.rs",
            "use std::{fmt, collections::BTreeMap}; use core::time::Duration; env!(\"X\");",
        ),
        ("crates/store/src/x.rs", "use std::fs;"),
        ("crates/store/src/x.rs", "let identity = WorkspaceIdentity::of_open_directory(1, 2, path);"),
        ("crates/core/src/binding.rs", "impl W { pub fn of_open_directory() -> Self { W } }"),
        ("crates/gate/tests/it/x.rs", "use std::fs;"),
        (
            "crates/fumehood/src/cli.rs",
            "use fumehood_core::Shown; use crate::host::Host; use crate::{Host, cli::out};",
        ),
        ("crates/fumehood/src/cli/x.rs", "pub(crate) use super::table; use self::y;"),
        ("crates/fumehood/src/host.rs", "use fumehood_store::Catalog; use crate::config;"),
    ];
    for (path, text) in cases {
        assert_eq!(check_source(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
