//! The entries of folders that a power failure may lose, and the real folder that is set back to one of these states.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::content::FileContent;

/// Identity of a file or folder. It is not reused, because the model holds everything open that it knows.
pub(super) type Inode = (u64, u64);

pub(super) fn inode_of(metadata: &Metadata) -> Inode {
    (metadata.dev(), metadata.ino())
}

/// The kind and identity of an entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    File(Inode),
    Folder(Inode),
    Link(PathBuf),
}

/// A file that the model knows.
#[derive(Debug)]
pub(super) struct KnownFile {
    handle: File,
    pub(super) content: FileContent,
}

/// A folder that the model knows, with the entries that are on the disk.
#[derive(Debug)]
struct KnownFolder {
    handle: File,
    synced: BTreeMap<OsString, Entry>,
}

/// One name in one folder.
type Place = (Inode, OsString);

/// What is known about the files and folders below a root.
#[derive(Debug, Default)]
pub(super) struct TreeModel {
    files: BTreeMap<Inode, KnownFile>,
    folders: BTreeMap<Inode, KnownFolder>,
    /// Renames that are possibly not on the disk. Both of their places change or none.
    renames: Vec<(Place, Place)>,
    /// True if changes of a file reach the disk in order.
    pub(super) is_ordered: bool,
}

/// A file or folder as it is after a power failure.
enum SurvivingNode {
    File { content: Vec<u8>, mode: u32 },
    Folder { nodes: BTreeMap<OsString, SurvivingNode>, mode: u32 },
    Link(PathBuf),
}

/// Returns true for paths below the root that the model does not describe.
pub(super) type Exclusion = fn(&Path) -> bool;

impl TreeModel {
    /// Returns a model in which everything below `root` is on the disk.
    pub(super) fn read(root: &Path, excluded: Exclusion) -> io::Result<Self> {
        let mut model = Self::default();
        model.read_folder(root, Path::new(""), excluded)?;
        Ok(model)
    }

    fn read_folder(&mut self, root: &Path, at: &Path, excluded: Exclusion) -> io::Result<()> {
        let path = root.join(at);
        let synced = list_entries(&path, at, excluded)?;
        for (name, entry) in &synced {
            match entry {
                Entry::Folder(_) => self.read_folder(root, &at.join(name), excluded)?,
                Entry::File(_) => {
                    let content = FileContent::from_synced(fs::read(path.join(name))?);
                    self.add_file(&path.join(name), content)?;
                }
                Entry::Link(_) => {}
            }
        }
        let handle = File::open(&path)?;
        let inode = inode_of(&handle.metadata()?);
        self.folders.insert(inode, KnownFolder { handle, synced });
        Ok(())
    }

    fn add_file(&mut self, path: &Path, content: FileContent) -> io::Result<()> {
        let handle = File::open(path)?;
        let inode = inode_of(&handle.metadata()?);
        self.files.entry(inode).or_insert(KnownFile { handle, content });
        Ok(())
    }

    /// Returns the model of an open file. A new file is empty on the disk.
    pub(super) fn file_mut(&mut self, file: &File) -> io::Result<&mut KnownFile> {
        let inode = inode_of(&file.metadata()?);
        Ok(match self.files.entry(inode) {
            btree_map::Entry::Occupied(known) => known.into_mut(),
            btree_map::Entry::Vacant(place) => {
                // A handle of its own: a duplicate would share the lock of the caller and keep it.
                let (handle, content) = (reopen(file)?, FileContent::default());
                place.insert(KnownFile { handle, content })
            }
        })
    }

    /// Records that the entries of the folder at `path` are on the disk.
    pub(super) fn sync_folder(
        &mut self,
        path: &Path,
        at: &Path,
        excluded: Exclusion,
    ) -> io::Result<()> {
        let handle = File::open(path)?;
        let inode = inode_of(&handle.metadata()?);
        let synced = list_entries(path, at, excluded)?;
        for (name, entry) in &synced {
            if matches!(entry, Entry::File(inode) if !self.files.contains_key(inode)) {
                self.add_file(&path.join(name), FileContent::default())?;
            }
        }
        self.folders.insert(inode, KnownFolder { handle, synced });
        for (from, to) in std::mem::take(&mut self.renames) {
            match (from.0 == inode, to.0 == inode) {
                (false, false) => self.renames.push((from, to)),
                // The other half of the rename is in the same transaction.
                (false, true) => self.sync_removal(&from),
                (true, false) => self.sync_moved_entry(&to)?,
                (true, true) => {}
            }
        }
        Ok(())
    }

