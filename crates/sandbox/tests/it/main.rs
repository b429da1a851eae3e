//! Every attack of the list, one test for each, and the list itself.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "compares the documentation, and lays out files of the host"
)]
#![expect(clippy::expect_used, clippy::panic, reason = "tests")]

mod ends;
mod endurance;
mod grants;
mod inside;
mod list;
mod machines;
mod missing;
mod page;
mod property;
mod work;

use std::path::PathBuf;

use fumehood_sandbox::Sandbox;
use fumehood_sandbox::prove::{Verdict, attacks, prove_one};

/// The launcher and attacker: this test binary cannot be either itself. Elsewhere where another user must run it.
fn program() -> PathBuf {
    std::env::var_os("FUMEHOOD_SANDBOX_HELPER")
        .map_or_else(|| env!("CARGO_BIN_EXE_fumehood-sandbox-helper").into(), PathBuf::from)
}

fn holds(test: &str) {
    let name = test.replace('_', "-");
    let attack = attacks().iter().find(|attack| attack.name == name).expect("the list has the attack");
    let sandbox = Sandbox::start_with(&program()).expect("this machine has a sandbox");
    let proof = prove_one(&sandbox, &program(), attack);
    println!("outside: {}\ninside: {}", proof.outside, proof.inside);
    match proof.verdict {
        Verdict::Held => {}
        // What the machine does not have cannot be attacked; where tests count, it must have it.
        Verdict::NotRun(why) => assert!(std::env::var_os("REQUIRE_SANDBOX").is_none(), "not run: {why}"),
        Verdict::Broken(why) => panic!("{why}"),
    }
}

macro_rules! rows {
    ($( $name:ident )*) => {
        /// The tests below, by name.
        const TESTS: &[&str] = &[ $( stringify!($name), )* ];
        $(
            #[test]
            fn $name() {
                crate::holds(stringify!($name));
            }
        )*
    };
}

mod attack {
    rows! {
        read_a_host_file
        link_to_a_host_file
        granted_link_to_a_host_file
        climb_out_of_a_grant
        climb_out_of_the_current_folder
        leaked_folder
        leaked_descriptors
        root_of_a_process
        list_the_root
        read_host_settings
        read_kernel_files
        watch_a_host_folder
        watch_what_is_started
        device_nodes
        kernel_files
        shared_memory_of_the_host
        foreign_mounts
        sockets_by_proc
        write_a_granted_file
        change_a_granted_folder
        change_metadata
        change_mode_of_a_host_file
        touch_a_host_file
        move_a_host_file
        write_to_a_program
        write_to_the_system
        hard_link_out
        setuid_file
        device_file
        attributes
        lease_a_granted_file
        run_what_it_wrote
        loader_runs_what_it_wrote
        run_from_memory
        write_to_proc
        open_for_writing
        signal_a_host_process
        signal_by_descriptor
        signal_everybody
        slow_a_host_process
        pin_a_host_process
        signal_by_file_owner
        kill_its_init
        read_a_host_process
        see_host_processes
        environment_of_others
        inherited_environment
        read_pid_1
        command_line_of_pid_1
        limit_others
        new_namespaces
        mount_a_tmpfs
        mount_proc
        mount_cgroups
        mount_an_overlay
        bind_a_folder
        remount_writable
        share_mounts
        uncover
        change_root
        be_root
        regain_privileges
        name_of_the_host
        rename_the_host
        session_of_the_host
        io_uring
        userfaultfd
        bpf
        perf_events
        keyrings
        file_handles
        trace_a_process
        memory_of_others
        kernel_pointers
        descriptors_of_others
        execute_by_descriptor
        terminal_input
        terminal_input_in_64_bits
        terminal_takeover
        personality
        filter_with_listener
        watch_everything
        system_v_ipc
        message_queues
        swap_and_quota
        clocks
        reboot
        memory_placement
        scheduling
        mount_api
        pivot_root
        list_mounts
        newer_calls
        clone3
        unshare
        setns
        pipe_splicing
        change_identity
        socket_filter
        kernel_memory_pages
        processor_tables
        x32_calls
        calls_of_32_bit_programs
        tcp_to_the_host
        udp_to_the_host
        leak_by_name
        listen
        raw_packets
        netlink
        vm_sockets
        any_socket_family
        interfaces
        local_socket
        local_socket_in_a_grant
        named_pipe_in_a_grant
        local_datagram
        datagram_by_a_pair
        descriptors_on_their_way
        socket_pairs
        abstract_socket
        offer_a_local_socket
        memory_bomb
        shared_memory_bomb
        stack_bomb
        page_table_bomb
        lock_memory
        fill_temporary_folder
        fill_shared_memory_folder
        many_temporary_files
        many_shared_memory_files
        fill_the_root
        fork_bomb
        breeding_bomb
        thread_bomb
        large_file
        sparse_file
        reserved_file
        queued_signals
        open_files
        many_timers
        raise_limits
        core_dump
        spin
        spin_on
        flood_output
        flood_errors
        grandchild_after_exit
        daemon_after_exit
        many_daemons_after_exit
        outlive_the_deadline
        ignore_the_polite_signal
        close_standard_streams
        daemon_at_the_deadline
        fork_while_killed
        grant_a_link
        grant_a_pipe
        swap_a_grant
        place_below_a_grant
        current_folder_by_proc
        neighbours
        strange_arguments
        flood_that_is_cut
        unread_input
        cancelled_run
        dropped_run
        slow_set_up
        host_dies
        host_dies_at_any_moment
        launcher_dies
        host_and_launcher_die
        init_dies
        interrupted_terminal
        ignored_children
        leftovers
    }

    #[test]
    fn every_attack_has_a_test() {
        let mut names: Vec<String> =
            fumehood_sandbox::prove::attacks().iter().map(|attack| attack.name.replace('-', "_")).collect();
        let mut tests: Vec<&str> = TESTS.to_vec();
        names.sort_unstable();
        tests.sort_unstable();
        assert_eq!(names, tests);
    }
}
