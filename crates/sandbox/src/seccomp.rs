//! Which system calls a child may make, as a filter program.
//!
//! A list of what is allowed; everything unknown answers "no such call", so that libraries fall back to older ones,
//! and what is known to be dangerous answers "not permitted". A call of another architecture kills. The program is a
//! search tree over call numbers: the kernel walks it for every number when it is loaded, and a long chain of
//! comparisons costs ten times as much at each launch.

mod calls;
mod check;
mod checked;
pub(crate) mod outer;

use crate::child::Kind;
use crate::sys::seccomp::Instruction;
use calls::{ALLOWED, DENIED};
use check::Check;
use checked::{CHECKED, CHECKED_WITHOUT_NAMESPACES, DENIED_WITHOUT_NAMESPACES};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    Allow,
    /// EPERM.
    Deny,
    /// ENOSYS.
    Unknown,
    /// Allowed if all of these hold; else EPERM.
    If(&'static [Check]),
}

/// The filter for a child without network.
pub(crate) fn program(kind: Kind) -> Vec<Instruction> {
    let mut program = vec![
        load(OFFSET_ARCHITECTURE),
        jump_equal(ARCHITECTURE, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(OFFSET_NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The x32 calls share the architecture and differ in one bit.
        program.extend([jump_at_least(X32_BIT, 0, 1), answer(libc::SECCOMP_RET_KILL_PROCESS)]);
    }
    program.extend(tree(&ranges(kind)));
    program
}

/// From each number on, up to the next, what becomes of a call. Sorted; starts at 0.
fn ranges(kind: Kind) -> Vec<(u32, Leaf)> {
    let mut leaves: Vec<(u32, Leaf)> = Vec::new();
    let mut add = |number: libc::c_long, leaf| {
        if let Ok(number) = u32::try_from(number) {
            leaves.push((number, leaf));
        }
    };
    if kind == Kind::Kernel {
        // The first word on a number counts.
        for number in DENIED_WITHOUT_NAMESPACES {
            add(*number, Leaf::Deny);
        }
        for (number, checks) in CHECKED_WITHOUT_NAMESPACES {
            add(*number, Leaf::If(checks));
        }
    }
    for number in ALLOWED {
        add(*number, Leaf::Allow);
    }
    for number in DENIED {
        add(*number, Leaf::Deny);
    }
    for (number, checks) in CHECKED {
        add(*number, Leaf::If(checks));
    }
    leaves.sort_by_key(|(number, _)| *number);
    leaves.dedup_by_key(|(number, _)| *number);

    let mut ranges = vec![(0, Leaf::Unknown)];
    for (number, leaf) in leaves {
        push(&mut ranges, number, leaf);
        push(&mut ranges, number + 1, Leaf::Unknown);
    }
    ranges
}

/// Adds a range; one that changes nothing is left out, and one of no length is replaced.
fn push(ranges: &mut Vec<(u32, Leaf)>, from: u32, leaf: Leaf) {
    if ranges.last().is_some_and(|(last, _)| *last == from) {
        ranges.pop();
    }
    if ranges.last().is_none_or(|(_, last)| *last != leaf) {
        ranges.push((from, leaf));
    }
}

fn tree(ranges: &[(u32, Leaf)]) -> Vec<Instruction> {
    if let Some(block) = block(ranges) {
        return block;
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let first_high = high[0].0;
    let (low, high) = (tree(low), tree(high));
    // A conditional jump reaches 255 instructions; a plain one reaches all.
    let skip = u32::try_from(low.len()).unwrap_or(u32::MAX);
    [vec![jump_at_least(first_high, 0, 1), jump(skip)], low, high].concat()
}

/// A tree that is small enough for each comparison to reach each answer, which then stands in it once.
fn block(ranges: &[(u32, Leaf)]) -> Option<Vec<Instruction>> {
    let mut comparisons = Vec::new();
    let root = compare(ranges, &mut comparisons)?;
    let mut code = Vec::new();
    let mut leaves: Vec<(Leaf, usize)> = Vec::new();
    let targets = comparisons.iter().flat_map(|(_, high, low)| [*high, *low]).chain([root]);
    for leaf in targets.filter_map(Target::leaf) {
        if leaves.iter().all(|(known, _)| *known != leaf) {
            leaves.push((leaf, comparisons.len() + code.len()));
            code.extend(leaf.instructions());
        }
    }
    let place = |target: Target| match target {
        Target::Comparison(place) => Some(place),
        Target::Leaf(leaf) => leaves.iter().find(|(known, _)| *known == leaf).map(|(_, place)| *place),
    };
    let jumps = comparisons.iter().enumerate().map(|(from, (first_high, high, low))| {
        let reach = |target| u8::try_from(place(target)? - from - 1).ok();
        Some(jump_at_least(*first_high, reach(*high)?, reach(*low)?))
    });
    jumps.chain(code.iter().copied().map(Some)).collect()
}

/// Where a comparison goes on.
#[derive(Clone, Copy)]
enum Target {
    Comparison(usize),
    Leaf(Leaf),
}

impl Target {
    fn leaf(self) -> Option<Leaf> {
        if let Self::Leaf(leaf) = self { Some(leaf) } else { None }
    }
}

/// Adds the comparisons of a tree, each before those that it leads to.
fn compare(ranges: &[(u32, Leaf)], all: &mut Vec<(u32, Target, Target)>) -> Option<Target> {
    if let [(_, leaf)] = ranges {
        return Some(Target::Leaf(*leaf));
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let (first_high, (_, placeholder)) = (high.first()?.0, *low.first()?);
    let place = all.len();
    all.push((first_high, Target::Leaf(placeholder), Target::Leaf(placeholder)));
    let (low, high) = (compare(low, all)?, compare(high, all)?);
    all[place] = (first_high, high, low);
    Some(Target::Comparison(place))
}

impl Leaf {
    fn instructions(self) -> Vec<Instruction> {
        match self {
            Self::Allow => vec![answer(libc::SECCOMP_RET_ALLOW)],
            Self::Deny => vec![answer(errno(libc::EPERM))],
            Self::Unknown => vec![answer(errno(libc::ENOSYS))],
            Self::If(checks) => {
                let checks = checks.iter().flat_map(|check| check.instructions());
                checks.chain([answer(libc::SECCOMP_RET_ALLOW)]).collect()
            }
        }
    }
}

fn errno(code: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | u32::try_from(code).unwrap_or_default()
}

fn load(offset: u32) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn answer(value: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

fn jump(by: u32) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JA, by, 0, 0)
}

fn jump_equal(value: u32, if_true: u8, if_false: u8) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, if_true, if_false)
}

fn jump_at_least(value: u32, if_true: u8, if_false: u8) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value, if_true, if_false)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;
/// Of the low half of the first argument, on a little-endian machine.
const OFFSET_ARGUMENTS: u32 = 16;
const X32_BIT: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the system call list is reviewed for x86_64 and aarch64 only");

#[cfg(test)]
mod tests;
