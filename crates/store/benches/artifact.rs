//! What it takes to keep and read an artifact of 1 GiB, and to add rows to the journal.
//!
//! Makes its content below the target folder, once, and prints minimums and medians; searches take turns with ripgrep, if
//! it is there. The page cache is warm. Nothing here passes or fails.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot make its files has nothing to say")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use fumehood_store::{
    Artifact, Artifacts, Asker, Bounds, Case, Flush, Grep, Home, Journal, Pattern, PruneRule,
};

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join("artifact");
    let _ = fs::remove_dir_all(&folder);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let home = Home { config: folder.join("config"), state: folder.join("state") };
    journal(&home);
    let artifacts = Artifacts::open(&home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
    small(&home, &artifacts);
    let artifact = write(&folder, &artifacts);
    let content = folder.join(format!("state/artifacts/kept/{}/content", artifact.info().id));
    // From here on the peak is that of reading.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    read(&artifacts, &artifact);
    search(&artifact, &content);
    println!("memory at most, while it was read and searched: {}; before: {before}", memory("VmHWM:"));
    fs::remove_dir_all(folder).unwrap();
}

/// About 67 bytes a line, like a log: a date, a level, a few words, numbers.
fn block(state: &mut u64) -> Vec<u8> {
    let mut text = String::with_capacity(BLOCK_BYTES + 128);
    while text.len() < BLOCK_BYTES {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let n = *state >> 33;
        let (level, word) = (LEVELS[(n % 5) as usize], WORDS[(n / 5 % 8) as usize]);
        let _ = writeln!(text, "2031-05-{:02} {level} {word} request={n:x} took {}us", 1 + n % 28, n % 9973);
    }
    text.truncate(BLOCK_BYTES);
    text.into_bytes()
}

fn write(folder: &Path, artifacts: &Artifacts) -> Artifact {
    let mut state = 1;
    // So that a mark of what is searched for comes seldom.
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| block(&mut state)).collect();
    let pieces = || blocks.iter().cycle().take(CONTENT_BYTES / BLOCK_BYTES);
    let plain = folder.join("plain");
    let mut times = [Vec::new(), Vec::new()];
    let mut kept = None;
    for _ in 0..3 {
        let _ = fs::remove_file(&plain);
        let start = Instant::now();
        let mut file = fs::File::create(&plain).unwrap();
        pieces().for_each(|piece| file.write_all(piece).unwrap());
        times[0].push(start.elapsed());
        fs::remove_file(&plain).unwrap();

        let prune = PruneRule { ids: kept.into_iter().collect(), ..PruneRule::default() };
        artifacts.prune(&prune, SystemTime::now(), false).unwrap();
        let start = Instant::now();
        let mut spool = artifacts.create("bench", "bench", SystemTime::now()).unwrap();
        pieces().for_each(|piece| spool.write(piece).unwrap());
        spool.write(RARE.as_bytes()).unwrap();
        kept = Some(spool.finish().unwrap().id);
        times[1].push(start.elapsed());
    }
    let [plain, spooled] = times.map(|times| Times::of(times).millis());
    println!("writing 1 GiB: {spooled}; the same bytes to a plain file {plain}");
    artifacts.get(kept.unwrap(), Asker::Person).unwrap()
}

fn small(home: &Home, artifacts: &Artifacts) {
    let times = Times::run(500, || {
        let mut spool = artifacts.create("bench", "bench", SystemTime::now()).unwrap();
        spool.write(&[b'x'; 1000]).unwrap();
        spool.finish().unwrap()
    });
    let open = Times::run(200, || Artifacts::open(home, Artifacts::BYTES_MAX_DEFAULT).unwrap());
    println!("an artifact of 1000 bytes, made and published: {}", times.micros());
    println!("opening the store, with 500 artifacts in it: {}", open.micros());
    let all = PruneRule { keep_bytes: Some(0), ..PruneRule::default() };
    artifacts.prune(&all, SystemTime::now(), false).unwrap();
}

fn read(artifacts: &Artifacts, artifact: &Artifact) {
    let lines = artifact.line_count();
    let id = artifact.info().id;
    let open = Times::run(200, || artifacts.get(id, Asker::Agent("bench")).unwrap());
    let first = Times::run(200, || {
        artifacts.get(id, Asker::Agent("bench")).unwrap().cat(lines / 2, 20, Bounds::default()).unwrap()
    });
    println!(
        "opening: {}; opening and the first range, with the index read: {}",
        open.micros(),
        first.micros()
    );
    let mut state = 7_u64;
    let mut anywhere = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) % most
    };
    let cat = Times::run(5000, || artifact.cat(1 + anywhere(lines - 20), 20, Bounds::default()).unwrap());
    println!("20 lines anywhere of {lines}: {}", cat.micros());
    println!(
        "the last 20 lines: {}",
        Times::run(5000, || artifact.tail(20, Bounds::default()).unwrap()).micros()
    );
    let slice = Times::run(5000, || artifact.slice(anywhere(artifact.byte_length() - 4096), 4096).unwrap());
    println!("4 KiB anywhere: {}", slice.micros());
}

