//! The reviewed lists. A call is on the first because ordinary programs (shells, Python, Node) need it and it reaches
//! nothing outside what the mounts, limits and namespaces allow.

#![allow(clippy::wildcard_imports, reason = "a list of three hundred names of one module")]

use libc::*;

/// Calls that are allowed whatever their arguments.
pub(super) const ALLOWED: &[c_long] = &[
    // Files, by path and by descriptor.
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_openat,
    SYS_openat2,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync_file_range,
    SYS_fadvise64,
    SYS_readahead,
    SYS_flock,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_statfs,
    SYS_fstatfs,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_umask,
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_close_range,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    SYS_mknodat,
    // Waiting.
    SYS_pipe2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_signalfd4,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_inotify_rm_watch,
    // Memory. memfd_create is not here: what runs comes from the mounts.
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_mincore,
    SYS_msync,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_membarrier,
    SYS_rseq,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
    // Processes and threads of its own.
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_futex,
    SYS_futex_waitv,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_rr_get_interval,
    SYS_sched_getattr,
    SYS_getpriority,
    SYS_setpriority,
    SYS_getrusage,
    SYS_times,
    SYS_prlimit64,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_getcpu,
    // Signals.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_restart_syscall,
    // Who and when.
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capget,
    SYS_uname,
    SYS_sysinfo,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getitimer,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
    SYS_getrandom,
    // A pair of connected sockets is a pipe in both directions; no address is involved.
    SYS_socketpair,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    #[cfg(target_arch = "x86_64")]
    SYS_open,
    #[cfg(target_arch = "x86_64")]
    SYS_stat,
    #[cfg(target_arch = "x86_64")]
    SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    SYS_access,
    #[cfg(target_arch = "x86_64")]
    SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    SYS_rename,
    #[cfg(target_arch = "x86_64")]
    SYS_link,
    #[cfg(target_arch = "x86_64")]
    SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    SYS_chown,
    #[cfg(target_arch = "x86_64")]
    SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    SYS_creat,
    #[cfg(target_arch = "x86_64")]
    SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    SYS_utime,
    #[cfg(target_arch = "x86_64")]
    SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    SYS_poll,
    #[cfg(target_arch = "x86_64")]
    SYS_select,
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_create,
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    SYS_eventfd,
    #[cfg(target_arch = "x86_64")]
    SYS_signalfd,
    #[cfg(target_arch = "x86_64")]
    SYS_inotify_init,
    #[cfg(target_arch = "x86_64")]
    SYS_fork,
    #[cfg(target_arch = "x86_64")]
    SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    SYS_getpgrp,
    #[cfg(target_arch = "x86_64")]
    SYS_alarm,
    #[cfg(target_arch = "x86_64")]
    SYS_pause,
    #[cfg(target_arch = "x86_64")]
    SYS_time,
    #[cfg(target_arch = "x86_64")]
    SYS_arch_prctl,
];

/// Calls that are known and refused. Naming them changes only the answer, from "no such call" to "not permitted",
/// which programs report better.
pub(super) const DENIED: &[c_long] = &[
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
    SYS_mount_setattr,
    SYS_unshare,
    SYS_setns,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_execveat,
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_acct,
    SYS_syslog,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_settimeofday,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_seccomp,
    SYS_capset,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_lookup_dcookie,
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_shmdt,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_vmsplice,
    SYS_process_madvise,
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_setattr,
    SYS_ioprio_set,
    #[cfg(target_arch = "x86_64")]
    SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    SYS_sysfs,
];

/// New namespaces, and running as the tracer's child.
pub(super) const CLONE_FORBIDDEN_FLAGS: u32 = 0x7e02_0000 | 0x0000_0080 | 0x0000_2000;

/// Questions about a descriptor, and the two flags that libraries set by ioctl. No terminal is ever there; what would
/// type into one (`TIOCSTI`, `TIOCLINUX`) or change its discipline is not on the list.
pub(super) const IOCTLS: &[u32] = &[
    0x5401,      // TCGETS: is this a terminal?
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x802c_542a, // TCGETS2, which newer C libraries ask instead of TCGETS
];

/// Names, signals on a parent's death, and questions.
pub(super) const PRCTLS: &[u32] = &[
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
pub(super) const PERSONALITIES: &[u32] = &[0, 0xffff_ffff];
