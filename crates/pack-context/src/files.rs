//! The files of a project as everything in this crate sees them: which of them count, and what they are to discoveries.

use std::path::Path;

use tree::Tree;

use crate::discover::Places;
use crate::{ContextError, ContextOptions};

/// Opens the root; no file is read.
pub(crate) fn open(root: &Path, options: &ContextOptions) -> Result<(Tree, Places), ContextError> {
    let tree = Tree::new(root, options.deny.clone().with("node_modules"))?;
    let folder = &options.memory_folder;
    tree.guard()
        .check(folder)
        .map_err(|refusal| ContextError::MemoryFolder { folder: folder.clone(), refusal })?;
    let places = Places::new(folder);
    let beside = places.beside_the_walk();
    let tree = tree
        .with_excluded(options.exclude.iter().map(String::as_str))
        .with_extra(beside.iter().map(String::as_str))?;
    Ok((tree, places))
}
