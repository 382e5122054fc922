//! All that the files and the history of a project tell, read now and kept nowhere: for whoever lists discoveries
//! without an index.

use std::io::Read;
use std::path::Path;

use source::Modules;
use tree::Tree;

use super::{Discovery, MAX_COMMITS, Places, fix_commits};
use crate::index::MAX_FILE_BYTES;
use crate::{ContextError, ContextOptions, files};

/// What a project tells.
#[derive(Debug, Default)]
pub struct Told {
    /// Newest first.
    pub discoveries: Vec<Discovery>,
    /// Why the history is not among them, where it could not be read.
    pub no_history: Option<String>,
}

/// Reads every file that may hold a discovery, and the history.
pub fn in_project(root: &Path, options: &ContextOptions) -> Result<Told, ContextError> {
    let (tree, places) = files::open(root, options)?;
    let modules = Modules::read(tree.guard());
    let mut told = Told::default();
    for entry in tree.list().entries {
        if places.of(&entry.path).is_some() && entry.stamp.size <= MAX_FILE_BYTES {
            told.discoveries.extend(in_file(&places, &tree, &entry.path));
        }
    }
    match fix_commits(root, MAX_COMMITS) {
        Ok(fixes) => told.discoveries.extend(fixes),
        Err(error) => told.no_history = Some(error.to_string()),
    }
    for discovery in &mut told.discoveries {
        discovery.fill_module(|path| modules.of(path));
    }
    // Stable, so that those of one file stay in its order.
    told.discoveries.sort_by(|a, b| b.date.cmp(&a.date));
    Ok(told)
}

/// Nothing where the file went away, or is no text.
fn in_file(places: &Places, tree: &Tree, path: &str) -> Vec<Discovery> {
    let Ok((file, metadata)) = tree.open(path) else { return Vec::new() };
    let mut text = String::new();
    if file.take(MAX_FILE_BYTES).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let date = metadata.modified().map(contract::time::of_file).unwrap_or_default();
    if text.contains('\0') { Vec::new() } else { places.in_file(path, &text, &date) }
}
