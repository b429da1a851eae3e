//! Using more than was granted of anything that is counted.

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Attack;
use super::scene::{Answer, Refusal, Scene, all};
use super::trial::{Expected, LIMITS};
use crate::Killed;

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        // Without a user namespace of its own the limit counts what else the user runs, and floats with it.
        Attack::new("fork-bomb", "starts many processes", "general", fork_bomb)
            .met("process limit, of its own user namespace"),
        Attack::new("breeding-bomb", "starts processes that start processes", "general", breed)
            .met("process limit, of its own user namespace"),
        Attack::new("thread-bomb", "starts many threads", "general", thread_bomb)
            .met("process limit, of its own user namespace"),
        Attack::new("large-file", "writes a file beyond its limit", "general", |scene| {
            let part = vec![1; 256 << 10];
            let mut file = std::fs::File::create(scene.path("write").join("fair-large"))?;
            for _ in 0..8 {
                file.write_all(&part)?;
            }
            Ok("wrote 2 MiB".to_owned())
        })
        .expect(Expected::Signal(SIGXFSZ))
        .writes()
        .at_every_level()
        .met("limit of a file's size"),
        Attack::new("sparse-file", "makes a file that is large and empty", "general, ftruncate", |scene| {
            crate::sys::attack::ignore_signal(libc::SIGXFSZ);
            let file = std::fs::File::create(scene.path("write").join("fair-sparse"))?;
            all([
                ("ftruncate", file.set_len(1 << 30)),
                (
                    "fallocate",
                    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 2 << 20)
                        .map_err(Into::into),
                ),
            ])
        })
        .writes()
        .at_every_level()
        .met("limit of a file's size"),
        Attack::new(
            "reserved-file",
            "reserves room behind a file's end, where no limit of its size looks",
            "general, FALLOC_FL_KEEP_SIZE",
            |scene| {
                let file = std::fs::File::create(scene.path("write").join("fair-reserved"))?;
                rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, 8 << 20)?;
                Ok("reserved 8 MiB".to_owned())
            },
        )
        .may_be_missing()
        .writes()
        .at_every_level()
        .met("the filter lets nobody reserve without making the file as large"),
        Attack::new(
            "queued-signals",
            "takes all the signals that its user may have queued, which others need for their timers",
            "general, RLIMIT_SIGPENDING",
            |_| {
                crate::sys::attack::queue_signals(QUEUED_SIGNALS)?;
                Ok(format!("queued {QUEUED_SIGNALS}"))
            },
        )
        .at_every_level()
        .met("limit of queued signals"),
        Attack::new("open-files", "opens many files", "general", |_| {
            let count = 4 * LIMITS.open_files;
            let mut open = Vec::new();
            for number in 0..count {
                open.push(
                    std::fs::File::open("/dev/null")
                        .map_err(|error| Refusal::of(format!("at {number}: {error}")))?,
                );
            }
            Ok(format!("opened {}", open.len()))
        })
        .at_every_level()
        .met("limit of open files"),
        Attack::new(
            "many-timers",
            "makes many timers, which are counted for the user",
            "general, timer_create",
            |_| {
                let made = crate::sys::attack::make_timers(TIMERS);
                if made == TIMERS {
                    Ok(format!("made {made}"))
                } else {
                    Err(Refusal::of(format!("at {made}")))
                }
            },
        )
        .at_every_level()
        .met("limit of queued signals and timers"),
        Attack::new("raise-limits", "raises its own limits", "general, setrlimit", raise_limits)
            .at_every_level()
            .met("hard limits, which only the host's root could raise"),
        Attack::new(
            "core-dump",
            "has the host's crash handler read it",
            "CVE-2025-4598, CVE-2022-1242 (apport)",
            |_| match getrlimit(Resource::Core).maximum {
                Some(1) => Err(Refusal::of("the limit is the one at which the kernel starts no handler")),
                limit => Ok(format!("the limit is {limit:?}")),
            },
        )
        .at_every_level()
        .met("a core limit of one byte: no file, and unlike with zero no handler either"),
        Attack::new("spin", "uses the processor", "general", |_| Ok(spin(1300)))
            .expect(Expected::Signal(SIGXCPU))
            .at_every_level()
            .met("processor time limit"),
        Attack::new("spin-on", "uses the processor and ignores the signal for it", "general", |_| {
            crate::sys::attack::ignore_signal(libc::SIGXCPU);
            Ok(spin(2300))
        })
        .expect(Expected::Signal(9))
        .at_every_level()
        .met("a second processor time limit, which kills"),
        Attack::new(
            "flood-output",
            "writes without end, neither text nor lines",
            "CherryHQ/stella#1119",
            |scene| flood(scene, &mut std::io::stdout()),
        )
        .expect(Expected::Killed(Killed::Output))
        .at_every_level()
        .met("a cap while reading"),
        Attack::new("flood-errors", "writes without end to standard error", "general", |scene| {
            flood(scene, &mut std::io::stderr())
        })
        .expect(Expected::Killed(Killed::Output))
        .at_every_level()
        .met("a cap while reading"),
    ]
}

