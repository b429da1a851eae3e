use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::*;

fn path(text: &str) -> HostPath {
    HostPath::parse(text).unwrap()
}

fn paths(texts: &[&str]) -> Vec<HostPath> {
    texts.iter().map(|text| path(text)).collect()
}

fn parts() -> EnvelopeParts {
    EnvelopeParts {
        read_roots: Roots::Within(paths(&["/srv/papers", "/srv/data"])),
        write_roots: Roots::Within(paths(&["/srv/out"])),
        interpreter_read_paths: Roots::Within(paths(&["/opt/python"])),
        memory_bytes_total: Some(4 << 30),
        level_floor: Level::Namespaces,
        ..Envelope::of_a_person().parts().clone()
    }
}

/// A description that owns its paths.
#[derive(Clone, Debug)]
struct Owned {
    read: Vec<HostPath>,
    write: Vec<HostPath>,
    interpreter: Vec<HostPath>,
    wall: Duration,
    output_bytes: u64,
    limits: ResourceLimits,
    total: Option<u64>,
    floor: Level,
}

impl Owned {
    /// Exactly what the envelope allows.
    fn all_of(parts: &EnvelopeParts) -> Self {
        let listed = |roots: &Roots| roots.listed().unwrap_or_default().to_vec();
        Self {
            read: listed(&parts.read_roots),
            write: listed(&parts.write_roots),
            interpreter: listed(&parts.interpreter_read_paths),
            wall: Duration::from_secs(parts.timeout_seconds_max),
            output_bytes: parts.output_bytes_max,
            limits: parts.limits,
            total: parts.memory_bytes_total,
            floor: parts.level_floor,
        }
    }

    fn within(&self, parts: &EnvelopeParts) -> Result<(), Rule> {
        let asked = Asked {
            read_paths: &self.read,
            write_paths: &self.write,
            interpreter_paths: &self.interpreter,
            wall: self.wall,
            output_bytes: self.output_bytes,
            limits: self.limits,
            memory_bytes_total: self.total,
            level_floor: self.floor,
            network: Network::None,
        };
        Envelope::new(parts.clone()).unwrap().admits(&asked).map_err(|widened| widened.rule)
    }

    fn limit(&mut self, rule: Rule) -> &mut u64 {
        let limits = &mut self.limits;
        match rule {
            Rule::OutputBytesMax => &mut self.output_bytes,
            Rule::MemoryBytesPerProcess => &mut limits.memory_bytes_per_process,
            Rule::Processes => &mut limits.processes,
            Rule::CpuSeconds => &mut limits.cpu_seconds,
            Rule::FileBytes => &mut limits.file_bytes,
            Rule::OpenFiles => &mut limits.open_files,
            Rule::TemporaryBytes => &mut limits.temporary_bytes,
            Rule::TemporaryFiles => &mut limits.temporary_files,
            Rule::MemoryBytesTotal => self.total.as_mut().unwrap(),
            _ => panic!("{rule:?} is no count"),
        }
    }

    fn list(&mut self, rule: Rule) -> Option<&mut Vec<HostPath>> {
        match rule {
            Rule::ReadRoots => Some(&mut self.read),
            Rule::WriteRoots => Some(&mut self.write),
            Rule::InterpreterReadPaths => Some(&mut self.interpreter),
            _ => None,
        }
    }
}