fn search(artifact: &Artifact, content: &PathBuf) {
    for (name, text) in PATTERNS {
        let pattern = Pattern::regex(text, Case::Exact).unwrap();
        let grep = Grep {
            pattern: &pattern,
            from: 0,
            before: 0,
            after: 0,
            hits_max: Grep::HITS_MAX,
            search_bytes_max: u64::MAX,
            deadline: Instant::now() + Duration::from_mins(10),
            bounds: Bounds::default(),
        };
        let [mut own, mut mapped, mut unmapped] = [const { Vec::new() }; 3];
        let mut hits = 0;
        for _ in 0..SEARCHES {
            own.push(timed(|| hits = artifact.grep(&grep, &mut || true).unwrap().hits.len()));
            mapped.push(timed(|| ripgrep(text, "--mmap", content)));
            unmapped.push(timed(|| ripgrep(text, "--no-mmap", content)));
        }
        let [own, mapped, unmapped] = [own, mapped, unmapped].map(|times| Times::of(times).millis());
        println!("{name} `{text}`, {hits} hits: {own}; ripgrep {mapped}, without mapping {unmapped}");
    }
}

/// Prints its hits with their numbers, as a reader would want them. Its start is counted: some 5 ms.
fn ripgrep(pattern: &str, mapping: &str, content: &PathBuf) {
    let program = Command::new("rg")
        .args(["--no-config", "--line-number", "--color=never", mapping, "--", pattern])
        .arg(content)
        .stdin(Stdio::null())
        .output();
    if let Ok(output) = program {
        black_box(output.stdout.len());
    }
}

fn journal(home: &Home) {
    let journal = Journal::open(home).unwrap();
    let row =
        format!("{{\"id\":\"0123456789abcdef\",\"tool\":\"run_it\",\"detail\":\"{}\"}}", "x".repeat(400));
    for (name, flush) in [("on the disk before it returns", Flush::Now), ("soon", Flush::Soon)] {
        let times =
            Times::run(2000, || journal.append("call.completed", &row, SystemTime::now(), flush).unwrap());
        println!("a row of 460 bytes, {name}: {}", times.micros());
    }
    println!("opening the journal: {}", Times::run(200, || Journal::open(home).unwrap()).micros());
    println!(
        "the newest 20 rows of 4000: {}",
        Times::run(500, || journal.newest(None, None, 20).unwrap()).micros()
    );
    println!(
        "a row by its id, of 4000 with that id: {}",
        Times::run(500, || journal.by_id("0123456789abcdef", 1).unwrap()).micros()
    );
    println!("verifying 4000 rows: {}", Times::run(20, || journal.verify(None).unwrap()).millis());
}

fn memory(field: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default().trim().to_owned()
}

/// Times, sorted.
struct Times(Vec<Duration>);

impl Times {
    fn run<T>(runs: usize, mut run: impl FnMut() -> T) -> Self {
        Self::of((0..runs).map(|_| timed(&mut run)).collect())
    }

    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    fn micros(&self) -> String {
        let [min, median, slow] = self.picked().map(|time| time.as_secs_f64() * 1e6);
        format!("{min:.1} µs, median {median:.1}, 99 in 100 under {slow:.1}")
    }

    fn millis(&self) -> String {
        let [min, median, _] = self.picked().map(|time| time.as_secs_f64() * 1e3);
        format!("{min:.1} ms, median {median:.1}")
    }

    fn picked(&self) -> [Duration; 3] {
        [self.0[0], self.0[self.0.len() / 2], self.0[self.0.len() * 99 / 100]]
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

const CONTENT_BYTES: usize = 1 << 30;
const BLOCK_BYTES: usize = 1 << 20;
const SEARCHES: usize = 5;
const RARE: &str = "2031-05-29 FATAL the one line that is searched for\n";
const LEVELS: [&str; 5] = ["INFO", "INFO", "DEBUG", "WARN", "ERROR"];
const WORDS: [&str; 8] =
    ["accepted", "forwarded", "retried", "cached", "expired", "queued", "dropped", "answered"];
const PATTERNS: [(&str, &str); 5] = [
    ("a rare literal", "the one line that is searched for"),
    ("a regex with a literal", r"ERROR dropped request=[0-9a-f]+ took 99[67]\dus"),
    ("a regex with a prefix that is everywhere", r"2031-05-29 \w+ the"),
    ("a regex without a literal", r"[A-Z]{5} [a-z]+ =\d{9}"),
    ("classes of Unicode", r"\p{Greek}\w+\p{Lu}"),
];
