//! The files of a project as everything in this crate sees them: which of them count, and what they are to discoveries.

use std::path::Path;

use guard::Kind;
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
    // Entries are written through a link, and a walk follows none: they are read where the link leads.
    let there = tree.guard().look(folder).ok();
    let there = there.filter(|seen| seen.kind == Kind::Folder && !seen.path.is_empty());
    let places = Places::new(there.as_ref().map_or(folder, |seen| &seen.path));
    let beside = places.beside_the_walk();
    let tree = tree
        .with_excluded(options.exclude.iter().map(String::as_str))
        .with_extra(beside.iter().map(String::as_str))?
        .with_extra_anywhere(places.beside_any_walk())?;
    Ok((tree, places))
}
