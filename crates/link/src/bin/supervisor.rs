//! The supervisor as a standalone program, for tests. In `vouch` it is a hidden subcommand.
//!
//! `supervisor --deny CALL` simulates a kernel without a system call: it answers the call with "not implemented". `CALL` is a
//! name of [`DENIABLE`].

use std::process::ExitCode;

use nix::libc;
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The first argument of the calls that are denied.
#[derive(Clone, Copy)]
enum FirstArgument {
    Any,
    Is(i32),
    /// All of these bits are set.
    Has(i32),
}
use FirstArgument::{Any, Has, Is};

/// Calls that can be denied: the name, the number, the error, and the first argument.
const DENIABLE: [(&str, i64, i32, FirstArgument); 32] = [
    ("user", libc::SYS_unshare, libc::EPERM, Has(libc::CLONE_NEWUSER)),
    ("process", libc::SYS_unshare, libc::EINVAL, Has(libc::CLONE_NEWPID)),
    ("mount-namespace", libc::SYS_unshare, libc::ENOSYS, Has(libc::CLONE_NEWNS)),
    ("ipc", libc::SYS_unshare, libc::EINVAL, Has(libc::CLONE_NEWIPC)),
    ("network", libc::SYS_unshare, libc::ENOSYS, Has(libc::CLONE_NEWNET)),
    ("no-user", libc::SYS_unshare, libc::ENOSYS, Has(libc::CLONE_NEWUSER)),
    ("no-process", libc::SYS_unshare, libc::ENOSYS, Has(libc::CLONE_NEWPID)),
    ("no-ipc", libc::SYS_unshare, libc::ENOSYS, Has(libc::CLONE_NEWIPC)),
    ("landlock", libc::SYS_landlock_create_ruleset, libc::ENOSYS, Any),
    ("landlock-rule", libc::SYS_landlock_add_rule, libc::ENOSYS, Any),
    ("landlock-start", libc::SYS_landlock_restrict_self, libc::ENOSYS, Any),
    ("seccomp", libc::SYS_seccomp, libc::ENOSYS, Any),
    ("mount", libc::SYS_move_mount, libc::ENOSYS, Any),
    ("clone-mount", libc::SYS_open_tree, libc::ENOSYS, Any),
    ("open-filesystem", libc::SYS_fsopen, libc::ENOSYS, Any),
    ("configure-filesystem", libc::SYS_fsconfig, libc::ENOSYS, Any),
    ("filesystem", libc::SYS_fsmount, libc::EPERM, Any),
    ("no-filesystem", libc::SYS_fsmount, libc::ENOSYS, Any),
    ("beneath", libc::SYS_openat2, libc::ENOSYS, Any),
    ("pivot", libc::SYS_pivot_root, libc::ENOSYS, Any),
    ("unmount", libc::SYS_umount2, libc::ENOSYS, Any),
    ("remount", libc::SYS_mount, libc::ENOSYS, Any),
    ("loopback", libc::SYS_socket, libc::EAFNOSUPPORT, Is(libc::AF_NETLINK)),
    ("no-loopback", libc::SYS_socket, libc::ENOSYS, Is(libc::AF_NETLINK)),
    ("capabilities", libc::SYS_capset, libc::EPERM, Any),
    ("no-capabilities", libc::SYS_capset, libc::ENOSYS, Any),
    ("bounding-set", libc::SYS_prctl, libc::ENOSYS, Is(libc::PR_CAPBSET_DROP)),
    ("ambient-set", libc::SYS_prctl, libc::ENOSYS, Is(libc::PR_CAP_AMBIENT)),
    ("secure-bits", libc::SYS_prctl, libc::ENOSYS, Is(libc::PR_SET_SECUREBITS)),
    ("subreaper", libc::SYS_prctl, libc::ENOSYS, Is(libc::PR_SET_CHILD_SUBREAPER)),
    ("death-signal", libc::SYS_prctl, libc::ENOSYS, Is(libc::PR_SET_PDEATHSIG)),
    ("pidfd", libc::SYS_pidfd_open, libc::ENOSYS, Any),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    // The second stage, which has an environment, inherits the filter.
    if let [_, option, name] = &arguments[..]
        && option == "--deny"
        && std::env::vars_os().next().is_none()
        && deny_call(name).is_none()
    {
        return ExitCode::FAILURE;
    }
    link::supervisor::main()
}

/// Applies a filter to this thread that denies the named call.
fn deny_call(name: &str) -> Option<()> {
    let (_, call, error, argument) = DENIABLE.into_iter().find(|(known, ..)| *known == name)?;
    let (mask, value) = match argument {
        Any => (0, 0),
        Is(value) => (-1, value),
        Has(bits) => (bits, bits),
    };
    let [mask, value] = [mask, value].map(|word| u64::from(word.cast_unsigned()));
    let operation = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operation, value).ok()?;
    let rules = [(call, vec![SeccompRule::new(vec![condition]).ok()?])].into();
    let error = SeccompAction::Errno(error.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, error, arch).ok()?;
    let filter: seccompiler::BpfProgram = filter.try_into().ok()?;
    seccompiler::apply_filter(&filter).ok()
}