// EXE-51, EXE-64: a subset in every way is admitted, and one step beyond on one axis is refused by that axis's rule.
proptest! {
    #[test]
    fn smaller_is_admitted_and_larger_on_one_axis_is_refused_by_its_rule(
        below in prop::collection::vec("[a-z*.]{1,4}", 0..4),
        kept in subsequence(vec![0usize, 1, 2, 3], 0..=4),
        shares in prop::array::uniform9(0u64..=100),
        stronger in any::<bool>(),
        axis in any::<Index>(),
        more in 1u64..1000,
        unlimited in any::<bool>(),
        outside in prop::sample::select(vec!["/", "/srv", "/srv/papers2", "/srv/out2/x", "/opt/python3", "/etc"]),
    ) {
        let parts = parts();
        let all = Owned::all_of(&parts);
        prop_assert_eq!(all.within(&parts), Ok(()));

        let mut smaller = all.clone();
        let below = below.iter().filter(|name| !matches!(name.as_str(), "." | ".."));
        let below = below.fold(String::new(), |path, name| format!("{path}/{name}"));
        let deeper = |list: &[HostPath]| -> Vec<HostPath> {
            let list = kept.iter().filter_map(|index| list.get(*index));
            list.map(|root| path(&format!("{root}{below}"))).collect()
        };
        (smaller.read, smaller.write) = (deeper(&all.read), deeper(&all.write));
        smaller.interpreter = deeper(&all.interpreter);
        smaller.wall = all.wall.mul_f64(f64::from(u32::try_from(shares[8]).unwrap()) / 100.0);
        for (rule, share) in Rule::ALL[4..=11].iter().zip(shares) {
            let limit = smaller.limit(*rule);
            *limit = *limit / 100 * share;
        }
        if stronger {
            smaller.floor = Level::Full;
            *smaller.limit(Rule::MemoryBytesTotal) -= 1;
        }
        prop_assert_eq!(smaller.within(&parts), Ok(()));

        let rule = Rule::ALL[axis.index(Rule::ALL.len())];
        let mut larger = smaller;
        match rule {
            Rule::ReadRoots | Rule::WriteRoots | Rule::InterpreterReadPaths => {
                larger.list(rule).unwrap().push(path(outside));
            }
            Rule::TimeoutSecondsMax => larger.wall = all.wall + Duration::from_nanos(more),
            Rule::LevelFloor => larger.floor = if unlimited { Level::None } else { Level::Kernel },
            Rule::MemoryBytesTotal if unlimited => larger.total = None,
            _ => *larger.limit(rule) = *all.clone().limit(rule) + more,
        }
        prop_assert_eq!(larger.within(&parts), Err(rule));
    }
}

// EXE-51: no character stands for others, also where an envelope is compared with a path that has one.
#[test]
fn a_star_in_a_path_is_a_name() {
    let parts = parts();
    let mut asked = Owned::all_of(&parts);
    asked.read = paths(&["/srv/papers/*"]);
    assert_eq!(asked.within(&parts), Ok(()));
    asked.read = paths(&["/srv/*"]);
    assert_eq!(asked.within(&parts), Err(Rule::ReadRoots));
    let patterned =
        |text| Envelope::new(EnvelopeParts { read_roots: Roots::Within(paths(&[text])), ..parts.clone() });
    for text in ["/*", "/srv/a?", "/srv/[ab]"] {
        assert_eq!(patterned(text), Err(EnvelopeError::Pattern("read_roots")), "{text}");
    }
    assert!(patterned("/srv/a").is_ok());
}

// EXE-40: empty is allowed, and then nothing is.
#[test]
fn no_roots_admit_no_path() {
    let none = || Roots::Within(Vec::new());
    let parts =
        EnvelopeParts { read_roots: none(), write_roots: none(), interpreter_read_paths: none(), ..parts() };
    let nothing = Owned::all_of(&parts);
    assert_eq!(nothing.within(&parts), Ok(()));
    for rule in Rule::ALL.into_iter().take(3) {
        let mut one = nothing.clone();
        one.list(rule).unwrap().push(path("/"));
        assert_eq!(one.within(&parts), Err(rule));
    }
}

