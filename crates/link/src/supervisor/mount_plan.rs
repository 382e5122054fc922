//! What the file system of a sandboxed server shows, and with which access. Made before the server's namespaces exist, from
//! the paths of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::hidden_paths::HiddenPaths;
use super::masks::{MaskedPath, find_masks};
use super::program_files::{find_program_files, resolve_links};
use super::sandbox::{DEVICES, NAME_FILES, SYSTEM_FOLDERS, resolve_paths, write_overlap};
use super::spec::{StartFailure, SupervisorSpec};
use crate::{NamespacePolicy, NetworkAccess};

/// Files of the system that runtimes read, apart from `/proc`, which the server has its own of.
const SYSTEM_FILES: [&str; 5] = [
    "/etc",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];
/// Folders in memory that belong to the server alone.
pub(super) const PRIVATE_FOLDERS: [&str; 2] = ["/tmp", "/dev/shm"];

/// Access to a path. Later ones include earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MountAccess {
    Read,
    Execute,
    Write,
    Device,
}

/// The contents of the server's file system. All paths are absolute.
#[derive(Debug)]
pub(super) struct MountPlan {
    /// Existing files and folders of the machine, without links, and without paths that another includes.
    pub(super) mounts: BTreeMap<PathBuf, MountAccess>,
    /// Places and contents of symbolic links that lead to them.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Paths below the mounts that are empty.
    pub(super) masks: BTreeSet<MaskedPath>,
    /// The working directory, empty if it is not below a mount.
    pub(super) folder: PathBuf,
}

impl MountPlan {
    /// Plans the file system of a server.
    ///
    /// # Errors
    /// If a granted path is missing, a grant covers too much, or there is too much to mask.
    pub(super) fn new(
        program: &Path,
        spec: &SupervisorSpec,
        policy: &NamespacePolicy,
    ) -> Result<Self, StartFailure> {
        let mut plan = Self {
            mounts: BTreeMap::new(),
            links: Vec::new(),
            masks: BTreeSet::new(),
            folder: PathBuf::new(),
        };
        let always = (SYSTEM_FOLDERS.iter().map(|path| (path, MountAccess::Execute)))
            .chain(SYSTEM_FILES.iter().map(|path| (path, MountAccess::Read)))
            .chain(DEVICES.iter().map(|path| (path, MountAccess::Device)));
        // Not every system has all of these paths.
        for (path, access) in always.filter(|(path, _)| Path::new(path).exists()) {
            plan.add(Path::new(path), access)?;
        }
        if policy.network == NetworkAccess::All {
            for path in NAME_FILES.iter().filter(|path| Path::new(path).exists()) {
                plan.add(Path::new(path), MountAccess::Read)?;
            }
        }
        for path in find_program_files(program, spec) {
            plan.add(&path, MountAccess::Execute)?;
        }
        plan.folder = plan.follow_links(&spec.folder)?;
        plan.add_grants(spec, policy)?;
        plan.mask_private_system_files();
        plan.drop_included();
        Ok(plan)
    }

    fn add_grants(
        &mut self,
        spec: &SupervisorSpec,
        policy: &NamespacePolicy,
    ) -> Result<(), StartFailure> {
        let hidden = HiddenPaths::new(&spec.folder, &policy.hidden);
        let read = resolve_paths(&spec.folder, &policy.read, "read")?;
        let write = resolve_paths(&spec.folder, &policy.write, "write")?;
        if let Some(failure) = write.iter().find_map(|path| write_overlap(path, &hidden)) {
            return Err(failure);
        }
        let mut grants = BTreeSet::new();
        let read = read.into_iter().map(|path| (path, MountAccess::Execute));
        for (path, access) in read.chain(write.into_iter().map(|path| (path, MountAccess::Write))) {
            grants.insert(self.add_grant(&path, access)?);
        }
        self.masks = find_masks(&grants, &policy.masked)?;
        for path in hidden.paths() {
            if self.mounts.keys().any(|mount| path.starts_with(mount)) {
                self.masks.insert(MaskedPath { path: path.to_owned(), is_folder: path.is_dir() });
            }
        }
        Ok(())
    }

    /// Adds a path of the configuration. Returns it without links.
    fn add_grant(&mut self, path: &Path, access: MountAccess) -> Result<PathBuf, StartFailure> {
        let real = self.follow_links(path)?;
        let is_device =
            real.starts_with("/dev") && !PRIVATE_FOLDERS.iter().any(|own| real.starts_with(own));
        if real == Path::new("/") || real == Path::new("/dev") || real.starts_with("/proc") {
            return Err(StartFailure::Sandbox(format!(
                "cannot grant {}: list the folders that it needs in the sandbox's `read` and `write`",
                path.display()
            )));
        }
        self.insert(real.clone(), if is_device { MountAccess::Device } else { access });
        Ok(real)
    }

    fn add(&mut self, path: &Path, access: MountAccess) -> Result<(), StartFailure> {
        let real = self.follow_links(path)?;
        self.insert(real, access);
        Ok(())
    }

    fn insert(&mut self, real: PathBuf, access: MountAccess) {
        let entry = self.mounts.entry(real).or_insert(access);
        *entry = access.max(*entry);
    }

    fn follow_links(&mut self, path: &Path) -> Result<PathBuf, StartFailure> {
        let resolved = resolve_links(path).map_err(|error| {
            StartFailure::Sandbox(format!("failed to resolve {} ({error})", path.display()))
        })?;
        self.links.extend(resolved.links);
        Ok(resolved.real)
    }

    /// Masks what other users of the machine may not read in `/etc`. An ordinary user cannot read it anyway; a server of
    /// root could.
    fn mask_private_system_files(&mut self) {
        let mut folders = vec![PathBuf::from("/etc")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
                let needed = if data.is_dir() { 0o005 } else { 0o004 };
                if data.is_symlink() || self.mounts.contains_key(&path) {
                    continue;
                }
                if data.mode() & needed != needed {
                    self.masks.insert(MaskedPath { path, is_folder: data.is_dir() });
                } else if data.is_dir() {
                    folders.push(path);
                }
            }
        }
    }

    /// Drops paths that are below another with the same or more access.
    fn drop_included(&mut self) {
        let all = self.mounts.clone();
        let is_included = |path: &Path, access: MountAccess| {
            path.ancestors()
                .skip(1)
                .any(|above| all.get(above).is_some_and(|wider| *wider >= access))
        };
        self.mounts.retain(|path, access| !is_included(path, *access));
    }

    /// Returns true if the path is a write grant, or below one.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        let access = path.ancestors().find_map(|above| self.mounts.get(above));
        access == Some(&MountAccess::Write)
    }
}
