//! A second process: this test binary again, told by its environment what to do.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fumehood_store::Home;
use fumehood_testkit::Scratch;

/// A home in a scratch folder.
pub(crate) fn home(scratch: &Scratch) -> Home {
    home_at(scratch.path())
}

fn home_at(path: &Path) -> Home {
    Home { config: path.join("config"), state: path.join("state") }
}

/// Starts this binary with one job in the home of a scratch folder, and waits until it says that it has begun.
pub(crate) fn start(job: &str, scratch: &Scratch) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::job", "--nocapture", "--test-threads=1"])
        .env(JOB, job)
        .env(FOLDER, scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with(BEGUN)), "the child ended before it began");
    // The rest is read, so that the child never waits for it.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

/// What a child does; an ordinary run of the tests gives it nothing to do.
#[test]
fn job() {
    let Some(job) = std::env::var_os(JOB) else { return };
    let home = home_at(&PathBuf::from(std::env::var_os(FOLDER).unwrap()));
    let begun = || println!("{BEGUN}");
    match job.to_str().unwrap() {
        "write one without end" => crate::artifact_crash::write_one_without_end(&home, begun),
        "write many" => crate::artifact_crash::write_many(&home, begun),
        "fill the store" => crate::artifact_crash::fill_the_store(&home, begun),
        "append rows" => crate::journal::append_rows(&home, begun),
        "hold files of a run" => crate::stage_crash::hold_files_of_a_run(&home, begun),
        "lay out without end" => crate::stage_crash::lay_out_without_end(&home, begun),
        "lay out and remove" => crate::stage_crash::lay_out_and_remove(&home, begun),
        other => panic!("{other} is no job"),
    }
}

const JOB: &str = "FUMEHOOD_STORE_TEST_JOB";
const FOLDER: &str = "FUMEHOOD_STORE_TEST_FOLDER";
const BEGUN: &str = "the child has begun";
