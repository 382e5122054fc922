//! `package.json` files: which packages a folder may import, and which of them are part of the project.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet};
use serde_json::Value;

use super::files::{Files, Memory, below, folders_above};
use crate::yaml;

/// Folders that workspace patterns may name in all.
const MAX_MEMBERS: usize = 2000;

#[derive(Default)]
pub(super) struct Manifests {
    declared: Memory<Option<Arc<PackageJson>>>,
    members: Memory<Arc<HashMap<String, String>>>,
}

/// What one `package.json` says.
#[derive(Default)]
pub(crate) struct PackageJson {
    pub(crate) name: Option<String>,
    /// That it depends on.
    packages: HashSet<String>,
    workspaces: Vec<String>,
}

impl PackageJson {
    /// A manifest that cannot be read still says that here is a package.
    pub(crate) fn parse(text: &str) -> Self {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        let kinds = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
        let packages = kinds.iter().filter_map(|kind| json.get(kind)?.as_object());
        Self {
            name: json.get("name").and_then(Value::as_str).map(str::to_owned),
            packages: packages.flat_map(|packages| packages.keys().cloned()).collect(),
            workspaces: json.get("workspaces").map(workspaces).unwrap_or_default(),
        }
    }
}

impl Manifests {
    /// Whether a file may import a package: some `package.json` above it names it, or there is none that could.
    pub(super) fn declares(&self, files: &Files, from: &str, package: &str) -> bool {
        let types = format!("@types/{}", package.trim_start_matches('@').replace('/', "__"));
        let mut any = false;
        for declared in folders_above(from).filter_map(|folder| self.at(files, folder)) {
            any = true;
            let named = declared.name.as_deref() == Some(package);
            if named || declared.packages.contains(package) || declared.packages.contains(&types) {
                return true;
            }
        }
        !any
    }

    /// The folder of a package that is a member of the same workspace.
    pub(super) fn member(&self, files: &Files, from: &str, package: &str) -> Option<String> {
        let root =
            folders_above(from).find(|folder| !self.patterns(files, folder).is_empty())?.to_owned();
        let members = self.members.get_or(root.as_str(), || {
            let mut members = HashMap::new();
            for folder in expand(files, &root, &self.patterns(files, &root)) {
                if let Some(name) = self.at(files, &folder).and_then(|found| found.name.clone()) {
                    members.insert(name, folder);
                }
            }
            Arc::new(members)
        });
        members.get(package).cloned()
    }

    /// Patterns of workspace members that a folder's manifest lists: npm, yarn and pnpm.
    fn patterns(&self, files: &Files, folder: &str) -> Vec<String> {
        let mut patterns =
            self.at(files, folder).map(|found| found.workspaces.clone()).unwrap_or_default();
        let pnpm = files.read(&below(folder, "pnpm-workspace.yaml"));
        if let Some(workspace) = pnpm.and_then(|text| yaml::parse_document(&text))
            && let Some(packages) = workspace.get("packages")
        {
            patterns.extend(yaml::scalar_texts(packages));
        }
        patterns
    }

    fn at(&self, files: &Files, folder: &str) -> Option<Arc<PackageJson>> {
        self.declared.get_or(folder, || {
            let text = files.read(&below(folder, "package.json"))?;
            Some(Arc::new(PackageJson::parse(&text)))
        })
    }
}

/// `["packages/*"]` or `{"packages": ["packages/*"]}`.
fn workspaces(value: &Value) -> Vec<String> {
    let list = value.as_array().or_else(|| value.get("packages")?.as_array());
    list.into_iter().flatten().filter_map(|item| item.as_str()).map(str::to_owned).collect()
}

/// The folders that patterns with `*` and `**` name below `root`, without those that a pattern after `!` names.
fn expand(files: &Files, root: &str, patterns: &[String]) -> Vec<String> {
    let mut folders = Vec::new();
    let (excluded, included): (Vec<_>, Vec<_>) =
        patterns.iter().partition(|pattern| pattern.starts_with('!'));
    for pattern in included {
        let mut open = vec![root.to_owned()];
        for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
            open = open.iter().flat_map(|folder| step(files, folder, part)).collect();
            open.truncate(MAX_MEMBERS);
        }
        folders.extend(open);
    }
    let excluded = any_of(root, &excluded);
    folders.retain(|folder| !excluded.is_match(below(folder, "package.json")));
    folders.truncate(MAX_MEMBERS);
    folders
}

/// What matches the manifests that patterns exclude; a pattern that cannot be read excludes nothing.
fn any_of(root: &str, excluded: &[&String]) -> GlobSet {
    let mut globs = GlobSet::builder();
    for pattern in excluded {
        let pattern = pattern.trim_start_matches('!').trim_start_matches("./");
        // As package managers have it: `**` at the end means the folder itself, too.
        let manifest = format!("{}/package.json", pattern.trim_end_matches('/'));
        let pattern = below(&globset::escape(root), &manifest);
        if let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).build() {
            globs.add(glob);
        }
    }
    globs.build().unwrap_or_default()
}

fn step(files: &Files, folder: &str, part: &str) -> Vec<String> {
    let Some((head, tail)) = part.split_once('*') else {
        return Some(below(folder, part))
            .filter(|path| files.is_folder(path))
            .into_iter()
            .collect();
    };
    let tail = tail.trim_start_matches('*');
    let names = files.list(folder);
    let fits = |name: &&String| {
        name.len() >= head.len() + tail.len()
            && name.starts_with(head)
            && name.ends_with(tail)
            && !name.starts_with('.')
            && *name != "node_modules"
    };
    let mut found: Vec<String> = names
        .iter()
        .filter(fits)
        .map(|name| below(folder, name))
        .filter(|path| files.is_folder(path))
        .collect();
    if part == "**" {
        // Any depth, within reason: members sit a few folders deep.
        let deeper: Vec<String> =
            found.iter().flat_map(|folder| step(files, folder, "*")).take(MAX_MEMBERS).collect();
        found.extend(deeper);
        found.insert(0, folder.to_owned());
    }
    found
}

/// The package that a path in `node_modules` belongs to.
pub(super) fn installed(path: &str) -> Option<String> {
    let (_, inside) = path.rsplit_once("node_modules/")?;
    let complete = path == format!("node_modules/{inside}")
        || path.ends_with(&format!("/node_modules/{inside}"));
    complete.then(|| package_name(inside).to_owned())
}

/// `@scope/name` or `name` at the beginning of a specifier.
pub(super) fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(parts - 1) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}

/// Whether npm would take it for a package's name.
pub(super) fn is_package_name(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '_'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    match name.strip_prefix('@') {
        Some(scoped) => {
            scoped.split_once('/').is_some_and(|(scope, name)| plain(scope) && plain(name))
        }
        None => plain(name),
    }
}
