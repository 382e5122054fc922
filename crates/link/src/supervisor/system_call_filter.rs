//! The system call filter of a sandboxed server. It answers calls with the errors that a kernel without the feature would
//! return, so runtimes fall back instead of failing.
//!
//! It lists what is removed, not what is allowed: programs are not known in advance. System calls newer than this list are
//! removed as a whole.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::namespaces;
use super::spec::StartFailure;

/// Conditions on the arguments of a call; an empty list matches every call.
type CallRules = BTreeMap<i64, Vec<Vec<Condition>>>;

/// A condition on the 32 low bits of an argument.
#[derive(Clone)]
enum Condition {
    Equal(u8, i32),
    NotEqual(u8, i32),
    /// Index, mask, and the value of the masked bits.
    Bits(u8, i32, i32),
}
use Condition::{Bits, Equal, NotEqual};

/// The newest system call that was reviewed for this filter, `mseal` of Linux 6.10. Newer calls are "not implemented".
const NEWEST_CALL: u32 = 462;

/// Kernel interfaces that a server does not need, and that programs do without: io_uring gives access that no filter sees,
/// and `clone3` and `openat2` pass their flags in memory that no filter can read.
const NOT_IMPLEMENTED: [i64; 11] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_memfd_secret,
];

/// Calls that act on other processes, on namespaces and mounts, or on the system.
const NOT_PERMITTED: [i64; 44] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_migrate_pages,
];

/// Flags of `clone` that create namespaces.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Bits of a socket type that name the type; the others are flags.
const SOCKET_TYPE_MASK: i32 = 0xf;

/// Applies the filter to this thread and to the processes that it starts.
pub(super) fn apply_filter() -> Result<(), StartFailure> {
    let missing = |error: &dyn std::fmt::Display| {
        namespaces::missing_part("system call filters (seccomp)", error)
    };
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| missing(&error))?;
    let parts = [
        (libc::ENOSYS, match_always(&NOT_IMPLEMENTED)),
        (libc::EPERM, unpermitted_calls()),
        (libc::EAFNOSUPPORT, unsupported_families()),
        (libc::EPROTONOSUPPORT, unsupported_protocols()),
    ];
    seccompiler::apply_filter(&reject_unknown_numbers()).map_err(|error| missing(&error))?;
    for (error, calls) in parts {
        let filter = compile_filter(error, calls, arch).map_err(|error| missing(&error))?;
        seccompiler::apply_filter(&filter).map_err(|error| missing(&error))?;
    }
    Ok(())
}

fn match_always(calls: &[i64]) -> CallRules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn unpermitted_calls() -> CallRules {
    let mut calls = match_always(&NOT_PERMITTED);
    calls.insert(libc::SYS_clone, NAMESPACE_FLAGS.map(|flag| vec![Bits(0, flag, flag)]).to_vec());
    // Input that the terminal would execute as if it was typed.
    let terminal_input = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|request| vec![Equal(1, i32::try_from(request).unwrap_or_default())]);
    calls.insert(libc::SYS_ioctl, terminal_input.to_vec());
    // A lease on a file that is only granted for reading would delay every other process that writes it.
    calls.insert(libc::SYS_fcntl, vec![vec![Equal(1, libc::F_SETLEASE)]]);
    for (call, mode, flags) in file_mode_calls() {
        let bits = [libc::S_ISUID, libc::S_ISGID].map(u32::cast_signed);
        let bits = bits.map(|bit| Bits(mode, bit, bit));
        // The mode of `open` counts only if it creates a file.
        let rules = bits.into_iter().flat_map(|bit| match flags {
            Some(flags) => [libc::O_CREAT, libc::O_TMPFILE]
                .map(|flag| vec![bit.clone(), Bits(flags, flag, flag)])
                .to_vec(),
            None => vec![vec![bit]],
        });
        calls.insert(call, rules.collect());
    }
    #[cfg(target_arch = "x86_64")]
    calls.extend(match_always(&[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt]));
    calls
}