#[test]
fn without_a_table_the_persons_word_bounds_paths_and_nothing_else() {
    let person = Envelope::of_a_person();
    assert_eq!(Envelope::new(person.parts().clone()), Ok(person.clone()));
    assert_eq!(
        (person.timeout_default(), person.timeout_max()),
        (Duration::from_mins(1), Duration::from_mins(10))
    );
    let mut asked = Owned::all_of(person.parts());
    asked.read = paths(&["/home/me/a.txt", "/etc"]);
    asked.write = asked.read.clone();
    assert_eq!(asked.within(person.parts()), Ok(()));
    asked.floor = Level::Namespaces;
    assert_eq!(asked.within(person.parts()), Err(Rule::LevelFloor));
    asked.floor = Level::Full;
    asked.total = Some(1 << 40);
    assert_eq!(asked.within(person.parts()), Ok(()));
    asked.wall += Duration::from_nanos(1);
    assert_eq!(asked.within(person.parts()), Err(Rule::TimeoutSecondsMax));
}

fn with(key: &str, value: u64) -> Result<Envelope, EnvelopeError> {
    let mut parts = parts();
    let limits = &mut parts.limits;
    let place = match key {
        "timeout_seconds_default" => &mut parts.timeout_seconds_default,
        "timeout_seconds_max" => &mut parts.timeout_seconds_max,
        "output_bytes_max" => &mut parts.output_bytes_max,
        "memory_bytes_per_process" => &mut limits.memory_bytes_per_process,
        "processes" => &mut limits.processes,
        "cpu_seconds" => &mut limits.cpu_seconds,
        "file_bytes" => &mut limits.file_bytes,
        "open_files" => &mut limits.open_files,
        "temporary_bytes" => &mut limits.temporary_bytes,
        "temporary_files" => &mut limits.temporary_files,
        "memory_bytes_total" => parts.memory_bytes_total.as_mut().unwrap(),
        other => panic!("{other}"),
    };
    *place = value;
    if key == "timeout_seconds_max" {
        parts.timeout_seconds_default = value.clamp(1, 60);
    } else if key == "timeout_seconds_default" {
        parts.timeout_seconds_max = 3600;
    }
    Envelope::new(parts)
}

// EXE-38, X-06: zero, a default above the maximum and whatever is out of range is refused, and nothing is clamped.
#[test]
fn every_key_holds_on_both_sides() {
    for bound in BOUNDS {
        let Bound { key, min, max } = bound;
        for value in [min, max] {
            assert!(with(key, value).is_ok(), "{key} = {value}");
        }
        for value in [0, min - 1, max + 1, u64::MAX] {
            assert_eq!(with(key, value), Err(EnvelopeError::Range(bound)), "{key} = {value}");
        }
    }
    let timeouts = |timeout_seconds_default, timeout_seconds_max| {
        Envelope::new(EnvelopeParts { timeout_seconds_default, timeout_seconds_max, ..parts() }).map(|_| ())
    };
    assert_eq!(timeouts(60, 60), Ok(()));
    assert_eq!(timeouts(61, 60), Err(EnvelopeError::DefaultAboveMax));
    let roots = |n| Roots::Within(vec![path("/a"); n]);
    let write = |n| Envelope::new(EnvelopeParts { write_roots: roots(n), ..parts() });
    assert!(write(ROOTS_MAX).is_ok());
    assert_eq!(write(ROOTS_MAX + 1), Err(EnvelopeError::TooManyRoots("write_roots")));
    let floor = |level_floor| Envelope::new(EnvelopeParts { level_floor, ..parts() });
    assert!(floor(Level::Kernel).is_ok());
    assert_eq!(floor(Level::None), Err(EnvelopeError::NoFloor));
}

// EXE-64
#[test]
fn the_rule_is_named() {
    for rule in Rule::ALL {
        let widened = Widened { rule };
        assert_eq!(widened.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
        assert!(widened.to_string().contains(rule.as_str()));
        let key = rule.as_str().strip_prefix("envelope.").unwrap();
        let is_number = BOUNDS.iter().any(|bound| bound.key == key);
        assert!(is_number || rule <= Rule::InterpreterReadPaths || rule == Rule::LevelFloor, "{key}");
    }
}
