//! Landlock: what the server may read, write and reach. Whatever cannot be had stops the start.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::hidden::Hidden;
use super::spec::Complaint;

/// Without these (truncating included) the fence would have holes in files; since Linux 6.2.
const FILES: ABI = ABI::V3;
/// TCP; since Linux 6.7.
const NETWORK: ABI = ABI::V4;
/// Devices, signals and unix sockets are fenced where the kernel can.
const NEWEST: ABI = ABI::V9;

/// The system's programs and libraries.
const SYSTEM: [&str; 8] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store"];
/// Read by the runtimes of common languages. Not `/proc` as a whole: it shows other processes' command lines.
const FACTS: [&str; 15] = [
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

pub(super) fn apply(
    program: &Path,
    folder: &Path,
    read: &[PathBuf],
    write: &[PathBuf],
    hidden: &[PathBuf],
    network: bool,
) -> Result<(), Complaint> {
    let mut rules = create(network).map_err(|error| {
        let since = if network { "6.2" } else { "6.7" };
        Complaint::Sandbox(format!(
            "{error}; it needs Linux {since} or newer with Landlock enabled, or `sandbox = \"off\"`"
        ))
    })?;
    let read_only = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = AccessFs::from_read(NEWEST);
    let device = read_only | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    // Devices are made by nobody, whatever is granted.
    let everything = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let always = (SYSTEM.iter().map(|path| (PathBuf::from(path), execute)))
        .chain(FACTS.iter().map(|path| (PathBuf::from(path), read_only)))
        .chain(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
    // Not every system has all of them.
    let mut grants: Vec<_> = always.filter(|(path, _)| path.exists()).collect();
    if network {
        // Often a link to a place that nothing else of this needs.
        let names = ["/etc/resolv.conf", "/etc/hosts"].map(std::fs::canonicalize);
        grants.extend(names.into_iter().flatten().map(|path| (path, read_only)));
    }
    grants.extend(homes(program).into_iter().map(|path| (path, execute)));
    let hidden = Hidden::new(folder, hidden);
    grants.extend(named(folder, read, "read")?.into_iter().map(|path| (path, execute)));
    for path in named(folder, write, "write")? {
        if let Some(hidden) = hidden.touched(&path) {
            return Err(Complaint::Sandbox(format!(
                "{} cannot be granted, because no server may write {}: take it out of the sandbox's `write`",
                path.display(),
                hidden.display()
            )));
        }
        grants.push((path, everything));
    }
    for (path, access) in grants {
        // A piece may be gone since it was listed.
        let pieces = hidden.around(path, access)?.into_iter();
        for (path, access) in pieces.filter(|(path, _)| path.exists()) {
            rules = grant(rules, &path, access)?;
        }
    }
    let status = rules.restrict_self().map_err(|error| Complaint::Sandbox(error.to_string()))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(Complaint::Sandbox("the kernel does not enforce Landlock".to_owned()));
    }
    Ok(())
}

/// The paths of one key, which must exist: a rule belongs to a file.
fn named(folder: &Path, paths: &[PathBuf], key: &str) -> Result<Vec<PathBuf>, Complaint> {
    let paths: Vec<_> = paths.iter().map(|path| folder.join(path)).collect();
    match paths.iter().find(|path| !path.exists()) {
        Some(path) => Err(Complaint::Sandbox(format!(
            "{} does not exist: create it, or take it out of the sandbox's `{key}`",
            path.display()
        ))),
        None => Ok(paths),
    }
}

fn create(network: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let newer = AccessFs::from_all(NEWEST) & !AccessFs::from_all(FILES);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NETWORK))?;
    }
    rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(newer)?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

/// The link's target, where it is one: rules belong to files, not to names.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Complaint> {
    let complain = |error: &dyn std::fmt::Display| {
        Complaint::Sandbox(format!("{} cannot be granted ({error})", path.display()))
    };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    let opened = PathFd::new(path).map_err(|error| complain(&error))?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| complain(&error))
}

/// Where the program's own files are: its folder, as named and as linked to, and beside a `bin` the libraries of what is
/// installed there (node and its modules, a virtual environment of Python).
fn homes(program: &Path) -> Vec<PathBuf> {
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

/// Folders that hold far more than a program: a home, the temporary folder, the root.
fn is_too_wide(folder: &Path) -> bool {
    let is_home = folder.parent() == Some(Path::new("/home"));
    is_home
        || ["/", "/root", "/tmp", "/home", "/var/tmp"].iter().any(|wide| folder == Path::new(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_brings_its_libraries_and_not_its_neighbours() {
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
        let names: Vec<PathBuf> = homes(&python)
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_owned())
            .collect();
        let expected = ["venv/bin", "venv/lib", "venv/pyvenv.cfg", "base/bin", "base/lib64"];
        assert_eq!(names, expected.map(PathBuf::from));
        assert_eq!(homes(Path::new("/root/server")), [PathBuf::from("/root/server")]);
    }
}
