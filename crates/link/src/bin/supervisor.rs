//! The supervisor as a standalone program, for tests. In `vouch` it is a hidden subcommand.
//!
//! `supervisor --deny CALL` simulates a kernel without a system call: it answers the call with "not implemented". `CALL` is a
//! name of [`DENIABLE`].

use std::process::ExitCode;

use nix::libc;
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Calls that can be denied: the name, the number, the error, and bits of the first argument that must be set.
const DENIABLE: [(&str, i64, i32, i32); 11] = [
    ("user", libc::SYS_unshare, libc::EPERM, libc::CLONE_NEWUSER),
    ("process", libc::SYS_unshare, libc::EINVAL, libc::CLONE_NEWPID),
    ("mount-namespace", libc::SYS_unshare, libc::ENOSYS, libc::CLONE_NEWNS),
    ("ipc", libc::SYS_unshare, libc::EINVAL, libc::CLONE_NEWIPC),
    ("network", libc::SYS_unshare, libc::ENOSYS, libc::CLONE_NEWNET),
    ("landlock", libc::SYS_landlock_create_ruleset, libc::ENOSYS, 0),
    ("seccomp", libc::SYS_seccomp, libc::ENOSYS, 0),
    ("mount", libc::SYS_move_mount, libc::ENOSYS, 0),
    ("filesystem", libc::SYS_fsmount, libc::EPERM, 0),
    ("loopback", libc::SYS_socket, libc::EAFNOSUPPORT, libc::AF_NETLINK),
    ("capabilities", libc::SYS_capset, libc::EPERM, 0),
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
    let (_, call, error, bits) = DENIABLE.into_iter().find(|(known, ..)| *known == name)?;
    let bits = u64::from(bits.cast_unsigned());
    let condition =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
            .ok()?;
    let rules = [(call, vec![SeccompRule::new(vec![condition]).ok()?])].into();
    let error = SeccompAction::Errno(error.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, error, arch).ok()?;
    let filter: seccompiler::BpfProgram = filter.try_into().ok()?;
    seccompiler::apply_filter(&filter).ok()
}
