//! Import remappings: those declared by a project, and those that Foundry infers from its libraries.

use std::path::Path;

use crate::project::FoundryConfig;
use crate::{LoadError, bounded_file};

/// Returns the remappings of the project at `root`, declared ones first. The first remapping of a prefix wins.
pub(super) fn load_remappings(root: &Path) -> Result<Vec<String>, LoadError> {
    let mut all = read_remappings_file(root)?;
    if let Some(config) = FoundryConfig::read(root)? {
        all.extend(config.remappings);
        all.extend(config.libs.iter().flat_map(|folder| infer_remappings(root, folder)));
    }
    let mut kept: Vec<String> = Vec::new();
    for remapping in all {
        if !kept.iter().any(|known| remapping_prefix(known) == remapping_prefix(&remapping)) {
            kept.push(remapping);
        }
    }
    Ok(kept)
}

fn remapping_prefix(remapping: &str) -> &str {
    remapping.split('=').next().unwrap_or_default()
}

fn read_remappings_file(root: &Path) -> Result<Vec<String>, LoadError> {
    let path = root.join("remappings.txt");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = bounded_file::read_contained_text(root, &path)?;
    let lines = text.lines().map(str::trim).filter(|line| line.contains('='));
    Ok(lines.map(str::to_owned).collect())
}

/// Maps `name/` to the sources of the library `name`, as Foundry does for common layouts.
fn infer_remappings(root: &Path, folder: &str) -> Vec<String> {
    // npm packages are resolved by their own names.
    let entries = match folder {
        "node_modules" => None,
        _ => root.join(folder).read_dir().ok(),
    };
    let mut names: Vec<_> = entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let target = |name: String| {
        let library = root.join(folder).join(&name);
        let inner = ["src", "contracts"].into_iter().find(|inner| library.join(inner).is_dir());
        match inner {
            Some(inner) => format!("{name}/={folder}/{name}/{inner}/"),
            None => format!("{name}/={folder}/{name}/"),
        }
    };
    names.into_iter().map(target).collect()
}
