//! Calls that are allowed with some arguments only. Where one is not, the answer is "not permitted".

#![allow(clippy::wildcard_imports, reason = "a list of names of one module")]

use libc::*;

use super::check::Check::{self, NoneOf, NotAll, NotOneOf, OneOf, OnlyIf};

/// Every check of a call must hold.
pub(super) const CHECKED: &[(c_long, &[Check])] = &[
    (SYS_clone, &[NoneOf { argument: 0, bits: CLONE_FORBIDDEN_FLAGS }]),
    (SYS_ioctl, &[OneOf { argument: 1, values: IOCTLS }]),
    (SYS_prctl, &[OneOf { argument: 0, values: PRCTLS }]),
    (SYS_personality, &[OneOf { argument: 0, values: PERSONALITIES }]),
    // The one end of a pair of datagram sockets can send to any address.
    (SYS_socketpair, &[OneOf { argument: 0, values: &[LOCAL] }, NoneOf { argument: 1, bits: DATAGRAM_BIT }]),
    // A lease makes the host wait for its own file; the other tells what others read.
    (SYS_fcntl, &[NotOneOf { argument: 1, values: &[SET_LEASE, NOTIFY] }]),
    (SYS_inotify_add_watch, &[NoneOf { argument: 2, bits: TELLS_OF_READING }]),
    (SYS_fallocate, &[OneOf { argument: 1, values: ALLOCATIONS }]),
    (SYS_setsockopt, &[NotOneOf { argument: 2, values: ATTACH_PROGRAM }]),
    (
        SYS_mmap,
        &[NotAll { argument: 3, bits: SHARED_AND_ANONYMOUS }, NoneOf { argument: 3, bits: GROWS_DOWN }],
    ),
    // Modes. Where a file is made, and where its mode is changed.
    (SYS_openat, &[OnlyIf { argument: 2, bits: CREATES }, NoneOf { argument: 3, bits: SET_ID }]),
    (SYS_fchmod, &[NoneOf { argument: 1, bits: SET_ID }]),
    (SYS_fchmodat, &[NoneOf { argument: 2, bits: SET_ID }]),
    (SYS_mknodat, &[NoneOf { argument: 2, bits: SET_ID | DEVICE }]),
    (SYS_renameat2, &[NoneOf { argument: 4, bits: WHITEOUT }]),
    #[cfg(target_arch = "x86_64")]
    (SYS_open, &[OnlyIf { argument: 1, bits: CREATES }, NoneOf { argument: 2, bits: SET_ID }]),
    #[cfg(target_arch = "x86_64")]
    (SYS_creat, &[NoneOf { argument: 1, bits: SET_ID }]),
    #[cfg(target_arch = "x86_64")]
    (SYS_chmod, &[NoneOf { argument: 1, bits: SET_ID }]),
    #[cfg(target_arch = "x86_64")]
    (SYS_mknod, &[NoneOf { argument: 1, bits: SET_ID | DEVICE }]),
];

/// Without namespaces the host's files and processes are in sight, and what is not opened Landlock does not judge. So
/// nothing changes what a file is like, and nothing waits for what others do with it.
pub(super) const DENIED_WITHOUT_NAMESPACES: &[c_long] = &[
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    #[cfg(target_arch = "x86_64")]
    SYS_inotify_init,
    #[cfg(target_arch = "x86_64")]
    SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    SYS_chown,
    #[cfg(target_arch = "x86_64")]
    SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    SYS_utime,
    #[cfg(target_arch = "x86_64")]
    SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    SYS_futimesat,
];

