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
    /// Whoever calls waits for somebody to decide.
    Wait,
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

    pub(crate) fn waits(&self) -> bool {
        matches!(self.what, What::Wait)
    }
}

/// The filter without these calls. Calls of other architectures pass: this holds nobody in.
pub(crate) fn program(taken: &[Taken]) -> Vec<Instruction> {
    let mut program = vec![load(OFFSET_NUMBER)];
    for Taken { number, what } in taken.iter().copied() {
        let mut then = match what {
            What::Answer(code) => Vec::from([answer(errno(code))]),
            What::Wait => Vec::from([answer(libc::SECCOMP_RET_USER_NOTIF)]),
            What::Unless(check) => check.instructions(),
        };
        if matches!(what, What::Unless(_)) {
            then.push(answer(libc::SECCOMP_RET_ALLOW));
        }
        // A number that is none takes nothing; neither does a body too long to jump over, which is never written.
        let (Ok(number), Ok(skip)) = (u32::try_from(number), u8::try_from(then.len())) else { continue };
        program.push(jump_equal(number, 0, skip));
        program.extend(then);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}
