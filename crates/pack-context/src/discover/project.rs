//! All that the files and the history of a project tell, read now and kept nowhere: for whoever lists discoveries
//! without an index.

use std::fmt;
use std::path::Path;

use source::Modules;
use tree::Tree;

use super::{Discovery, MAX_COMMITS, Noted, Place, Places, fix_commits};
use crate::excerpt::Excerpt;
use crate::{ContextError, ContextOptions, files};

/// What a project tells.
#[derive(Debug, Default)]
pub struct Told {
    /// Newest first.
    pub discoveries: Vec<Discovery>,
    /// Why the history is not among them, where it could not be read.
    pub no_history: Option<String>,
    /// What people noted in files and is not among them.
    pub left_out: Vec<LeftOut>,
}

/// Something in a file that is not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: String,
    pub what: Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The file is too long to be read.
    All,
    /// The beginning of a long memory file, in bytes.
    Beginning(u32),
    /// Entries past the bound; of a memory file the oldest.
    Entries(usize),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match self.what {
            Missing::All => write!(f, "{path}, which is too long to be read"),
            Missing::Beginning(bytes) => write!(f, "the first {bytes} bytes of {path}"),
            Missing::Entries(count) => write!(f, "{count} more entries of {path}"),
        }
    }
}

/// Reads every file that may hold a discovery, and the history.
pub fn in_project(root: &Path, options: &ContextOptions) -> Result<Told, ContextError> {
    let (tree, places) = files::open(root, options)?;
    let modules = Modules::read(tree.guard());
    let mut told = Told::default();
    for entry in tree.list().entries {
        if let Some(place) = places.of(&entry.path) {
            told.read(&places, place, &tree, &entry.path);
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

impl Told {
    /// Nothing where the file went away, or is no text.
    fn read(&mut self, places: &Places, place: Place, tree: &Tree, path: &str) {
        let Ok((file, metadata)) = tree.open(path) else { return };
        let Ok(excerpt) = Excerpt::read(file, metadata.len(), Some(place)) else { return };
        let Some(excerpt) = excerpt else {
            // A long source is data, and nobody notes anything in it.
            if place != Place::Source {
                self.leave_out(path, Missing::All);
            }
            return;
        };
        let Some(text) = excerpt.text() else { return };
        let date = metadata.modified().map(contract::time::of_file).unwrap_or_default();
        let Noted { mut discoveries, surplus } = places.look_at(path, text, &date);
        discoveries.iter_mut().for_each(|discovery| discovery.move_down(excerpt.lines_before));
        self.discoveries.append(&mut discoveries);
        if !excerpt.is_whole() {
            self.leave_out(path, Missing::Beginning(excerpt.bytes_before));
        }
        if surplus > 0 {
            self.leave_out(path, Missing::Entries(surplus));
        }
    }

    fn leave_out(&mut self, path: &str, what: Missing) {
        self.left_out.push(LeftOut { path: path.to_owned(), what });
    }
}
