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
    let allocate = |mode: i32| call(libc::SYS_fallocate, [3, u64::try_from(mode).unwrap(), 0, 4096, 0, 0]);
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
