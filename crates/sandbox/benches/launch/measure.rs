//! Rounds in which everything takes its turn, and the tables that come of them.

use std::time::{Duration, Instant};

/// One way to launch something.
pub(crate) struct Row<'a> {
    /// Rows of one group launch the same program with the same grants, and make one table.
    group: &'static str,
    name: &'static str,
    /// Spread evenly over the rounds.
    runs: usize,
    prepare: Option<Box<dyn FnMut() + 'a>>,
    launch: Box<dyn FnMut() + 'a>,
}

/// A row's times, sorted.
#[derive(Clone)]
pub(crate) struct Measured {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) times: Vec<Duration>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        group: &'static str,
        name: &'static str,
        runs: usize,
        launch: impl FnMut() + 'a,
    ) -> Self {
        Self { group, name, runs, prepare: None, launch: Box::new(launch) }
    }

    /// Does something right before each launch that is not timed.
    pub(crate) fn after(self, prepare: impl FnMut() + 'a) -> Self {
        Self { prepare: Some(Box::new(prepare)), ..self }
    }

    fn run(&mut self) -> Duration {
        if let Some(prepare) = &mut self.prepare {
            prepare();
        }
        let started = Instant::now();
        (self.launch)();
        started.elapsed()
    }
}

impl Measured {
    pub(crate) fn min(&self) -> f64 {
        micros(self.times[0])
    }

    pub(crate) fn median(&self) -> f64 {
        micros(self.times[self.times.len() / 2])
    }

    pub(crate) fn max(&self) -> f64 {
        micros(self.times[self.times.len() - 1])
    }
}

/// Runs all rows in turns, in another order each round, so that what the machine does besides, and what one launch
/// leaves for the kernel to tidy up, falls on all alike.
pub(crate) fn in_turns(mut rows: Vec<Row<'_>>, pause: Duration) -> Vec<Measured> {
    let rounds = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    let mut measured: Vec<Measured> =
        rows.iter().map(|row| Measured { group: row.group, name: row.name, times: Vec::new() }).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut chance = Chance(1);
    for row in &mut rows {
        row.run();
    }
    for round in 0..rounds {
        if round % (rounds / 4).max(1) == 0 {
            eprintln!("  round {round} of {rounds}");
        }
        chance.shuffle(&mut order);
        for &index in &order {
            let row = &mut rows[index];
            if round * row.runs / rounds == (round + 1) * row.runs / rounds {
                continue;
            }
            std::thread::sleep(pause);
            measured[index].times.push(row.run());
        }
    }
    for row in &mut measured {
        row.times.sort_unstable();
    }
    measured
}

/// Prints a table for each group: times, what they are above the plain launch, and that as a share of what bubblewrap
/// adds, by minimums.
pub(crate) fn print_tables(measured: &[Measured]) {
    for group in measured.chunk_by(|a, b| a.group == b.group) {
        println!("\n{}\n", group[0].group);
        println!("| launch | runs | min | + min | median | + median | of bubblewrap's + min |");
        println!("|---|---|---|---|---|---|---|");
        for row in group {
            println!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.name,
                row.times.len(),
                count(row.min()),
                count(row.min() - baseline(group).min()),
                count(row.median()),
                count(row.median() - baseline(group).median()),
                share(group, row),
            );
        }
        if let (Some(full), Some(runtime)) = (find(group, FULL), find(group, RUNTIME)) {
            let added = |row: &Measured| row.min() - baseline(group).min();
            println!(
                "\nThe sandbox-runtime adds {:.0} times what `full` adds.",
                added(runtime) / added(full)
            );
        }
    }
}

/// What a row adds to the plain launch, as a share of what bubblewrap adds to it.
pub(crate) fn share(group: &[Measured], row: &Measured) -> String {
    let plain = baseline(group);
    match find(group, BUBBLEWRAP) {
        Some(bubblewrap) if row.name != PLAIN => {
            format!("{:.2}", (row.min() - plain.min()) / (bubblewrap.min() - plain.min()))
        }
        _ => String::new(),
    }
}

pub(crate) fn baseline(group: &[Measured]) -> &Measured {
    find(group, PLAIN).expect("each group has a plain launch")
}

pub(crate) fn find<'a>(group: &'a [Measured], name: &str) -> Option<&'a Measured> {
    group.iter().find(|row| row.name == name)
}

/// A whole number with a comma before each three digits.
pub(crate) fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::from(if number <= -0.5 { "-" } else { "" });
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The same order of rounds each time: the constants are Knuth's for MMIX.
struct Chance(u64);

impl Chance {
    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let drawn = usize::try_from(self.0 >> 33).unwrap_or(0);
            order.swap(last, drawn % (last + 1));
        }
    }
}

pub(crate) const PLAIN: &str = "plain";
pub(crate) const FULL: &str = "full";
pub(crate) const BUBBLEWRAP: &str = "bubblewrap";
pub(crate) const RUNTIME: &str = "sandbox-runtime";
