//! Restricts the current thread with Landlock. If a restriction or a grant cannot be applied, the server is not started.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::hidden_paths::HiddenPaths;
use super::mount_plan::{MountAccess, MountPlan, PRIVATE_FOLDERS};
use super::program_files::find_program_files;
use super::spec::{StartFailure, SupervisorSpec};

/// Required file access rights, including truncation; since Linux 6.2.
const FILES_ABI: ABI = ABI::V3;
/// TCP restrictions; since Linux 6.7.
const NETWORK_ABI: ABI = ABI::V4;
/// Restrictions of devices, signals and unix sockets, applied if the kernel supports them.
const NEWEST_ABI: ABI = ABI::V9;

/// Folders of the system's programs and libraries, readable and executable.
pub(super) const SYSTEM_FOLDERS: [&str; 8] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store"];
/// Files that the runtimes of common languages read. Excludes most of `/proc`, which exposes other command lines.
const RUNTIME_FILES: [&str; 15] = [
    "/etc",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/proc/version_signature",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];
pub(super) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Files that resolve the names of hosts. Often symbolic links to folders that are not granted otherwise.
pub(super) const NAME_FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// Restricts the current thread and its future children to the system folders, the program's own files and the given
/// grants. This is the whole sandbox of the policy `Landlock`.
///
/// # Errors
/// If Landlock is unavailable, a granted path is missing, or a write grant overlaps a hidden path.
pub(super) fn apply_landlock_level(
    program: &Path,
    spec: &SupervisorSpec,
    read: &[PathBuf],
    write: &[PathBuf],
    hidden: &[PathBuf],
    network: bool,
) -> Result<(), StartFailure> {
    let folder = &spec.folder;
    let always = (SYSTEM_FOLDERS.iter().map(|path| (PathBuf::from(path), MountAccess::Execute)))
        .chain(RUNTIME_FILES.iter().map(|path| (PathBuf::from(path), MountAccess::Read)))
        .chain(DEVICES.iter().map(|path| (PathBuf::from(path), MountAccess::Device)));
    // Not every system has all of these paths.
    let mut grants: Vec<_> = always.filter(|(path, _)| path.exists()).collect();
    if network {
        let names = NAME_FILES.map(std::fs::canonicalize);
        grants.extend(names.into_iter().flatten().map(|path| (path, MountAccess::Read)));
    }
    let files = find_program_files(program, spec).into_iter();
    grants.extend(files.map(|path| (path, MountAccess::Execute)));
    let hidden = HiddenPaths::new(folder, hidden);
    let read = resolve_paths(folder, read, "read")?.into_iter();
    grants.extend(read.map(|path| (path, MountAccess::Execute)));
    for path in resolve_paths(folder, write, "write")? {
        if let Some(failure) = write_overlap(&path, &hidden) {
            return Err(failure);
        }
        grants.push((path, MountAccess::Write));
    }
    let since = if network { "6.2" } else { "6.7" };
    let mut rules = create_ruleset(!network).map_err(|_| landlock_failure(since))?;
    for (path, access) in grants {
        // An entry may have been deleted since it was listed.
        let entries = hidden.split_grant(path, access_rights(access))?.into_iter();
        for (path, access) in entries.filter(|(path, _)| path.exists()) {
            rules = add_grant(rules, &path, access)?;
        }
    }
    enforce(rules)
}

/// Restricts the current thread and its future children to the accesses of the plan, inside the server's file system.
///
/// # Errors
/// If Landlock is unavailable.
pub(super) fn apply_plan(plan: &MountPlan) -> Result<(), StartFailure> {
    let mut rules = create_ruleset(false).map_err(|_| landlock_failure("6.2"))?;
    let own =
        PRIVATE_FOLDERS.iter().map(|path| (Path::new(path), access_rights(MountAccess::Write)));
    let proc = (Path::new("/proc"), access_rights(MountAccess::Read));
    // Folders above the mounts can be listed; they show nothing else.
    let root = (Path::new("/"), AccessFs::ReadDir.into());
    let mounts = plan.mounts.iter().map(|(path, access)| (path.as_path(), access_rights(*access)));
    for (path, access) in own.chain([proc, root]).chain(mounts) {
        rules = add_grant(rules, path, access)?;
    }
    enforce(rules)
}

fn access_rights(access: MountAccess) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match access {
        MountAccess::Read => read,
        MountAccess::Execute => AccessFs::from_read(NEWEST_ABI),
        MountAccess::Device => read | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate,
        // No grant allows creating device files.
        MountAccess::Write => {
            AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
        }
    }
}

fn landlock_failure(since: &str) -> StartFailure {
    StartFailure::Sandbox(format!(
        "the system does not provide Landlock for files and TCP: use Linux {since} or newer and list `landlock` in its \
         `lsm=` setting, or choose `sandbox = \"off\"`"
    ))
}

/// Returns true if the kernel does not know the system call that failed.
fn is_not_implemented(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::Unsupported)
    })
}

fn enforce(rules: RulesetCreated) -> Result<(), StartFailure> {
    let status = rules.restrict_self().map_err(|error| match is_not_implemented(&error) {
        true => landlock_failure("6.2"),
        false => StartFailure::Sandbox(error.to_string()),
    })?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(StartFailure::Sandbox("the system does not enforce Landlock".to_owned()));
    }
    Ok(())
}

/// Returns the failure for a write grant that overlaps a hidden path.
pub(super) fn write_overlap(path: &Path, hidden: &HiddenPaths) -> Option<StartFailure> {
    let hidden = hidden.find_overlap(path)?;
    Some(StartFailure::Sandbox(format!(
        "cannot grant {}, because no server may write {}: remove it from the sandbox's `write`",
        path.display(),
        hidden.display()
    )))
}

/// Resolves the paths of one key of the configuration.
///
/// # Errors
/// If a path does not exist, because a Landlock rule requires an existing file.
pub(super) fn resolve_paths(
    folder: &Path,
    paths: &[PathBuf],
    key: &str,
) -> Result<Vec<PathBuf>, StartFailure> {
    let paths: Vec<_> = paths.iter().map(|path| folder.join(path)).collect();
    match paths.iter().find(|path| !path.exists()) {
        Some(path) => Err(StartFailure::Sandbox(format!(
            "{} does not exist: create it, or remove it from the sandbox's `{key}`",
            path.display()
        ))),
        None => Ok(paths),
    }
}

/// Creates the ruleset: file restrictions and, with `tcp`, those of TCP are required, newer ones are best effort.
fn create_ruleset(tcp: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let newer = AccessFs::from_all(NEWEST_ABI) & !AccessFs::from_all(FILES_ABI);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES_ABI))?;
    if tcp {
        rules = rules.handle_access(AccessNet::from_all(NETWORK_ABI))?;
    }
    rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(newer)?
        .scope(Scope::from_all(NEWEST_ABI))?
        .create()
}

/// Adds a rule. For a symbolic link, the rule applies to its target.
fn add_grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, StartFailure> {
    let complain = |error: &dyn std::fmt::Display| {
        StartFailure::Sandbox(format!("failed to grant {} ({error})", path.display()))
    };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST_ABI) };
    let opened = PathFd::new(path).map_err(|error| complain(&error))?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| {
        match is_not_implemented(&error) {
            true => landlock_failure("6.2"),
            false => complain(&error),
        }
    })
}