/// And nothing changes how another process runs.
pub(super) const CHECKED_WITHOUT_NAMESPACES: &[(c_long, &[Check])] = &[
    // Who owns a descriptor is sent signals; Landlock judges that too.
    (SYS_fcntl, &[NotOneOf { argument: 1, values: &[SET_LEASE, NOTIFY, SET_OWNER, SET_OWNER_EX] }]),
    (SYS_prlimit64, &[OneOf { argument: 0, values: OWN }]),
    (SYS_setpriority, &[OneOf { argument: 0, values: &[PRIO_PROCESS] }, OneOf { argument: 1, values: OWN }]),
    (SYS_sched_setaffinity, &[OneOf { argument: 0, values: OWN }]),
];
/// Nobody else's number.
const OWN: &[u32] = &[0];

/// The setuid and setgid bits: whoever finds such a program on the host would run it as the user who ran the sandbox.
/// `openat2` and `fchmodat2` are on no list, because the first keeps its mode where no filter can see it.
const SET_ID: u32 = 0o6000;
/// `O_CREAT` and what `O_TMPFILE` adds to it: only then is the mode looked at, and it may be anything else.
const CREATES: u32 = 0o100 | 0o20_000_000;
/// In the types of both kinds of devices and of nothing else that can be made.
const DEVICE: u32 = 0o020_000;
/// Leaves a device where the file was.
const WHITEOUT: u32 = 1 << 2;
const LOCAL: u32 = 1;
/// In the numbers of datagram and raw sockets, not in those of streams and sequences of packets.
const DATAGRAM_BIT: u32 = 2;
const SET_LEASE: u32 = 1024;
/// `F_NOTIFY`: a signal whenever somebody reads or changes something in a folder.
const NOTIFY: u32 = 1026;
/// `IN_ACCESS`, `IN_CLOSE_NOWRITE`, `IN_OPEN`. The machine's programs are everybody's, and who starts which is nobody's
/// business in here.
const TELLS_OF_READING: u32 = 0x31;
/// Making a file as large as what it takes, and `FALLOC_FL_PUNCH_HOLE` with `FALLOC_FL_KEEP_SIZE`, which gives back. With
/// the latter alone, or by inserting, most file systems take more than a file may have.
const ALLOCATIONS: &[u32] = &[0, 3];
/// `SO_ATTACH_FILTER` and its like, by which the kernel compiles and runs a program.
const ATTACH_PROGRAM: &[u32] = &[26, 50, 51, 52];
const SET_OWNER: u32 = 8;
const SET_OWNER_EX: u32 = 15;
/// Memory that is shared and nobody's file is counted by no limit. So is a stack's, which may be given any size.
const SHARED_AND_ANONYMOUS: u32 = 0x21;
const GROWS_DOWN: u32 = 0x100;

/// New namespaces, and running as the tracer's child.
const CLONE_FORBIDDEN_FLAGS: u32 = 0x7e02_0000 | 0x0000_0080 | 0x0000_2000;

/// Questions about a descriptor, and the two flags that libraries set by ioctl. No terminal is ever there; what would
/// type into one (`TIOCSTI`, `TIOCLINUX`) or change its discipline is not on the list.
const IOCTLS: &[u32] = &[
    0x5401,      // TCGETS: is this a terminal?
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x802c_542a, // TCGETS2, which newer C libraries ask instead of TCGETS
];

/// Names, signals on a parent's death, and questions.
const PRCTLS: &[u32] = &[
    1,           // PR_SET_PDEATHSIG
    2,           // PR_GET_PDEATHSIG
    3,           // PR_GET_DUMPABLE
    15,          // PR_SET_NAME
    16,          // PR_GET_NAME
    21,          // PR_GET_SECCOMP
    23,          // PR_CAPBSET_READ
    29,          // PR_SET_TIMERSLACK
    30,          // PR_GET_TIMERSLACK
    38,          // PR_SET_NO_NEW_PRIVS
    39,          // PR_GET_NO_NEW_PRIVS
    41,          // PR_SET_THP_DISABLE
    42,          // PR_GET_THP_DISABLE
    0x5356_4d41, // PR_SET_VMA: names of anonymous memory
];

/// The ordinary personality, and the question which one it is.
const PERSONALITIES: &[u32] = &[0, 0xffff_ffff];