    fn sync_removal(&mut self, place: &Place) {
        if let Some(folder) = self.folders.get_mut(&place.0) {
            folder.synced.remove(&place.1);
        }
    }

    fn sync_moved_entry(&mut self, place: &Place) -> io::Result<()> {
        let Some(folder) = self.folders.get_mut(&place.0) else { return Ok(()) };
        let path = super::path_of_handle(&folder.handle).join(&place.1);
        if let Some(entry) = read_entry(&path)? {
            folder.synced.insert(place.1.clone(), entry);
        }
        Ok(())
    }

    /// Records a rename that was done.
    pub(super) fn push_rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let place = |path: &Path| -> io::Result<Place> {
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            let folder = fs::metadata(folder.unwrap_or(Path::new(".")))?;
            Ok((inode_of(&folder), path.file_name().unwrap_or_default().to_owned()))
        };
        self.renames.push((place(from)?, place(to)?));
        Ok(())
    }

    /// Sets the real folder back to a state that the disk may have after a power failure.
    pub(super) fn crash(
        &mut self,
        root: &Path,
        excluded: Exclusion,
        mut rng: Option<Rng>,
    ) -> io::Result<()> {
        let coins = self.toss_rename_coins(rng.as_mut());
        let surviving = self.survive_folder(
            &inode_of(&fs::metadata(root)?),
            Some(root),
            Path::new(""),
            excluded,
            &coins,
            &mut rng,
        )?;
        rebuild_folder(root, Path::new(""), &surviving, excluded)
    }

    /// Decides for every place of a rename whether its change survives. Connected places share a decision.
    fn toss_rename_coins(&self, mut rng: Option<&mut Rng>) -> BTreeMap<Place, bool> {
        let mut coins: BTreeMap<Place, bool> = BTreeMap::new();
        for (from, to) in &self.renames {
            let was_durable =
                self.folders.get(&from.0).is_some_and(|it| it.synced.contains_key(&from.1));
            let earlier = coins.get(from).or(coins.get(to)).copied();
            let coin = earlier.unwrap_or_else(|| rng.as_mut().is_some_and(|rng| rng.bool()));
            coins.insert(to.clone(), coin);
            // A file whose name was not on the disk may have none, or keep both names.
            if was_durable {
                coins.insert(from.clone(), coin);
            }
        }
        coins
    }

    /// Returns the entries of a folder after a power failure. `path` is where the folder is now, if it still exists.
    fn survive_folder(
        &self,
        inode: &Inode,
        path: Option<&Path>,
        at: &Path,
        excluded: Exclusion,
        coins: &BTreeMap<Place, bool>,
        rng: &mut Option<Rng>,
    ) -> io::Result<BTreeMap<OsString, SurvivingNode>> {
        let empty = BTreeMap::new();
        let synced = self.folders.get(inode).map_or(&empty, |folder| &folder.synced);
        let current = match path {
            Some(path) => list_entries(path, at, excluded)?,
            None => BTreeMap::new(),
        };
        let names: BTreeSet<&OsString> = synced.keys().chain(current.keys()).collect();
        let mut nodes = BTreeMap::new();
        for name in names {
            let (before, after) = (synced.get(name), current.get(name));
            let keeps_change = match coins.get(&(*inode, name.clone())) {
                Some(coin) => *coin,
                None => rng.as_mut().is_some_and(|rng| rng.bool()),
            };
            let entry = if before == after || keeps_change { after } else { before };
            let at = at.join(name);
            let node = match entry {
                None => continue,
                Some(Entry::Link(target)) => SurvivingNode::Link(target.clone()),
                Some(Entry::File(inode)) => self.survive_file(inode, path, name, rng)?,
                Some(Entry::Folder(inode)) => {
                    let here = || path.map(|path| path.join(name)).filter(|path| path.is_dir());
                    let path = self.find_folder(inode).or_else(here);
                    let mode = path.as_ref().map_or(Ok(0o700), |path| mode_of(path))?;
                    let path = path.as_deref();
                    let nodes = self.survive_folder(inode, path, &at, excluded, coins, rng)?;
                    SurvivingNode::Folder { nodes, mode }
                }
            };
            nodes.insert(name.clone(), node);
        }
        Ok(nodes)
    }

    fn survive_file(
        &self,
        inode: &Inode,
        folder: Option<&Path>,
        name: &OsStr,
        rng: &mut Option<Rng>,
    ) -> io::Result<SurvivingNode> {
        let (mut content, handle) = match self.files.get(inode) {
            Some(known) => (known.content.clone(), known.handle.try_clone()?),
            None => {
                let folder = folder.ok_or(io::ErrorKind::NotFound)?;
                (FileContent::default(), File::open(folder.join(name))?)
            }
        };
        content.reconcile(&read_whole(&handle)?);
        let mode = handle.metadata()?.mode() & 0o7777;
        Ok(SurvivingNode::File { content: content.survive(rng.as_mut(), self.is_ordered), mode })
    }

    /// Returns the current path of a folder. Returns `None` if it was removed or is not known.
    fn find_folder(&self, inode: &Inode) -> Option<PathBuf> {
        let path = super::path_of_handle(&self.folders.get(inode)?.handle);
        let found = fs::metadata(&path).ok()?;
        (inode_of(&found) == *inode).then_some(path)
    }
}

