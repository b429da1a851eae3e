#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fumehood_testkit::fuzz::manifests(bytes));
