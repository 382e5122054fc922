//! Builds the file system of a sandboxed server in its mount namespace and moves this process there.
//!
//! ```text
//! /             empty, in memory, read-only
//! /usr /etc …   the planned paths of the machine, read-only except for write grants
//! /proc         of the server's process namespace, read-only
//! /tmp /dev/shm in memory, writable, of this server alone
//! ```
//!
//! Paths are opened without following links, so a folder that is replaced meanwhile fails instead of leading elsewhere.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};
use rustix::process::{fchdir, pivot_root};

use super::mount_plan::{MountAccess, MountPlan, PRIVATE_FOLDERS};
use super::namespaces::missing_part;
use super::spec::StartFailure;

/// Size of each private folder. It is memory of the machine and not part of the limit `memory`.
const PRIVATE_BYTES: &str = "268435456";
const PRIVATE_FILES: &str = "65536";
/// Size of the empty root: room for mount points only.
const ROOT_BYTES: &str = "16777216";
/// Process ids that the kernel does not reuse once it has wrapped around, so a namespace may need as many more.
const RESERVED_IDS: u32 = 300;
/// Folder that the new root is attached to until it becomes the root. It always exists.
const STAGING: &str = "/proc";
/// Sources of the masks, in the new root until they are mounted.
const EMPTY_FOLDER: &str = ".empty-folder";
const EMPTY_FILE: &str = ".empty-file";

/// Builds the planned file system and makes it the root of this process. Bounds the number of processes of the namespace.
///
/// # Errors
/// If a mount is not permitted, or a planned path was replaced meanwhile.
pub(super) fn enter_new_root(plan: &MountPlan, processes: Option<u32>) -> Result<(), StartFailure> {
    let mounts = |error: io::Error| missing_part("mounts in user namespaces", &error);
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| mounts(error.into()))?;
    let proc = create_filesystem("proc", &[]).map_err(|error| {
        missing_part(
            "a /proc of its own (a container may forbid it by covering parts of /proc)",
            &error,
        )
    })?;
    if let Some(processes) = processes {
        bound_process_ids(&proc, processes);
    }
    let root = NewRoot::new().map_err(mounts)?;
    let sources = plan.mounts.keys().map(|path| {
        let tree = clone_tree(path).map_err(|error| path_failure("show", path, &error))?;
        Ok((path.as_path(), tree))
    });
    let sources = sources.collect::<Result<Vec<_>, StartFailure>>()?;
    move_mount(&root.0, "", CWD, STAGING, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|error| mounts(error.into()))?;
    fchdir(&root.0).map_err(|error| mounts(error.into()))?;
    root.attach_all(plan, &proc, sources)?;
    pivot_root(".", ".").map_err(|error| mounts(error.into()))?;
    // The old root is now mounted over the new one.
    unmount(".", UnmountFlags::DETACH).map_err(|error| mounts(error.into()))?;
    std::env::set_current_dir("/").map_err(mounts)?;
    restrict_mounts(plan).map_err(mounts)
}

fn path_failure(action: &str, path: &Path, error: &io::Error) -> StartFailure {
    if error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) {
        return missing_part("mounts of single paths", error);
    }
    StartFailure::Sandbox(format!("failed to {action} {} ({error})", path.display()))
}

/// Limits the ids of the process namespace, and so its processes, also for root. Since Linux 6.14; before, only the
/// resource limit applies, which exempts root.
fn bound_process_ids(proc: &OwnedFd, processes: u32) {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(file) = openat(proc, "sys/kernel/pid_max", flags, Mode::empty()) {
        let maximum = processes.saturating_add(RESERVED_IDS + 1);
        let _ = rustix::io::write(&file, maximum.to_string().as_bytes());
    }
}

/// Creates a file system that is not attached anywhere.
fn create_filesystem(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Opens a path below a folder without following links.
fn open_beneath(folder: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(openat2(folder, path, flags, Mode::empty(), resolve)?)
}

/// Clones the mounts at and below a path of the old root.
fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let root = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    clone_mount(&open_beneath(root.as_fd(), path)?)
}

fn clone_mount(source: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(source, "", flags)?)
}

/// The new root, which is the working directory while it is filled.
struct NewRoot(OwnedFd);

impl NewRoot {
    fn new() -> io::Result<Self> {
        create_filesystem("tmpfs", &[("size", ROOT_BYTES), ("mode", "755")]).map(Self)
    }

    /// Attaches everything in the order of the paths, so that a mount never covers one made before it; then the masks.
    fn attach_all(
        &self,
        plan: &MountPlan,
        proc: &OwnedFd,
        sources: Vec<(&Path, OwnedFd)>,
    ) -> Result<(), StartFailure> {
        let mut mounts: Vec<(PathBuf, OwnedFd, bool)> = vec![(
            "/proc".into(),
            proc.try_clone().map_err(|error| path_failure("mount", Path::new("/proc"), &error))?,
            true,
        )];
        for path in PRIVATE_FOLDERS.map(PathBuf::from) {
            if !plan.mounts.contains_key(&path) {
                let options =
                    [("size", PRIVATE_BYTES), ("nr_inodes", PRIVATE_FILES), ("mode", "1777")];
                let folder = create_filesystem("tmpfs", &options)
                    .map_err(|error| path_failure("mount", &path, &error))?;
                mounts.push((path, folder, true));
            }
        }
        for (path, tree) in sources {
            let is_folder = is_folder(&tree).map_err(|error| path_failure("show", path, &error))?;
            mounts.push((path.to_owned(), tree, is_folder));
        }
        mounts.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        for (path, tree, is_folder) in &mounts {
            self.attach(path, tree, *is_folder)
                .map_err(|error| path_failure("show", path, &error))?;
        }
        self.create_folder(&plan.folder)
            .map_err(|error| path_failure("create", &plan.folder, &error))?;
        self.create_links(plan);
        self.attach_masks(plan)
    }

