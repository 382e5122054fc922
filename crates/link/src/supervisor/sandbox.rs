//! Restricts the current process with Landlock. If a restriction or a grant cannot be applied, the server is not started.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::hidden_paths::HiddenPaths;
use super::spec::StartFailure;

/// Required file access rights, including truncation; since Linux 6.2.
const FILES_ABI: ABI = ABI::V3;
/// TCP restrictions; since Linux 6.7.
const NETWORK_ABI: ABI = ABI::V4;
/// Restrictions of devices, signals and unix sockets, applied if the kernel supports them.
const NEWEST_ABI: ABI = ABI::V9;

/// Folders of the system's programs and libraries, readable and executable.
const SYSTEM_FOLDERS: [&str; 8] =
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
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Restricts the current process and its future children to the system folders, the program's own folders and the given
/// grants. Relative paths are resolved against `folder`.
///
/// # Errors
/// If Landlock is unavailable, a granted path is missing, or a write grant overlaps a hidden path.
pub(super) fn apply_sandbox(
    program: &Path,
    folder: &Path,
    read: &[PathBuf],
    write: &[PathBuf],
    hidden: &[PathBuf],
    network: bool,
) -> Result<(), StartFailure> {
    let mut rules = create_ruleset(network).map_err(|error| {
        let since = if network { "6.2" } else { "6.7" };
        StartFailure::Sandbox(format!(
            "{error}; requires Linux {since} or newer with Landlock enabled, or `sandbox = \"off\"`"
        ))
    })?;
    let read_only = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = AccessFs::from_read(NEWEST_ABI);
    let device = read_only | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    // No grant allows creating device files.
    let everything = AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let always = (SYSTEM_FOLDERS.iter().map(|path| (PathBuf::from(path), execute)))
        .chain(RUNTIME_FILES.iter().map(|path| (PathBuf::from(path), read_only)))
        .chain(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
    // Not every system has all of these paths.
    let mut grants: Vec<_> = always.filter(|(path, _)| path.exists()).collect();
    if network {
        // Often symbolic links to folders that are not granted otherwise.
        let names = ["/etc/resolv.conf", "/etc/hosts"].map(std::fs::canonicalize);
        grants.extend(names.into_iter().flatten().map(|path| (path, read_only)));
    }
    grants.extend(program_paths(program).into_iter().map(|path| (path, execute)));
    let hidden = HiddenPaths::new(folder, hidden);
    grants.extend(resolve_paths(folder, read, "read")?.into_iter().map(|path| (path, execute)));
    for path in resolve_paths(folder, write, "write")? {
        if let Some(hidden) = hidden.find_overlap(&path) {
            return Err(StartFailure::Sandbox(format!(
                "cannot grant {}, because no server may write {}: remove it from the sandbox's `write`",
                path.display(),
                hidden.display()
            )));
        }
        grants.push((path, everything));
    }
    for (path, access) in grants {
        // An entry may have been deleted since it was listed.
        let entries = hidden.split_grant(path, access)?.into_iter();
        for (path, access) in entries.filter(|(path, _)| path.exists()) {
            rules = add_grant(rules, &path, access)?;
        }
    }
    let status = rules.restrict_self().map_err(|error| StartFailure::Sandbox(error.to_string()))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(StartFailure::Sandbox("the kernel does not enforce Landlock".to_owned()));
    }
    Ok(())
}

/// Resolves the paths of one key of the configuration.
///
/// # Errors
/// If a path does not exist, because a Landlock rule requires an existing file.
fn resolve_paths(
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

/// Creates the ruleset: file restrictions are required, newer ones are best effort.
fn create_ruleset(network: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let newer = AccessFs::from_all(NEWEST_ABI) & !AccessFs::from_all(FILES_ABI);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES_ABI))?;
    if !network {
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
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| complain(&error))
}

/// Returns the paths of the program's own files: its folder, both as named and with links resolved. If the folder is a
/// `bin`, also the libraries beside it (node and its modules, a Python virtual environment).
fn program_paths(program: &Path) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    for program in [Some(program.to_owned()), program.canonicalize().ok()].into_iter().flatten() {
        let Some(folder) = program.parent() else { continue };
        if is_too_wide(folder) {
            homes.push(program);
            continue;
        }
        homes.push(folder.to_owned());
        if folder.ends_with("bin")
            && let Some(prefix) = folder.parent()
        {
            let beside = ["lib", "lib64", "libexec", "pyvenv.cfg"].map(|name| prefix.join(name));
            homes.extend(beside.into_iter().filter(|path| path.exists()));
        }
    }
    homes
}

/// Returns true for folders that hold far more than a program: a home, the temporary folder, the root.
fn is_too_wide(folder: &Path) -> bool {
    let is_home = folder.parent() == Some(Path::new("/home"));
    is_home
        || ["/", "/root", "/tmp", "/home", "/var/tmp"].iter().any(|wide| folder == Path::new(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_libraries_of_a_program_but_not_other_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["venv/bin", "venv/lib", "venv/share", "base/bin", "base/lib64"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["venv/pyvenv.cfg", "base/bin/python3.11"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let python = root.join("venv/bin/python");
        std::os::unix::fs::symlink(root.join("base/bin/python3.11"), &python).unwrap();
        let names: Vec<PathBuf> = program_paths(&python)
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_owned())
            .collect();
        let expected = ["venv/bin", "venv/lib", "venv/pyvenv.cfg", "base/bin", "base/lib64"];
        assert_eq!(names, expected.map(PathBuf::from));
        assert_eq!(program_paths(Path::new("/root/server")), [PathBuf::from("/root/server")]);
    }
}
