//! A filter as other people put around us: some calls are taken away, all others pass.

use super::{Check, Instruction, OFFSET_NUMBER, answer, errno, jump_equal, load};

/// A call that is taken away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    number: libc::c_long,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Every call gets this answer.
    Answer(i32),
    /// EPERM where the check does not hold.
    Unless(Check),
    /// Whoever calls waits for the filter's listener to decide.
    Wait,
    /// As that, if the argument has one of these bits.
    WaitIf { argument: u32, bits: u32 },
}

impl Taken {
    /// Every such call answers this error.
    pub(crate) const fn always(number: libc::c_long, errno: i32) -> Self {
        Self { number, what: What::Answer(errno) }
    }

    /// Such a call with one of these bits in its first argument answers EPERM.
    pub(crate) const fn with_flags(number: libc::c_long, bits: u32) -> Self {
        Self { number, what: What::Unless(Check::NoneOf { argument: 0, bits }) }
    }

    /// Such a call waits for the filter's listener.
    pub(crate) const fn waiting(number: libc::c_long) -> Self {
        Self { number, what: What::Wait }
    }

    /// Such a call waits for the filter's listener if this argument has one of these bits.
    pub(crate) const fn waiting_if(number: libc::c_long, argument: u32, bits: u32) -> Self {
        Self { number, what: What::WaitIf { argument, bits } }
    }

    pub(crate) fn waits(&self) -> bool {
        matches!(self.what, What::Wait | What::WaitIf { .. })
    }
}

/// The filter without these calls. Calls of other architectures pass: this holds nobody in.
pub(crate) fn program(taken: &[Taken]) -> Vec<Instruction> {
    let mut program = vec![load(OFFSET_NUMBER)];
    for Taken { number, what } in taken.iter().copied() {
        let pass = answer(libc::SECCOMP_RET_ALLOW);
        let ask = answer(libc::SECCOMP_RET_USER_NOTIF);
        let then = match what {
            What::Answer(code) => Vec::from([answer(errno(code))]),
            What::Wait => Vec::from([ask]),
            What::Unless(check) => check.instructions().into_iter().chain([pass]).collect(),
            What::WaitIf { argument, bits } => {
                let only_if = Check::OnlyIf { argument, bits };
                only_if.instructions().into_iter().chain([ask]).collect()
            }
        };
        // A number that is none takes nothing; neither does a body too long to jump over, which is never written.
        let (Ok(number), Ok(skip)) = (u32::try_from(number), u8::try_from(then.len())) else { continue };
        program.push(jump_equal(number, 0, skip));
        program.extend(then);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::super::tests::judge;
    use super::*;

    #[test]
    fn what_is_taken_is_taken_and_all_else_passes() {
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
        let program = program(&[
            Taken::always(libc::SYS_clone3, libc::ENOSYS),
            Taken::with_flags(libc::SYS_unshare, 0x7e02_0000),
            Taken::waiting_if(libc::SYS_landlock_create_ruleset, 2, 1),
            Taken::waiting(libc::SYS_mount_setattr),
        ]);
        let judge = |number: libc::c_long, arguments: [u64; 3]| {
            let [first, second, third] = arguments;
            let number = u32::try_from(number).unwrap();
            judge(&program, super::super::ARCHITECTURE, number, [first, second, third, 0, 0, 0])
        };
        assert_eq!(judge(libc::SYS_clone3, [0; 3]), errno(libc::ENOSYS));
        assert_eq!(judge(libc::SYS_unshare, [0x1000_0000, 0, 0]), errno(libc::EPERM));
        assert_eq!(judge(libc::SYS_unshare, [0x200, 0, 0]), ALLOW);
        assert_eq!(judge(libc::SYS_landlock_create_ruleset, [0, 0, 1]), ASK);
        assert_eq!(judge(libc::SYS_landlock_create_ruleset, [1, 16, 0]), ALLOW);
        assert_eq!(judge(libc::SYS_mount_setattr, [0; 3]), ASK);
        for number in 0..500 {
            let is_taken = [libc::SYS_clone3, libc::SYS_mount_setattr].contains(&number);
            assert_eq!(judge(number, [0; 3]) == ALLOW, !is_taken, "{number}");
        }
    }
}