/// Opens the file again, also if it was removed, with a position and locks of its own.
fn reopen(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn read_whole(file: &File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reopen(file)?.read_to_end(&mut content)?;
    Ok(content)
}

fn mode_of(path: &Path) -> io::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o7777)
}

/// Returns the entries of the folder at `path`, without those that are excluded.
fn list_entries(
    path: &Path,
    at: &Path,
    excluded: Exclusion,
) -> io::Result<BTreeMap<OsString, Entry>> {
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if excluded(&at.join(&name)) {
            continue;
        }
        if let Some(entry) = read_entry(&path.join(&name))? {
            entries.insert(name, entry);
        }
    }
    Ok(entries)
}

fn read_entry(path: &Path) -> io::Result<Option<Entry>> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_dir() {
        Some(Entry::Folder(inode_of(&metadata)))
    } else if kind.is_symlink() {
        Some(Entry::Link(fs::read_link(path)?))
    } else if kind.is_file() {
        Some(Entry::File(inode_of(&metadata)))
    } else {
        None
    })
}

/// Gives the folder at `path` the entries in `nodes`.
fn rebuild_folder(
    path: &Path,
    at: &Path,
    nodes: &BTreeMap<OsString, SurvivingNode>,
    excluded: Exclusion,
) -> io::Result<()> {
    for (name, entry) in list_entries(path, at, excluded)? {
        let path = path.join(&name);
        match (entry, nodes.get(&name)) {
            (Entry::Folder(_), Some(SurvivingNode::Folder { .. })) => {}
            (Entry::Folder(_), _) => fs::remove_dir_all(path)?,
            (Entry::File(_), Some(SurvivingNode::File { content, mode }))
                if mode_of(&path)? == *mode && fs::read(&path)? == *content => {}
            (Entry::File(_) | Entry::Link(_), _) => fs::remove_file(path)?,
        }
    }
    for (name, node) in nodes {
        let path = path.join(name);
        match node {
            SurvivingNode::Folder { nodes, mode } => {
                if !path.exists() {
                    DirBuilder::new().mode(*mode).create(&path)?;
                }
                rebuild_folder(&path, &at.join(name), nodes, excluded)?;
            }
            SurvivingNode::Link(target) => std::os::unix::fs::symlink(target, &path)?,
            SurvivingNode::File { .. } if path.exists() => {}
            SurvivingNode::File { content, mode } => {
                let mut file =
                    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
                file.write_all(content)?;
                file.set_permissions(Permissions::from_mode(*mode))?;
            }
        }
    }
    Ok(())
}