/// Returns the calls that set the mode of a file, the argument with the mode, and the argument with the flags of `open`. A
/// program with the rights of its owner (set-user-ID) in a write grant would outlive the server, which may be root's.
fn file_mode_calls() -> Vec<(i64, u8, Option<u8>)> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1, None),
        (libc::SYS_fchmodat, 2, None),
        (libc::SYS_fchmodat2, 2, None),
        (libc::SYS_mknodat, 2, None),
        (libc::SYS_openat, 3, Some(2)),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_chmod, 1, None),
        (libc::SYS_mknod, 1, None),
        (libc::SYS_creat, 1, None),
        (libc::SYS_open, 2, Some(1)),
    ]);
    calls
}

/// Internet sockets, and netlink for the list of interfaces. No unix sockets: a path or an abstract name would reach other
/// programs, such as Docker or an SSH agent. A connected pair is allowed.
fn unsupported_families() -> CallRules {
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    CallRules::from([
        (libc::SYS_socket, vec![families.map(|family| NotEqual(0, family)).to_vec()]),
        (libc::SYS_socketpair, vec![vec![NotEqual(0, libc::AF_UNIX)]]),
    ])
}

fn unsupported_protocols() -> CallRules {
    let others =
        |allowed: [i32; 2]| (0..=SOCKET_TYPE_MASK).filter(move |kind| !allowed.contains(kind));
    let mut sockets = vec![vec![Equal(0, libc::AF_NETLINK), NotEqual(2, libc::NETLINK_ROUTE)]];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let kinds = others([libc::SOCK_STREAM, libc::SOCK_DGRAM]);
        sockets.extend(kinds.map(|kind| vec![Equal(0, family), Bits(1, SOCKET_TYPE_MASK, kind)]));
        // TCP, UDP and ping. Others, such as MPTCP and SCTP, are only more code of the kernel within reach.
        let protocols =
            [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
        let protocols = protocols.into_iter().map(|protocol| NotEqual(2, protocol));
        sockets.push(protocols.chain([Equal(0, family)]).collect());
    }
    // A datagram pair can send to any path, unlike the types that stay connected.
    let pairs = others([libc::SOCK_STREAM, libc::SOCK_SEQPACKET])
        .map(|kind| vec![Bits(1, SOCKET_TYPE_MASK, kind)]);
    CallRules::from([(libc::SYS_socket, sockets), (libc::SYS_socketpair, pairs.collect())])
}

fn compile_filter(
    error: i32,
    calls: CallRules,
    arch: TargetArch,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = BTreeMap::new();
    for (call, alternatives) in calls {
        let alternatives = alternatives.into_iter().map(|conditions| {
            let conditions =
                conditions.into_iter().map(build_condition).collect::<Result<_, _>>()?;
            SeccompRule::new(conditions)
        });
        rules.insert(call, alternatives.collect::<Result<Vec<_>, _>>()?);
    }
    let error = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, error, arch)?.try_into()
}

fn build_condition(condition: Condition) -> Result<SeccompCondition, seccompiler::BackendError> {
    let extend = |value: i32| u64::from(value.cast_unsigned());
    let (argument, operation, value) = match condition {
        Equal(argument, value) => (argument, SeccompCmpOp::Eq, value),
        NotEqual(argument, value) => (argument, SeccompCmpOp::Ne, value),
        Bits(argument, mask, value) => (argument, SeccompCmpOp::MaskedEq(extend(mask)), value),
    };
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, extend(value))
}

/// Returns a program that answers numbers above [`NEWEST_CALL`] with "not implemented". This includes the second set of
/// numbers of x86-64 (x32), which would bypass rules for the first.
fn reject_unknown_numbers() -> BpfProgram {
    let statement = |code: u32, jump_true, jump_false, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt: jump_true,
        jf: jump_false,
        k,
    };
    // The system call's number is the first word of the data.
    vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 0, 1, NEWEST_CALL),
        statement(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            SeccompAction::Errno(libc::ENOSYS.cast_unsigned()).into(),
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, SeccompAction::Allow.into()),
    ]
}
