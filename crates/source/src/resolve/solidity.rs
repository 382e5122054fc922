//! Solidity: relative paths, remappings of Foundry, libraries under `lib`, packages in `node_modules`.

use serde::Deserialize;

use super::Resolution;
use super::files::{Files, below, folders_above, join, parent};
use super::manifest::{Manifests, is_package_name, package_name};
use crate::import::Import;

pub(super) fn resolve(
    files: &Files,
    manifests: &Manifests,
    from: &str,
    import: &Import,
) -> Resolution {
    let path = import.specifier.as_str();
    if path.starts_with("./") || path.starts_with("../") {
        return Resolution::file(join(parent(from), path).and_then(|path| files.file(&path)));
    }
    for folder in folders_above(from) {
        let direct = remapped(files, folder, from, path)
            .or_else(|| files.file(&below(folder, path)))
            .or_else(|| library(files, folder, path))
            .or_else(|| files.file(&below(folder, &format!("node_modules/{path}"))));
        if direct.is_some() {
            return Resolution::file(direct);
        }
    }
    let package = package_name(path);
    let named = is_package_name(package) && path.contains('/');
    if named && manifests.declares(files, from, package) {
        return Resolution::External(package.to_owned());
    }
    Resolution::Missing
}

/// `context:prefix=target`, as `remappings.txt` and `foundry.toml` hold them.
struct Remapping {
    context: String,
    prefix: String,
    target: String,
}

#[derive(Deserialize)]
struct Foundry {
    profile: Profiles,
}

/// Other profiles count only where one is asked for.
#[derive(Deserialize)]
struct Profiles {
    default: Profile,
}

#[derive(Deserialize)]
struct Profile {
    #[serde(default)]
    remappings: Vec<String>,
}

/// The longest context, then the longest prefix wins, as the compiler has it.
fn remapped(files: &Files, folder: &str, from: &str, path: &str) -> Option<String> {
    let inside =
        if folder.is_empty() { from } else { from.strip_prefix(folder)?.strip_prefix('/')? };
    let mut fitting: Vec<Remapping> = remappings(files, folder)
        .into_iter()
        .filter(|mapping| path.starts_with(&mapping.prefix) && inside.starts_with(&mapping.context))
        .collect();
    fitting.sort_by_key(|mapping| (mapping.context.len(), mapping.prefix.len()));
    let mapping = fitting.pop()?;
    let target = format!("{}{}", mapping.target, &path[mapping.prefix.len()..]);
    files.file(&join(folder, &target)?)
}

fn remappings(files: &Files, folder: &str) -> Vec<Remapping> {
    let listed = files.read(&below(folder, "remappings.txt"));
    let mut lines: Vec<String> =
        listed.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    if let Some(text) = files.read(&below(folder, "foundry.toml"))
        && let Ok(foundry) = toml::from_str::<Foundry>(&text)
    {
        lines.extend(foundry.profile.default.remappings);
    }
    let parse = |line: &String| {
        let (from, target) = line.trim().split_once('=')?;
        let (context, prefix) = from.split_once(':').unwrap_or(("", from));
        let (context, prefix, target) = (context.to_owned(), prefix.to_owned(), target.to_owned());
        (!prefix.is_empty()).then_some(Remapping { context, prefix, target })
    };
    lines.iter().filter_map(parse).collect()
}

/// `name/…` is `lib/name/src/…` without being told, as `forge` has it.
fn library(files: &Files, folder: &str, path: &str) -> Option<String> {
    let (name, rest) = path.split_once('/')?;
    let name = name.trim_start_matches('@');
    ["src", "contracts", ""]
        .iter()
        .map(|sources| below(folder, &format!("lib/{name}/{sources}/{rest}")))
        .find_map(|path| files.file(&join("", &path)?))
}
