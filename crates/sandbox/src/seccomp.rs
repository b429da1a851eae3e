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
mod tests {
    use super::*;

    /// Runs the program as the kernel would.
    pub(super) fn judge(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let low = |value: u64| u32::try_from(value & 0xffff_ffff).unwrap();
        let word = |offset: u32| match offset {
            OFFSET_NUMBER => number,
            OFFSET_ARCHITECTURE => architecture,
            offset => low(arguments[usize::try_from((offset - OFFSET_ARGUMENTS) / 8).unwrap()]),
        };
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            at += 1;
            let taken = match u32::from(code) {
                c if c == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    accumulator = word(k);
                    continue;
                }
                c if c == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K => {
                    accumulator &= k;
                    continue;
                }
                c if c == libc::BPF_RET | libc::BPF_K => return k,
                c if c == libc::BPF_JMP | libc::BPF_JA => {
                    at += usize::try_from(k).unwrap();
                    continue;
                }
                c if c == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => accumulator == k,
                c if c == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => accumulator >= k,
                c if c == libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K => accumulator & k != 0,
                c => panic!("instruction {c}"),
            };
            at += usize::from(if taken { jt } else { jf });
        }
    }

    fn call(number: libc::c_long, arguments: [u64; 6]) -> u32 {
        judge(&program(Kind::Namespaces), ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    #[test]
    fn without_namespaces_a_call_changes_nothing_of_others() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let program = program(Kind::Kernel);
        let call = |number: libc::c_long, arguments: [u64; 6]| {
            judge(&program, ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
        };
        for number in DENIED_WITHOUT_NAMESPACES {
            assert_eq!(call(*number, [0; 6]), DENY, "call {number}");
        }
        for (pid, answer) in [(0, libc::SECCOMP_RET_ALLOW), (1, DENY), (1 << 31, DENY), (0xffff_ffff, DENY)] {
            assert_eq!(call(libc::SYS_prlimit64, [pid, 4, 0, 0, 0, 0]), answer);
            assert_eq!(call(libc::SYS_setpriority, [0, pid, 7, 0, 0, 0]), answer);
            assert_eq!(call(libc::SYS_sched_setaffinity, [pid, 8, 0, 0, 0, 0]), answer);
        }
        // A group's, and a user's.
        assert_eq!(call(libc::SYS_setpriority, [1, 0, 7, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_setpriority, [2, 0, 7, 0, 0, 0]), DENY);
        let (set_owner, get_flags) = (8, 3);
        assert_eq!(call(libc::SYS_fcntl, [3, set_owner, 1, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_fcntl, [3, get_flags, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        // What is checked at every level is checked here.
        assert_eq!(call(libc::SYS_fcntl, [3, 1024, 0, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_ioctl, [1, 0x5412, 0, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_socket, [1, 1, 0, 0, 0, 0]), DENY);
    }

    #[test]
    fn every_number_gets_the_answer_of_its_list() {
        let program = program(Kind::Namespaces);
        for number in 0..1024u32 {
            let is = |list: &[libc::c_long]| list.contains(&i64::from(number));
            if CHECKED.iter().any(|(checked, _)| *checked == i64::from(number)) {
                continue;
            }
            let expected = match () {
                () if is(ALLOWED) => libc::SECCOMP_RET_ALLOW,
                () if is(DENIED) => errno(libc::EPERM),
                () => errno(libc::ENOSYS),
            };
            assert_eq!(judge(&program, ARCHITECTURE, number, [0; 6]), expected, "call {number}");
        }
    }

    #[test]
    fn no_call_is_on_two_lists() {
        for number in ALLOWED {
            assert!(!DENIED.contains(number), "{number}");
        }
        for (number, _) in CHECKED {
            assert!(!DENIED.contains(number) && !ALLOWED.contains(number), "{number}");
        }
    }

    #[test]
    fn arguments_are_compared_in_their_low_half() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        const SIGCHLD: u64 = 0x11;
        let high = 1 << 32;
        let tiocsti = 0x5412;
        assert_eq!(call(libc::SYS_ioctl, [1, tiocsti, 0, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_ioctl, [1, tiocsti | high, 0, 0, 0, 0]), DENY);
        let (tcgets, tcgets2) = (0x5401, 0x802c_542a);
        assert_eq!(call(libc::SYS_ioctl, [1, tcgets, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(call(libc::SYS_ioctl, [1, tcgets2, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        for namespace in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            let flags = u64::try_from(namespace).unwrap();
            assert_eq!(call(libc::SYS_clone, [flags | SIGCHLD, 0, 0, 0, 0, 0]), DENY);
        }
        assert_eq!(call(libc::SYS_clone, [SIGCHLD, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(call(libc::SYS_clone3, [0; 6]), errno(libc::ENOSYS));
        assert_eq!(call(libc::SYS_socket, [1, 1, 0, 0, 0, 0]), DENY);
    }

    #[test]
    fn no_mode_has_the_setuid_bit() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        for (mode, answer) in [(0o755, ALLOW), (0o1777, ALLOW), (0o4755, DENY), (0o2755, DENY)] {
            assert_eq!(call(libc::SYS_fchmod, [3, mode, 0, 0, 0, 0]), answer);
            assert_eq!(call(libc::SYS_fchmodat, [3, 0, mode, 0, 0, 0]), answer);
            assert_eq!(call(libc::SYS_mknodat, [3, 0, 0o100_000 | mode, 0, 0, 0]), answer);
            let create = u64::try_from(libc::O_CREAT | libc::O_WRONLY).unwrap();
            let temporary = u64::try_from(libc::O_TMPFILE | libc::O_RDWR).unwrap();
            assert_eq!(call(libc::SYS_openat, [3, 0, create, mode, 0, 0]), answer);
            assert_eq!(call(libc::SYS_openat, [3, 0, temporary, mode, 0, 0]), answer);
            // Nobody looks at the mode of a file that is there.
            let directory = u64::try_from(libc::O_DIRECTORY).unwrap();
            assert_eq!(call(libc::SYS_openat, [3, 0, directory, mode, 0, 0]), ALLOW);
        }
        for (kind, answer) in [(0o010_000, ALLOW), (0o100_000, ALLOW), (0o020_000, DENY), (0o060_000, DENY)] {
            assert_eq!(call(libc::SYS_mknodat, [3, 0, kind | 0o644, 0, 0, 0]), answer);
        }
        assert_eq!(call(libc::SYS_openat2, [0; 6]), errno(libc::ENOSYS));
    }

    #[test]
    fn memory_is_counted() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let map = |flags: i32| call(libc::SYS_mmap, [0, 4096, 3, u64::try_from(flags).unwrap(), 0, 0]);
        for flags in [libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE] {
            assert_eq!(map(flags | libc::MAP_STACK), libc::SECCOMP_RET_ALLOW);
            assert_eq!(map(flags | libc::MAP_GROWSDOWN), DENY);
        }
        assert_eq!(map(libc::MAP_SHARED | libc::MAP_ANONYMOUS), DENY);
        assert_eq!(map(libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS), DENY);
    }

    #[test]
    fn files_take_no_more_than_they_are_large() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let allocate =
            |mode: i32| call(libc::SYS_fallocate, [3, u64::try_from(mode).unwrap(), 0, 4096, 0, 0]);
        let (keep, punch) = (libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_PUNCH_HOLE);
        assert_eq!([0, keep | punch].map(allocate), [libc::SECCOMP_RET_ALLOW; 2]);
        let others = [keep, libc::FALLOC_FL_ZERO_RANGE | keep, libc::FALLOC_FL_INSERT_RANGE];
        assert_eq!(others.map(allocate), [DENY; 3]);
    }

    #[test]
    fn nobody_is_told_what_others_read() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let watch = |mask: u32| call(libc::SYS_inotify_add_watch, [3, 0, mask.into(), 0, 0, 0]);
        for mask in [libc::IN_ACCESS, libc::IN_OPEN, libc::IN_CLOSE_NOWRITE, libc::IN_ALL_EVENTS] {
            assert_eq!([watch(mask), watch(mask | libc::IN_MODIFY)], [DENY; 2]);
        }
        for mask in [libc::IN_MODIFY | libc::IN_CREATE, libc::IN_CLOSE_WRITE | libc::IN_MOVE] {
            assert_eq!(watch(mask), libc::SECCOMP_RET_ALLOW);
        }
    }

    #[test]
    fn pairs_are_local_streams() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let pair = |family: i32, kind: i32| {
            let [family, kind] = [family, kind].map(|number| u64::try_from(number).unwrap());
            call(libc::SYS_socketpair, [family, kind, 0, 0, 0, 0])
        };
        for flags in [0, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK] {
            assert_eq!(pair(libc::AF_UNIX, libc::SOCK_STREAM | flags), libc::SECCOMP_RET_ALLOW);
            assert_eq!(pair(libc::AF_UNIX, libc::SOCK_SEQPACKET | flags), libc::SECCOMP_RET_ALLOW);
            assert_eq!(pair(libc::AF_UNIX, libc::SOCK_DGRAM | flags), DENY);
            assert_eq!(pair(libc::AF_UNIX, libc::SOCK_RAW | flags), DENY);
            assert_eq!(pair(libc::AF_TIPC, libc::SOCK_STREAM | flags), DENY);
        }
    }

    #[test]
    fn other_architectures_die() {
        let i386 = 0x4000_0003;
        assert_eq!(judge(&program(Kind::Namespaces), i386, 1, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(call(i64::from(X32_BIT), [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    /// The kernel's cost of loading grows with the program.
    #[test]
    fn the_program_stays_small() {
        for kind in [Kind::Namespaces, Kind::Kernel] {
            assert!(program(kind).len() <= 300, "{kind:?}: {} instructions", program(kind).len());
        }
    }
}