/// Children that end with their parent's interest in them.
#[derive(Default)]
struct Crowd(Vec<Child>);

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn fork_bomb(scene: &Scene) -> Answer {
    let mut crowd = Crowd::default();
    for number in 0..TOO_MANY {
        let child = scene.other("sleeper").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        crowd.0.push(child.map_err(|error| Refusal::of(format!("process {number}: {error}")))?);
    }
    Ok(format!("started {TOO_MANY}"))
}

/// A pyramid of processes: outside it has an end.
fn breed(scene: &Scene) -> Answer {
    let output = scene.clone().with("depth", 6).other("crowd").stdin(Stdio::null()).output()?;
    // One dot from each.
    let born = output.stdout.len();
    if born >= TOO_MANY {
        Ok(format!("{born} were born"))
    } else {
        Err(Refusal::of(format!("{born} were born")))
    }
}

/// Starts two of itself, until the depth is used up.
pub(crate) fn crowd_member(scene: &Scene) {
    let _ = std::io::stdout().write_all(b".");
    let _ = std::io::stdout().flush();
    let mut crowd = Crowd::default();
    if let Some(depth) = scene.number("depth").checked_sub(1) {
        for _ in 0..2 {
            let child = scene.clone().with("depth", depth).other("crowd").stdin(Stdio::null()).spawn();
            crowd.0.extend(child);
        }
    }
    // All are alive at once, so that they are counted together.
    std::thread::sleep(Duration::from_millis(300));
    for child in &mut crowd.0 {
        let _ = child.wait();
    }
}

fn thread_bomb(_: &Scene) -> Answer {
    let mut waiting = Vec::new();
    for number in 0..TOO_MANY {
        let (end, wait) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || wait.recv());
        thread.map_err(|error| Refusal::of(format!("thread {number}: {error}")))?;
        waiting.push(end);
    }
    Ok(format!("started {}", waiting.len()))
}

fn raise_limits(_: &Scene) -> Answer {
    let resources = [
        ("open files", Resource::Nofile),
        ("processes", Resource::Nproc),
        ("file size", Resource::Fsize),
        ("data", Resource::Data),
        ("address space", Resource::As),
        ("processor time", Resource::Cpu),
        ("locked memory", Resource::Memlock),
        ("core", Resource::Core),
        ("priority", Resource::Nice),
        ("real time", Resource::Rtprio),
        ("queued signals", Resource::Sigpending),
    ];
    let mut raised = Vec::new();
    for (name, resource) in resources {
        let Rlimit { maximum, .. } = getrlimit(resource);
        // Without a limit there is nothing to raise, which is worse.
        let more = maximum.map(|limit| limit.saturating_add(1));
        if maximum.is_none() || setrlimit(resource, Rlimit { current: more, maximum: more }).is_ok() {
            raised.push(name.to_owned());
        }
    }
    super::scene::found(&raised, "every limit stands")
}

fn spin(millis: u64) -> String {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let started = Instant::now();
    while used() < Duration::from_millis(millis) {
        std::hint::black_box((0..10_000).sum::<u64>());
    }
    format!("used {millis} ms in {:?}", started.elapsed())
}

fn flood(scene: &Scene, stream: &mut dyn std::io::Write) -> Answer {
    let part = [0xff, 0, b'x', 0xc0].repeat(1024);
    let mut written = 0;
    while scene.is_inside() || written < 4 << 20 {
        stream.write_all(&part)?;
        written += part.len();
    }
    Ok(format!("wrote {written} bytes"))
}

const TIMERS: usize = 1000;
/// So many that as many others as a test machine runs may end meanwhile.
const TOO_MANY: usize = 80;
const QUEUED_SIGNALS: usize = 4096;
const SIGXCPU: u8 = 24;
const SIGXFSZ: u8 = 25;
