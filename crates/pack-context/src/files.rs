//! Opens the file tree of a project: which files are visible to this crate, and which may hold discoveries.

use std::path::Path;

use guard::FileKind;
use tree::FileTree;

use crate::discover::DiscoveryExtractor;
use crate::{ContextError, ContextOptions};

/// Opens the root without reading any file. Fails if the root or the memory folder is not usable.
pub(crate) fn open_project_tree(
    root: &Path,
    options: &ContextOptions,
) -> Result<(FileTree, DiscoveryExtractor), ContextError> {
    let deny = options.deny.clone().with_source_exception().with_pattern("node_modules");
    let tree = FileTree::new(root, deny)?.with_source_check(secrets::is_plain_source);
    let folder = &options.memory_folder;
    tree.guard()
        .check_path(folder)
        .map_err(|refusal| ContextError::MemoryFolder { folder: folder.clone(), refusal })?;
    // Entries are written through a symbolic link, but a walk follows no links. So the link's target is listed instead.
    let target = tree.guard().resolve_path(folder).ok();
    let target = target.filter(|found| found.kind == FileKind::Folder && !found.path.is_empty());
    let places = DiscoveryExtractor::new(target.as_ref().map_or(folder, |found| &found.path));
    let beside = places.extra_walk_paths();
    let tree = tree
        .with_excluded_folders(options.exclude.iter().map(String::as_str))
        .with_extra_paths(beside.iter().map(String::as_str))?
        .with_extra_paths_anywhere(places.extra_walk_paths_anywhere())?;
    Ok((tree, places))
}
