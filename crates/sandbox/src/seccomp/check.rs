//! What a call's arguments must be like.

use super::{Instruction, answer, errno, instruction, jump_equal, load};

/// A condition on one argument. Only the low half of it counts: whatever is asked about is 32 bits wide in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// It is one of these.
    OneOf { argument: u32, values: &'static [u32] },
    /// It is none of these.
    NotOneOf { argument: u32, values: &'static [u32] },
    /// It has none of these bits.
    NoneOf { argument: u32, bits: u32 },
    /// It does not have all of these bits.
    NotAll { argument: u32, bits: u32 },
    /// The checks that follow count only if it has one of these bits; else the call is allowed.
    OnlyIf { argument: u32, bits: u32 },
}

impl Check {
    /// Goes on behind itself where the condition holds, and answers EPERM where it does not.
    pub(super) fn instructions(self) -> Vec<Instruction> {
        let deny = answer(errno(libc::EPERM));
        let argument = |number: u32| load(super::OFFSET_ARGUMENTS + 8 * number);
        let if_any = |bits, to, or| instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, to, or);
        match self {
            Self::OneOf { argument: number, values } => {
                let tests = values.iter().enumerate().map(|(index, value)| {
                    jump_equal(*value, u8::try_from(values.len() - index).unwrap_or(u8::MAX), 0)
                });
                std::iter::once(argument(number)).chain(tests).chain([deny]).collect()
            }
            Self::NotOneOf { argument: number, values } => {
                let tests = values.iter().flat_map(|value| [jump_equal(*value, 0, 1), deny]);
                std::iter::once(argument(number)).chain(tests).collect()
            }
            Self::NoneOf { argument: number, bits } => vec![argument(number), if_any(bits, 0, 1), deny],
            Self::NotAll { argument: number, bits } => {
                let and = instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, bits, 0, 0);
                vec![argument(number), and, jump_equal(bits, 0, 1), deny]
            }
            Self::OnlyIf { argument: number, bits } => {
                vec![argument(number), if_any(bits, 1, 0), answer(libc::SECCOMP_RET_ALLOW)]
            }
        }
    }
}
