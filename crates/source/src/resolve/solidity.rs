//! Solidity resolution: relative paths, Foundry remappings, libraries under `lib`, packages in `node_modules`.

use serde::Deserialize;

use super::ImportResolution;
use super::package_json::{NpmManifests, is_package_name, package_name};
use super::project_files::{ProjectFiles, ancestor_folders, child_path, join_path, parent_folder};
use crate::import::Import;

pub(super) fn resolve_import(
    files: &ProjectFiles,
    manifests: &NpmManifests,
    from: &str,
    import: &Import,
) -> ImportResolution {
    let path = import.specifier.as_str();
    if path.starts_with("./") || path.starts_with("../") {
        return ImportResolution::from_file(
            join_path(parent_folder(from), path).and_then(|path| files.find_file(&path)),
        );
    }
    for folder in ancestor_folders(from) {
        let direct = apply_remappings(files, folder, from, path)
            .or_else(|| files.find_file(&child_path(folder, path)))
            .or_else(|| find_library_file(files, folder, path))
            .or_else(|| files.find_file(&child_path(folder, &format!("node_modules/{path}"))));
        if direct.is_some() {
            return ImportResolution::from_file(direct);
        }
    }
    let package = package_name(path);
    let named = is_package_name(package) && path.contains('/');
    if named && manifests.declares_package(files, from, package) {
        return ImportResolution::External(package.to_owned());
    }
    ImportResolution::Missing
}

/// A `context:prefix=target` entry of `remappings.txt` or `foundry.toml`.
struct ImportRemapping {
    context: String,
    prefix: String,
    target: String,
}

#[derive(Deserialize)]
struct RemappingConfig {
    profile: RemappingProfiles,
}

/// The `profile` table. Only the default profile applies unless another one is selected.
#[derive(Deserialize)]
struct RemappingProfiles {
    default: RemappingProfile,
}

#[derive(Deserialize)]
struct RemappingProfile {
    #[serde(default)]
    remappings: Vec<String>,
}

/// Resolves a path through the remappings. As in the compiler, the longest context wins, then the longest prefix.
fn apply_remappings(files: &ProjectFiles, folder: &str, from: &str, path: &str) -> Option<String> {
    let inside =
        if folder.is_empty() { from } else { from.strip_prefix(folder)?.strip_prefix('/')? };
    let mut matching: Vec<ImportRemapping> = read_remappings(files, folder)
        .into_iter()
        .filter(|mapping| path.starts_with(&mapping.prefix) && inside.starts_with(&mapping.context))
        .collect();
    matching.sort_by_key(|mapping| (mapping.context.len(), mapping.prefix.len()));
    let mapping = matching.pop()?;
    let target = format!("{}{}", mapping.target, &path[mapping.prefix.len()..]);
    files.find_file(&join_path(folder, &target)?)
}

fn read_remappings(files: &ProjectFiles, folder: &str) -> Vec<ImportRemapping> {
    let listed = files.read_text(&child_path(folder, "remappings.txt"));
    let mut lines: Vec<String> =
        listed.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    if let Some(text) = files.read_text(&child_path(folder, "foundry.toml"))
        && let Ok(foundry) = toml::from_str::<RemappingConfig>(&text)
    {
        lines.extend(foundry.profile.default.remappings);
    }
    let parse = |line: &String| {
        let (from, target) = line.trim().split_once('=')?;
        let (context, prefix) = from.split_once(':').unwrap_or(("", from));
        let (context, prefix, target) = (context.to_owned(), prefix.to_owned(), target.to_owned());
        (!prefix.is_empty()).then_some(ImportRemapping { context, prefix, target })
    };
    lines.iter().filter_map(parse).collect()
}

/// Resolves `name/…` to `lib/name/src/…`, the implicit remapping of `forge`.
fn find_library_file(files: &ProjectFiles, folder: &str, path: &str) -> Option<String> {
    let (name, rest) = path.split_once('/')?;
    let name = name.trim_start_matches('@');
    ["src", "contracts", ""]
        .iter()
        .map(|sources| child_path(folder, &format!("lib/{name}/{sources}/{rest}")))
        .find_map(|path| files.find_file(&join_path("", &path)?))
}