    /// Attaches a mount. Creates its mount point if no mount provides it.
    fn attach(&self, path: &Path, mount: &OwnedFd, is_folder: bool) -> io::Result<()> {
        if is_folder {
            self.create_folder(path)?;
        } else if open_beneath(self.0.as_fd(), path).is_err() {
            self.create_folder(path.parent().unwrap_or(Path::new("/")))?;
            fs::write(relative(path), "")?;
        }
        self.attach_over(path, mount)
    }

    /// Attaches a mount over an existing path.
    fn attach_over(&self, path: &Path, mount: &OwnedFd) -> io::Result<()> {
        let target = open_beneath(self.0.as_fd(), path)?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(mount, "", &target, "", flags)?)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        match open_beneath(self.0.as_fd(), path) {
            Ok(_) => Ok(()),
            Err(_) => fs::create_dir_all(relative(path)),
        }
    }

    /// Creates the links that are not part of a mount already.
    fn create_links(&self, plan: &MountPlan) {
        for (place, target) in &plan.links {
            let parent = place.parent().unwrap_or(Path::new("/"));
            // Where it fails, a mount has the link, or shows nothing there.
            if self.create_folder(parent).is_ok() {
                let _ = symlink(target, relative(place));
            }
        }
        for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
            let _ = symlink(format!("/proc/self/fd{target}"), Path::new("dev").join(name));
        }
    }

    fn attach_masks(&self, plan: &MountPlan) -> Result<(), StartFailure> {
        let prepare = || -> io::Result<[OwnedFd; 2]> {
            fs::create_dir(EMPTY_FOLDER)?;
            fs::write(EMPTY_FILE, "")?;
            Ok([
                open_beneath(self.0.as_fd(), Path::new(EMPTY_FOLDER))?,
                open_beneath(self.0.as_fd(), Path::new(EMPTY_FILE))?,
            ])
        };
        let [folder, file] = prepare().map_err(|error| missing_part("mounts in memory", &error))?;
        for mask in &plan.masks {
            let empty = if mask.is_folder { &folder } else { &file };
            let attach = || self.attach_over(&mask.path, &clone_mount(empty)?);
            match attach() {
                // Deleted since it was found, or below another mask.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome.map_err(|error| path_failure("hide", &mask.path, &error))?,
            }
        }
        // The mounts keep their sources.
        let _ = fs::remove_dir(EMPTY_FOLDER);
        let _ = fs::remove_file(EMPTY_FILE);
        Ok(())
    }
}

/// Returns the path relative to the new root, which is the working directory.
fn relative(path: &Path) -> &Path {
    let path = path.strip_prefix("/").unwrap_or(path);
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn is_folder(tree: &OwnedFd) -> io::Result<bool> {
    let data = rustix::fs::fstat(tree)?;
    Ok(rustix::fs::FileType::from_raw_mode(data.st_mode).is_dir())
}

/// Restricts every mount of the namespace: read-only except below write grants and private folders, no set-user-ID
/// programs, and no devices except the planned ones.
fn restrict_mounts(plan: &MountPlan) -> io::Result<()> {
    for (path, options) in parse_mounts(&fs::read("/proc/self/mountinfo")?) {
        let mut flags = MountFlags::BIND | MountFlags::NOSUID;
        // Flags of the machine cannot be removed, and must be repeated.
        if options.split(',').any(|option| option == "noexec") {
            flags |= MountFlags::NOEXEC;
        }
        let is_private = PRIVATE_FOLDERS.iter().any(|own| path == Path::new(own));
        let is_read_only = options.split(',').any(|option| option == "ro");
        let is_masked = plan.masks.iter().any(|mask| mask.path == path);
        if is_masked || is_read_only || !(is_private || plan.is_writable(&path)) {
            flags |= MountFlags::RDONLY;
        }
        let has_nodev = options.split(',').any(|option| option == "nodev");
        if has_nodev || plan.mounts.get(&path) != Some(&MountAccess::Device) {
            flags |= MountFlags::NODEV;
        }
        mount_remount(&path, flags, "")?;
    }
    Ok(())
}

/// Returns the mount points and their options.
fn parse_mounts(table: &[u8]) -> Vec<(PathBuf, String)> {
    use std::os::unix::ffi::OsStringExt;
    let lines = table.split(|byte| *byte == b'\n');
    let fields = lines.map(|line| line.split(|byte| *byte == b' ').collect::<Vec<_>>());
    fields
        .filter_map(|fields| {
            let path = std::ffi::OsString::from_vec(unescape(fields.get(4)?));
            Some((path.into(), String::from_utf8_lossy(fields.get(5)?).into_owned()))
        })
        .collect()
}

/// Decodes the octal escapes of a field of `mountinfo`.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < field.len() {
        let digits = field.get(at + 1..at + 4).and_then(|digits| str::from_utf8(digits).ok());
        match digits
            .filter(|_| field[at] == b'\\')
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                at += 4;
            }
            None => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_mount_points_with_unusual_names() {
        let table = b"36 35 98:0 / /a\\040b\\134c rw,noatime shared:1 - ext3 /dev/root rw\n37 36 0:1 / / ro - tmpfs x rw\n";
        let expected = [("/a b\\c", "rw,noatime"), ("/", "ro")];
        assert_eq!(
            parse_mounts(table),
            expected.map(|(path, options)| (path.into(), options.to_owned()))
        );
    }
}
