//! How long reading takes: `list` and `check` of many skills, and capture of one large bundle.
//!
//! Makes its own trees below the target folder, once, and prints medians. `scripts/bench-read` measures the program itself
//! on the same trees, beside `sha256sum` and the reference validator. Nothing here passes or fails.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes the files that it reads")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot make its files has nothing to say")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fumehood::{Host, HostOptions};
use fumehood_core::Sha256;
use fumehood_store::{DiskFolder, Folder as _};

fn main() {
    let trees = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    for skills in SKILLS {
        let tree = once(&trees.join(format!("skills-{skills}")), |tree| make_skills(tree, skills));
        let host = Host::new(HostOptions::isolated(tree.clone()));
        let roots = [tree];
        let list = median(RUNS, || host.list(&roots, &mut |_| {}).unwrap().skills.len());
        let check = median(RUNS, || host.check(&roots, &mut |_| {}).unwrap().skills.len());
        println!(
            "{skills:>6} skills: list {:6.1} µs per skill, check {:6.1} µs per skill",
            micros(list, skills),
            micros(check, skills)
        );
    }
    let bundle = once(&trees.join("bundle"), make_bundle);
    let [mut captures, mut plain] = [Vec::new(), Vec::new()];
    for _ in 0..CAPTURES {
        captures.push(timed(|| DiskFolder::open(&bundle).unwrap().capture().unwrap().revision()));
        plain.push(timed(|| read_and_hash(&bundle)));
    }
    println!(
        "{BUNDLE_FILES} files, 4 MiB: capture {:.2} ms; reading and hashing them once {:.2} ms",
        micros(middle(captures), 1000),
        micros(middle(plain), 1000)
    );
}

/// Makes a tree unless it is there whole: it gets its name last.
fn once(path: &Path, make: impl FnOnce(&Path)) -> PathBuf {
    if !path.is_dir() {
        let unfinished = path.with_extension("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        fs::create_dir_all(&unfinished).unwrap();
        make(&unfinished);
        fs::rename(&unfinished, path).unwrap();
    }
    path.to_path_buf()
}

fn make_skills(tree: &Path, skills: usize) {
    for number in 0..skills {
        let name = format!("sample-skill-{number:05}");
        let folder = tree.join(&name);
        write(&folder, "SKILL.md", &skill_md(&name));
        write(
            &folder,
            "scripts/run.py",
            "#!/usr/bin/env python3\nimport json, sys\nprint(json.dumps({'argv': sys.argv[1:]}))\n",
        );
        write(&folder, "references/notes.md", &BODY_LINE.repeat(12));
    }
}

/// About 600 bytes of frontmatter and 3 KiB of body.
fn skill_md(name: &str) -> String {
    let mut text = format!(
        "---\nname: {name}\ndescription: >-\n  Reads monthly sales reports in CSV, checks them for missing rows and odd totals, and writes a short summary\n  \
         with one table per region. Use when the user asks for a sales summary, a comparison of regions or months, or\n  \
         why a total changed, even if they do not name a file.\nlicense: Apache-2.0\ncompatibility: \"Needs Python 3.10 \
         or later; no network\"\nmetadata:\n  author: example-org\n  version: \"1.4.2\"\n  category: reporting\nallowed-tools: \
         Read Grep Bash(python3:*)\n---\n\n# Sales summary\n\n"
    );
    while text.len() < 3700 {
        let _ = write!(text, "- {BODY_LINE}");
    }
    text
}

fn make_bundle(folder: &Path) {
    let bytes_each = (4 << 20) / BUNDLE_FILES;
    write(folder, "SKILL.md", &skill_md("bundle").repeat(1 + bytes_each / 3700)[..bytes_each]);
    // Numbers that are cheap to make and compress to nothing useful.
    let mut state = 1_u32;
    for number in 1..BUNDLE_FILES {
        let mut text = String::with_capacity(bytes_each + 16);
        while text.len() < bytes_each {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = writeln!(text, "{state:08x}");
        }
        text.truncate(bytes_each);
        write(folder, &format!("data/part-{:02}/numbers-{number:02}.txt", number % 4), &text);
    }
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The least that any capture must do, for comparison.
fn read_and_hash(folder: &Path) -> Vec<Sha256> {
    let mut digests = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            digests.extend(read_and_hash(&path));
        } else {
            digests.push(Sha256::of(&fs::read(path).unwrap()));
        }
    }
    digests
}

fn median<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    middle((0..runs).map(|_| timed(&mut run)).collect())
}

fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
fn micros(time: Duration, parts: usize) -> f64 {
    time.as_secs_f64() * 1e6 / parts as f64
}

const SKILLS: [usize; 4] = [1_000, 2_500, 5_000, 10_000];
const RUNS: usize = 5;
const CAPTURES: usize = 101;
const BUNDLE_FILES: usize = 64;
const BODY_LINE: &str = "Read the whole file before answering, and name the row that a number comes from.\n";
