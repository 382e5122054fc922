//! Remappings of import paths: those that a project states, and those that Foundry infers from its libraries.

use std::path::Path;

use crate::project::FoundryConfig;
use crate::{LoadError, read};

/// The remappings of the project at `root`, stated ones first. Of several with one prefix the first counts.
pub(super) fn of_project(root: &Path) -> Result<Vec<String>, LoadError> {
    let mut all = stated_in_file(&root.join("remappings.txt"))?;
    if let Some(config) = FoundryConfig::read(root)? {
        all.extend(config.remappings);
        all.extend(config.libs.iter().flat_map(|folder| inferred(root, folder)));
    }
    let mut kept: Vec<String> = Vec::new();
    for remapping in all {
        if !kept.iter().any(|known| prefix(known) == prefix(&remapping)) {
            kept.push(remapping);
        }
    }
    Ok(kept)
}

fn prefix(remapping: &str) -> &str {
    remapping.split('=').next().unwrap_or_default()
}

fn stated_in_file(path: &Path) -> Result<Vec<String>, LoadError> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = read::text(path, read::MAX_CONFIG)?;
    let lines = text.lines().map(str::trim).filter(|line| line.contains('='));
    Ok(lines.map(str::to_owned).collect())
}

/// `name/` means the sources of the library of that name, as Foundry has it for the usual layouts.
fn inferred(root: &Path, folder: &str) -> Vec<String> {
    // Packages of npm are found by their own names.
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
