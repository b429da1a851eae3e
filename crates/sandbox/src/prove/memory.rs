//! Taking more memory than was granted.

use super::Attack;
use super::scene::{Answer, Refusal, Scene, any};
use super::trial::LIMITS;
use crate::sys::attack::map_and_touch;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("memory-bomb", "fills more memory than its limit", "general", |_| heap())
            .at_every_level()
            .met("data limit of each process"),
        Attack::new(
            "shared-memory-bomb",
            "fills memory that is shared, which the data limit does not count",
            "general, MAP_SHARED",
            |_| map(libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED),
        )
        .at_every_level()
        .met("the filter lets no memory be shared that is not a file's"),
        Attack::new(
            "stack-bomb",
            "fills memory that grows downwards, which the data limit does not count",
            "general, MAP_GROWSDOWN",
            |_| map(libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_GROWSDOWN),
        )
        .at_every_level()
        .met("the filter lets no memory grow downwards"),
        Attack::new(
            "page-table-bomb",
            "reads one byte in each of many pages, so that the tables fill memory",
            "general",
            |_| tables(),
        )
        .at_every_level()
        .met("address space of at most 512 times the data limit, whose tables are no larger than that"),
        Attack::new("lock-memory", "locks memory, so that it cannot be paged out", "general, mlock", |_| {
            lock()
        })
        .may_be_missing()
        .at_every_level()
        .met("limit of locked memory: none"),
        Attack::new("fill-temporary-folder", "fills /tmp", "general", |scene| fill(scene, "tmp")).met(SIZE),
        Attack::new("fill-shared-memory-folder", "fills /dev/shm", "general", |scene| fill(scene, "shm"))
            .met(SIZE),
        Attack::new("many-temporary-files", "makes many files in /tmp", "general", |scene| {
            crowd(scene, "tmp")
        })
        .met(INODES),
        Attack::new("many-shared-memory-files", "makes many files in /dev/shm", "general", |scene| {
            crowd(scene, "shm")
        })
        .met(INODES),
        Attack::new(
            "fill-the-root",
            "fills a place of the root that nobody thought of",
            "general",
            |scene| {
                let places =
                    ["/", "/dev", "/etc", "/granted", "/proc"].into_iter().filter(|_| scene.is_inside());
                let places = places
                    .map(std::path::PathBuf::from)
                    .chain((!scene.is_inside()).then(|| scene.path("tmp")));
                any(places.map(|place| {
                    (place.display().to_string(), std::fs::write(place.join("fair-filler"), [0; 4096]))
                }))
            },
        )
        .at_every_level()
        .met("the root is read-only"),
    ]
}

fn heap() -> Answer {
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(TOO_MUCH).map_err(Refusal::of)?;
    memory.resize(TOO_MUCH, 1);
    Ok(format!("filled {} MiB", std::hint::black_box(&memory).len() >> 20))
}

fn map(protection: i32, flags: i32) -> Answer {
    map_and_touch(TOO_MUCH, PAGE, protection, flags)?;
    Ok(format!("filled {} MiB", TOO_MUCH >> 20))
}

/// One table for each two MiB that are touched.
fn tables() -> Answer {
    let bytes = usize::try_from(640 * LIMITS.memory_bytes_per_process).unwrap_or(usize::MAX);
    map_and_touch(bytes, 2 << 20, libc::PROT_READ, libc::MAP_PRIVATE)?;
    Ok(format!("touched {} GiB", bytes >> 30))
}

fn lock() -> Answer {
    crate::sys::attack::lock_memory(PAGE)?;
    Ok("locked".to_owned())
}

/// Writes four times what the folder may hold, in files that are small enough.
fn fill(scene: &Scene, place: &str) -> Answer {
    let folder = scene.path(place);
    let part = vec![1; 256 << 10];
    let parts = 4 * LIMITS.temporary_bytes / part.len() as u64;
    for number in 0..parts {
        std::fs::write(folder.join(format!("fair-{number}")), &part)
            .map_err(|error| Refusal::of(format!("part {number} of {parts}: {error}")))?;
    }
    Ok(format!("wrote {parts} parts"))
}

fn crowd(scene: &Scene, place: &str) -> Answer {
    let folder = scene.path(place);
    let count = 4 * LIMITS.temporary_files;
    for number in 0..count {
        std::fs::write(folder.join(format!("fair-{number}")), "")
            .map_err(|error| Refusal::of(format!("file {number} of {count}: {error}")))?;
    }
    Ok(format!("made {count} files"))
}

const TOO_MUCH: usize = 96 << 20;
const PAGE: usize = 4096;
const SIZE: &str = "a file system of its own, with a size";
const INODES: &str = "a file system of its own, with a number of files";
