//! What an envelope may allow is what the sandbox can enforce.

use std::time::Duration;

use fumehood_core::Envelope;
use fumehood_core::envelope::{BOUNDS, EnvelopeParts};
use fumehood_core::tool::TIMEOUT_MAX;
use fumehood_sandbox::{Limits, OnExcess, Profile, ProfileError};

fn build(parts: &EnvelopeParts) -> Result<Profile, ProfileError> {
    let limits = Limits {
        cpu_seconds: parts.limits.cpu_seconds,
        memory_bytes_per_process: parts.limits.memory_bytes_per_process,
        processes: parts.limits.processes,
        file_bytes: parts.limits.file_bytes,
        open_files: parts.limits.open_files,
        temporary_bytes: parts.limits.temporary_bytes,
        temporary_files: parts.limits.temporary_files,
    };
    let wall = Duration::from_secs(parts.timeout_seconds_max);
    let output = usize::try_from(parts.output_bytes_max).unwrap();
    let profile = Profile::builder("/bin/sh", limits, wall).output(output, OnExcess::Truncate);
    match parts.memory_bytes_total {
        Some(bytes) => profile.memory_total(bytes).build(),
        None => profile.build(),
    }
}

// EXE-38, EXE-67, X-06
#[test]
fn both_ends_of_every_range_are_a_profile_and_a_tool() {
    let person = Envelope::of_a_person();
    assert!(build(person.parts()).is_ok());
    for is_max in [false, true] {
        let value = |key: &str| {
            let bound = BOUNDS.into_iter().find(|bound| bound.key == key).unwrap();
            if is_max { bound.max } else { bound.min }
        };
        let mut parts = person.parts().clone();
        parts.timeout_seconds_default = value("timeout_seconds_default");
        parts.timeout_seconds_max = value("timeout_seconds_max");
        parts.output_bytes_max = value("output_bytes_max");
        parts.limits.memory_bytes_per_process = value("memory_bytes_per_process");
        parts.limits.processes = value("processes");
        parts.limits.cpu_seconds = value("cpu_seconds");
        parts.limits.file_bytes = value("file_bytes");
        parts.limits.open_files = value("open_files");
        parts.limits.temporary_bytes = value("temporary_bytes");
        parts.limits.temporary_files = value("temporary_files");
        parts.memory_bytes_total = Some(value("memory_bytes_total"));
        let envelope = Envelope::new(parts).unwrap();
        assert!(build(envelope.parts()).is_ok(), "{envelope:?}");
        assert!(envelope.timeout_max() <= TIMEOUT_MAX);
    }
}
