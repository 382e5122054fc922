//! `package.json` files: declared dependencies and workspace members.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet};
use serde_json::Value;

use super::project_files::{MemoMap, ProjectFiles, ancestor_folders, child_path};
use crate::yaml;

/// Maximum number of folders that workspace patterns may expand to.
const MAX_MEMBERS: usize = 2000;

/// Cached `package.json` files and workspace members.
#[derive(Default)]
pub(super) struct NpmManifests {
    declared: MemoMap<Option<Arc<PackageJson>>>,
    members: MemoMap<Arc<HashMap<String, String>>>,
}

/// A parsed `package.json`.
#[derive(Default)]
pub(crate) struct PackageJson {
    pub(crate) name: Option<String>,
    /// Names of all dependencies.
    packages: HashSet<String>,
    workspaces: Vec<String>,
}

impl PackageJson {
    /// Parses a manifest. An invalid one is treated as empty, because it still marks the folder as a package.
    pub(crate) fn parse(text: &str) -> Self {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        let kinds = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
        let packages = kinds.iter().filter_map(|kind| json.get(kind)?.as_object());
        Self {
            name: json.get("name").and_then(Value::as_str).map(str::to_owned),
            packages: packages.flat_map(|packages| packages.keys().cloned()).collect(),
            workspaces: json.get("workspaces").map(parse_workspaces).unwrap_or_default(),
        }
    }
}

impl NpmManifests {
    /// Returns `true` if a file may import a package: an ancestor `package.json` declares it, or none exists.
    pub(super) fn declares_package(&self, files: &ProjectFiles, from: &str, package: &str) -> bool {
        let types = format!("@types/{}", package.trim_start_matches('@').replace('/', "__"));
        let mut any = false;
        for declared in
            ancestor_folders(from).filter_map(|folder| self.read_manifest(files, folder))
        {
            any = true;
            let named = declared.name.as_deref() == Some(package);
            if named || declared.packages.contains(package) || declared.packages.contains(&types) {
                return true;
            }
        }
        !any
    }

    /// Returns the folder of a package in the same workspace.
    pub(super) fn find_member(
        &self,
        files: &ProjectFiles,
        from: &str,
        package: &str,
    ) -> Option<String> {
        let root = ancestor_folders(from)
            .find(|folder| !self.workspace_patterns(files, folder).is_empty())?
            .to_owned();
        let members = self.members.get_or_compute(root.as_str(), || {
            let mut members = HashMap::new();
            for folder in expand_patterns(files, &root, &self.workspace_patterns(files, &root)) {
                if let Some(name) =
                    self.read_manifest(files, &folder).and_then(|found| found.name.clone())
                {
                    members.insert(name, folder);
                }
            }
            Arc::new(members)
        });
        members.get(package).cloned()
    }

    /// Returns the workspace member patterns of a folder, from npm, yarn or pnpm.
    fn workspace_patterns(&self, files: &ProjectFiles, folder: &str) -> Vec<String> {
        let mut patterns = self
            .read_manifest(files, folder)
            .map(|found| found.workspaces.clone())
            .unwrap_or_default();
        let pnpm = files.read_text(&child_path(folder, "pnpm-workspace.yaml"));
        if let Some(workspace) = pnpm.and_then(|text| yaml::parse_document(&text))
            && let Some(packages) = workspace.get("packages")
        {
            patterns.extend(yaml::scalar_texts(packages));
        }
        patterns
    }

    fn read_manifest(&self, files: &ProjectFiles, folder: &str) -> Option<Arc<PackageJson>> {
        self.declared.get_or_compute(folder, || {
            let text = files.read_text(&child_path(folder, "package.json"))?;
            Some(Arc::new(PackageJson::parse(&text)))
        })
    }
}

/// Parses `["packages/*"]` or `{"packages": ["packages/*"]}`.
fn parse_workspaces(value: &Value) -> Vec<String> {
    let list = value.as_array().or_else(|| value.get("packages")?.as_array());
    list.into_iter().flatten().filter_map(|item| item.as_str()).map(str::to_owned).collect()
}

/// Expands patterns with `*` and `**` to folders below `root`. Patterns that start with `!` exclude folders.
fn expand_patterns(files: &ProjectFiles, root: &str, patterns: &[String]) -> Vec<String> {
    let mut folders = Vec::new();
    let (excluded, included): (Vec<_>, Vec<_>) =
        patterns.iter().partition(|pattern| pattern.starts_with('!'));
    for pattern in included {
        let mut open = vec![root.to_owned()];
        for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
            open = open.iter().flat_map(|folder| expand_segment(files, folder, part)).collect();
            open.truncate(MAX_MEMBERS);
        }
        folders.extend(open);
    }
    let excluded = build_exclusions(root, &excluded);
    folders.retain(|folder| !excluded.is_match(child_path(folder, "package.json")));
    folders.truncate(MAX_MEMBERS);
    folders
}

/// Returns a matcher for the manifests of excluded folders. Invalid patterns are ignored.
fn build_exclusions(root: &str, excluded: &[&String]) -> GlobSet {
    let mut globs = GlobSet::builder();
    for pattern in excluded {
        let pattern = pattern.trim_start_matches('!').trim_start_matches("./");
        // As in package managers, a trailing `**` also matches the folder itself.
        let manifest = format!("{}/package.json", pattern.trim_end_matches('/'));
        let pattern = child_path(&globset::escape(root), &manifest);
        if let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).build() {
            globs.add(glob);
        }
    }
    globs.build().unwrap_or_default()
}

/// Returns the subfolders of `folder` that match one segment of a pattern.
fn expand_segment(files: &ProjectFiles, folder: &str, part: &str) -> Vec<String> {
    let Some((head, tail)) = part.split_once('*') else {
        return Some(child_path(folder, part))
            .filter(|path| files.is_folder(path))
            .into_iter()
            .collect();
    };
    let tail = tail.trim_start_matches('*');
    let names = files.list_folder(folder);
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
        .map(|name| child_path(folder, name))
        .filter(|path| files.is_folder(path))
        .collect();
    if part == "**" {
        // `**` is expanded two levels deep, which covers common workspace layouts.
        let deeper: Vec<String> = found
            .iter()
            .flat_map(|folder| expand_segment(files, folder, "*"))
            .take(MAX_MEMBERS)
            .collect();
        found.extend(deeper);
        found.insert(0, folder.to_owned());
    }
    found
}

/// Returns the package that contains a path in `node_modules`.
pub(super) fn installed_package(path: &str) -> Option<String> {
    let (_, inside) = path.rsplit_once("node_modules/")?;
    let complete = path == format!("node_modules/{inside}")
        || path.ends_with(&format!("/node_modules/{inside}"));
    complete.then(|| package_name(inside).to_owned())
}

/// Returns the `@scope/name` or `name` at the beginning of a specifier.
pub(super) fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(parts - 1) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}

/// Returns `true` for a valid npm package name.
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
