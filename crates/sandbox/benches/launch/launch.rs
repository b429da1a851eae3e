//! The launch itself: back to back, and sparse as people use it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use fumehood_sandbox::{Access, Confined, Sandbox};

use crate::Bench;
use crate::contender::{self, Bind, Payload, SLEEP, TRUE};
use crate::measure::{self, BUBBLEWRAP, FULL, PLAIN, RUNTIME, Row};

pub(crate) fn back_to_back(bench: &Bench) {
    println!("\n## Back to back, a pause of 1.5 ms before each launch");
    let scene = Scene::new(bench);
    let mut rows = scene.rows(bench, 300, 20);
    for (group, payload) in INTERPRETERS {
        if Path::new(payload.0[0]).exists() {
            let runs = bench.runs(40);
            rows.push(Row::new(group, PLAIN, runs, contender::plain(payload)));
            rows.push(Row::new(
                group,
                FULL,
                runs,
                contender::full(&scene.alone, contender::profile(payload, &[])),
            ));
            if contender::has_bubblewrap() {
                rows.push(Row::new(group, BUBBLEWRAP, runs, contender::bubblewrap(payload, &[])));
            }
        }
    }
    measure::print_tables(&measure::in_turns(rows, Duration::from_micros(1500)));
}

pub(crate) fn sparse(bench: &Bench) {
    println!("\n## Sparse, a pause of 60 ms before each launch");
    let scene = Scene::new(bench);
    let rows = scene.rows(bench, 100, 10);
    measure::print_tables(&measure::in_turns(rows, Duration::from_millis(60)));
}

/// Launchers, and files to grant.
struct Scene {
    /// Runs one program at a time.
    alone: Sandbox,
    /// Another program of this launcher's runs all the time.
    beside: Sandbox,
    /// Dropping it would end it.
    _sleeper: Confined,
    binds: Vec<Bind>,
}

impl Scene {
    fn new(bench: &Bench) -> Self {
        let (alone, beside) = (start(), start());
        let sleeper = beside.spawn(&contender::profile(SLEEP, &[])).expect("a confined launch");
        let binds = grants(bench.folder.path());
        // What is timed only starts and ends; that the grants are there is seen here.
        contender::full(&alone, contender::profile(COPY, &binds))();
        if contender::has_bubblewrap() {
            contender::bubblewrap(COPY, &binds)();
        }
        Self { alone, beside, _sleeper: sleeper, binds }
    }

    fn rows(&self, bench: &Bench, runs: usize, slow_runs: usize) -> Vec<Row<'_>> {
        let runs = bench.runs(runs);
        let profile = |binds| contender::profile(TRUE, binds);
        let mut rows = vec![
            Row::new(BARE, PLAIN, runs, contender::plain(TRUE)),
            Row::new(BARE, FULL, runs, contender::full(&self.alone, profile(&[]))),
            Row::new(
                BARE,
                "full, while another run is alive",
                runs,
                contender::full(&self.beside, profile(&[])),
            ),
        ];
        rows.push(on_demand(&self.alone, runs, contender::full(&self.alone, profile(&[]))));
        if contender::has_bubblewrap() {
            rows.push(Row::new(BARE, BUBBLEWRAP, runs, contender::bubblewrap(TRUE, &[])));
        }
        let slow_runs = bench.runs(slow_runs);
        rows.push(Row::new(BARE, "full, its launcher started for it", slow_runs, move || {
            contender::full(&start(), profile(&[]))();
        }));
        if let Some(cli) = &bench.runtime {
            let launch = contender::runtime(cli, TRUE, bench.folder.path());
            rows.push(Row::new(BARE, RUNTIME, slow_runs, launch));
        }
        rows.push(Row::new(GRANTS, PLAIN, runs, contender::plain(TRUE)));
        rows.push(Row::new(GRANTS, FULL, runs, contender::full(&self.alone, profile(&self.binds))));
        if contender::has_bubblewrap() {
            rows.push(Row::new(GRANTS, BUBBLEWRAP, runs, contender::bubblewrap(TRUE, &self.binds)));
        }
        rows
    }
}

/// A launch right after another one took the child that was ready.
fn on_demand<'a>(sandbox: &'a Sandbox, runs: usize, mut launch: impl FnMut() + 'a) -> Row<'a> {
    let other = Rc::new(RefCell::new(None));
    let taken = Rc::clone(&other);
    let sleeper = contender::profile(SLEEP, &[]);
    Row::new(BARE, "full, with no child ready", runs, move || {
        launch();
        // It ends by this.
        taken.take();
    })
    .after(move || {
        other.replace(Some(sandbox.spawn(&sleeper).expect("a confined launch")));
    })
}

fn start() -> Sandbox {
    Sandbox::start().expect("this machine has a sandbox")
}

/// A folder and a file to read, and a folder to write to.
fn grants(folder: &Path) -> Vec<Bind> {
    for name in ["in", "out"] {
        std::fs::create_dir_all(folder.join(name)).expect("a folder in the temporary folder");
    }
    for name in ["in/text", "settings"] {
        std::fs::write(folder.join(name), "text").expect("a file in the temporary folder");
    }
    let bind = |name, target, access| Bind { source: folder.join(name), target, access };
    vec![
        bind("in", "/job/in", Access::Read),
        bind("settings", "/job/settings", Access::Read),
        bind("out", "/job/out", Access::Write),
    ]
}

const BARE: &str = "`/bin/true`:";
const GRANTS: &str = "`/bin/true` with a folder and a file to read and a folder to write to:";
const COPY: Payload = Payload(&["/bin/sh", "-c", "cat /job/in/text /job/settings >/job/out/copy"]);
const INTERPRETERS: [(&str, Payload); 2] = [
    ("`python3 -c pass`:", Payload(&["/usr/bin/python3", "-c", "pass"])),
    ("`node -e 0`:", Payload(&["/usr/bin/node", "-e", "0"])),
];
