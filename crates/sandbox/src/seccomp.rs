//! Which system calls a child may make, as a filter program.
//!
//! A list of what is allowed; everything unknown answers "no such call", so that libraries fall back to older ones,
//! and what is known to be dangerous answers "not permitted". A call of another architecture kills. The program is a
//! search tree over call numbers: the kernel walks it for every number when it is loaded, and a long chain of
//! comparisons costs ten times as much at each launch.

mod calls;

use crate::sys::seccomp::Instruction;
use calls::{ALLOWED, CLONE_FORBIDDEN_FLAGS, DENIED, IOCTLS, PERSONALITIES, PRCTLS};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    Allow,
    /// EPERM.
    Deny,
    /// ENOSYS.
    Unknown,
    /// Allowed if the low half of this argument is one of these; else EPERM.
    OneOf {
        argument: u32,
        values: &'static [u32],
    },
    /// Allowed if the low half of this argument has none of these bits; else EPERM.
    NoneOf {
        argument: u32,
        bits: u32,
    },
}

/// The filter for a child without network.
pub(crate) fn program() -> Vec<Instruction> {
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
    program.extend(tree(&ranges()));
    program
}

/// From each number on, up to the next, what becomes of a call. Sorted; starts at 0.
fn ranges() -> Vec<(u32, Leaf)> {
    let mut leaves: Vec<(u32, Leaf)> = Vec::new();
    let mut add = |number: libc::c_long, leaf| {
        if let Ok(number) = u32::try_from(number) {
            leaves.push((number, leaf));
        }
    };
    for number in ALLOWED {
        add(*number, Leaf::Allow);
    }
    for number in DENIED {
        add(*number, Leaf::Deny);
    }
    add(libc::SYS_clone, Leaf::NoneOf { argument: 0, bits: CLONE_FORBIDDEN_FLAGS });
    add(libc::SYS_ioctl, Leaf::OneOf { argument: 1, values: IOCTLS });
    add(libc::SYS_prctl, Leaf::OneOf { argument: 0, values: PRCTLS });
    add(libc::SYS_personality, Leaf::OneOf { argument: 0, values: PERSONALITIES });
    leaves.sort_unstable_by_key(|(number, _)| *number);
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
    let [.., _] = ranges else { return vec![answer(errno(libc::ENOSYS))] };
    if let [(_, leaf)] = ranges {
        return leaf.instructions();
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let first_high = high[0].0;
    let (low, high) = (tree(low), tree(high));
    let mut program = Vec::with_capacity(low.len() + high.len() + 2);
    if let Ok(skip) = u8::try_from(low.len()) {
        program.push(jump_at_least(first_high, skip, 0));
    } else {
        // A conditional jump reaches 255 instructions; a plain one reaches all.
        let skip = u32::try_from(low.len()).unwrap_or(u32::MAX);
        program.extend([jump_at_least(first_high, 0, 1), jump(skip)]);
    }
    program.extend(low);
    program.extend(high);
    program
}

impl Leaf {
    fn instructions(self) -> Vec<Instruction> {
        match self {
            Self::Allow => vec![answer(libc::SECCOMP_RET_ALLOW)],
            Self::Deny => vec![answer(errno(libc::EPERM))],
            Self::Unknown => vec![answer(errno(libc::ENOSYS))],
            // Only the low half counts, as in the kernel: all these arguments are 32 bits wide there.
            Self::OneOf { argument, values } => {
                let mut program = vec![load(OFFSET_ARGUMENTS + 8 * argument)];
                for (index, value) in values.iter().enumerate() {
                    let to_allow = u8::try_from(values.len() - index).unwrap_or(u8::MAX);
                    program.push(jump_equal(*value, to_allow, 0));
                }
                program.extend([answer(errno(libc::EPERM)), answer(libc::SECCOMP_RET_ALLOW)]);
                program
            }
            Self::NoneOf { argument, bits } => vec![
                load(OFFSET_ARGUMENTS + 8 * argument),
                instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, 0, 1),
                answer(errno(libc::EPERM)),
                answer(libc::SECCOMP_RET_ALLOW),
            ],
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
    fn judge(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
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
        judge(&program(), ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    #[test]
    fn every_number_gets_the_answer_of_its_list() {
        let program = program();
        for number in 0..1024u32 {
            let is = |list: &[libc::c_long]| list.contains(&i64::from(number));
            let checked = [libc::SYS_clone, libc::SYS_ioctl, libc::SYS_prctl, libc::SYS_personality];
            if is(&checked) {
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
    fn no_call_is_both_allowed_and_denied() {
        for number in ALLOWED {
            assert!(!DENIED.contains(number), "{number}");
        }
    }

    #[test]
    fn arguments_are_compared_in_their_low_half() {
        const DENY: u32 = libc::SECCOMP_RET_ERRNO | 1;
        let high = 1 << 32;
        let tiocsti = 0x5412;
        assert_eq!(call(libc::SYS_ioctl, [1, tiocsti, 0, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_ioctl, [1, tiocsti | high, 0, 0, 0, 0]), DENY);
        assert_eq!(call(libc::SYS_ioctl, [1, u64::from(IOCTLS[0]), 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        let last = u64::from(IOCTLS[IOCTLS.len() - 1]);
        assert_eq!(call(libc::SYS_ioctl, [1, last, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        for namespace in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            let flags = u64::try_from(namespace).unwrap();
            assert_eq!(call(libc::SYS_clone, [flags | 0x11, 0, 0, 0, 0, 0]), DENY);
        }
        assert_eq!(call(libc::SYS_clone, [17, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(call(libc::SYS_clone3, [0; 6]), errno(libc::ENOSYS));
        assert_eq!(call(libc::SYS_socket, [1, 1, 0, 0, 0, 0]), DENY);
    }

    #[test]
    fn other_architectures_die() {
        let i386 = 0x4000_0003;
        assert_eq!(judge(&program(), i386, 1, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(call(i64::from(X32_BIT), [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    /// The kernel's cost of loading grows with the program.
    #[test]
    fn the_program_stays_small() {
        assert!(program().len() <= 300, "{} instructions", program().len());
    }
}
