//! Namespaces and capabilities, and the messages for systems that do not provide them.

use std::fmt::Display;
use std::fs;

use nix::sched::{CloneFlags, unshare};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs,
};

use super::spec::StartFailure;

/// Capabilities that the second stage needs in the user namespace: mounts, the loopback interface, giving up capabilities.
const STAGE_CAPABILITIES: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// Settings that switch user namespaces off, the value that does so, and the remedy.
const SWITCHES: [(&str, &str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0", "run `sysctl -w user.max_user_namespaces=15000`"),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "run `sysctl -w kernel.unprivileged_userns_clone=1`",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "allow `userns` for vouch in an AppArmor profile, or run `sysctl -w \
         kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
];

/// Returns the failure for a part of the sandbox that the kernel or the container does not provide.
pub(super) fn missing_part(part: &str, error: &dyn Display) -> StartFailure {
    let is_set =
        |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|text| text.trim() == value);
    let remedy =
        SWITCHES.iter().find(|(file, value, _)| is_set(file, value)).map_or(
            "allow it in the kernel or in the profile of the container",
            |(_, _, remedy)| remedy,
        );
    StartFailure::Sandbox(format!(
        "the system does not provide {part} ({error}): {remedy}, or choose the weaker `sandbox = \"landlock\"`"
    ))
}

/// Moves this process to a new user namespace, in which its user and group are the only ones. Must be called while the
/// process has one thread. Processes that it starts keep the capabilities of the second stage.
pub(super) fn enter_user_namespace() -> Result<(), StartFailure> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| missing_part("user namespaces", &error))?;
    for (file, content) in [
        // Required before an ordinary user may map a group.
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw())),
        ("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw())),
    ] {
        fs::write(file, content).map_err(|error| missing_part("user namespaces", &error))?;
    }
    keep_stage_capabilities()
        .map_err(|error| missing_part("capabilities in user namespaces", &error))
}

/// Makes the capabilities ambient. Otherwise a user other than root would lose them when it executes the second stage.
fn keep_stage_capabilities() -> rustix::io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = STAGE_CAPABILITIES.into_iter().fold(sets.inheritable, |all, one| all | one);
    set_capabilities(None, sets)?;
    for capability in STAGE_CAPABILITIES {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Lets the next process that this thread starts be process 1 of a new namespace. The thread cannot start threads then.
pub(super) fn enter_process_namespace() -> Result<(), StartFailure> {
    unshare(CloneFlags::CLONE_NEWPID).map_err(|error| missing_part("process namespaces", &error))
}

/// Moves this process to new mount and IPC namespaces and, if asked for, to an empty network namespace.
pub(super) fn enter_server_namespaces(has_own_network: bool) -> Result<(), StartFailure> {
    let network = (CloneFlags::CLONE_NEWNET, "network namespaces");
    for (flag, part) in [
        (CloneFlags::CLONE_NEWNS, "mount namespaces"),
        (CloneFlags::CLONE_NEWIPC, "IPC namespaces"),
    ]
    .into_iter()
    .chain(has_own_network.then_some(network))
    {
        unshare(flag).map_err(|error| missing_part(part, &error))?;
    }
    Ok(())
}

/// Gives up all capabilities of this thread for good. Programs that it executes get none, not even as root.
pub(super) fn drop_capabilities() -> Result<(), StartFailure> {
    let drop_all = || {
        set_no_new_privs(true)?;
        clear_ambient_capability_set()?;
        for bit in 0..u64::BITS {
            let capability = CapabilitySet::from_bits_retain(1 << bit);
            match remove_capability_from_bounding_set(capability) {
                // The kernel does not know this or any further capability.
                Err(rustix::io::Errno::INVAL) => break,
                outcome => outcome?,
            }
        }
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        set_capabilities_secure_bits(bits)?;
        let none = CapabilitySet::empty();
        set_capabilities(
            None,
            CapabilitySets { effective: none, permitted: none, inheritable: none },
        )
    };
    drop_all()
        .map_err(|error: rustix::io::Errno| missing_part("a way to give up capabilities", &error))
}
