//! The files that grant power, each with the digest of its content.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use contract::sha256_digest;
use fuzz::config::CampaignSettings;
use fuzz::config::foundry_rpc::list_variables;
use serde::{Deserialize, Serialize};

use super::file_access::{FileOwner, ReadFile, read_contained_file_up_to, resolve_contained};
use super::power::{FolderPower, PowerKind};
use crate::config::UpstreamName;
use crate::state_migration::list_legacy_state;

/// Files that configure compilers and fuzzers, in the root and in the folders of campaign targets.
const TOOL_FILES: &[&str] =
    &["foundry.toml", "remappings.txt", "echidna.yaml", "echidna.yml", "medusa.json"];
/// The file that makes a folder a Foundry project.
const FOUNDRY_FILE: &str = "foundry.toml";
/// File from which `forge` takes variables such as `FOUNDRY_SOLC` and `FOUNDRY_FFI`.
const FOUNDRY_VARIABLES: &str = ".env";
/// Folder of workflows.
const WORKFLOWS: &str = "workflows";
/// Maximum size of a hashed file: that of the lock file.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Maximum number of hashed files.
const MAX_FILES: usize = 10_000;
/// Marks the digest of a file of another user, which no record contains.
const FOREIGN: &str = "uid ";
/// Marks a file without a digest, which no record contains.
const UNREADABLE: &str = "unreadable: ";

/// The files of a folder that grant power, by path relative to the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FolderEvidence {
    pub(super) files: BTreeMap<String, String>,
}

/// The places in which a folder keeps files that grant power.
#[derive(Clone, Debug)]
pub(super) struct EvidenceScope {
    pub(super) root: PathBuf,
    /// Folder of overlays.
    pub(super) contracts: PathBuf,
    pub(super) lock: PathBuf,
    /// Names of the upstreams, whose overlays apply.
    pub(super) upstreams: Vec<String>,
    /// Targets of campaigns, whose folders may configure compilers and fuzzers.
    pub(super) targets: Vec<PathBuf>,
    /// True if overlays and pins outside the root are read. An untrusted configuration must not choose what is read.
    pub(super) may_leave: bool,
    pub(super) owner: FileOwner,
}

impl EvidenceScope {
    /// Returns the places that a configuration names, or the default ones.
    pub(super) fn from_table(root: &Path, table: &toml::Table, owner: FileOwner) -> Self {
        let path = |key: &str, default: &str| {
            let named = table.get("gateway").and_then(|gateway| gateway.get(key)?.as_str());
            root.join(named.unwrap_or(default))
        };
        let targets = match table.get("campaign").and_then(|campaign| campaign.get("target")) {
            Some(toml::Value::String(target)) => vec![root.join(target)],
            Some(toml::Value::Array(targets)) => {
                targets.iter().filter_map(|it| Some(root.join(it.as_str()?))).collect()
            }
            _ => Vec::new(),
        };
        Self {
            contracts: path("contracts", "contracts"),
            lock: path("lock", "vouch.lock"),
            root: root.to_owned(),
            upstreams: list_upstreams(table),
            targets,
            may_leave: false,
            owner,
        }
    }

    /// Returns the folders in which compilers and fuzzers look for their configuration, inside the root.
    pub(super) fn tool_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.root.clone()];
        for target in &self.targets {
            let own = if target.is_dir() { Some(target.as_path()) } else { target.parent() };
            let project = solidity::find_project_folder(target, Some(&self.root));
            for folder in own.map(Path::to_owned).into_iter().chain([project]) {
                let real = resolve_contained(&self.root, &folder).ok().flatten();
                folders.extend(real.filter(|folder| !folders.contains(folder)));
            }
        }
        folders
    }

    /// Returns the compiler packages inside the root.
    pub(super) fn compiler_packages(&self) -> Vec<PathBuf> {
        let packages = self.tool_folders().into_iter().map(|it| it.join("node_modules/solc"));
        packages.filter(|package| package.is_dir()).collect()
    }
}

impl FolderEvidence {
    /// Reads and hashes the files. `config` is the configuration file with the text that is used.
    pub(super) fn collect(scope: &EvidenceScope, config: Option<(&Path, &str)>) -> Self {
        let mut evidence = Self::default();
        if let Some((path, text)) = config {
            evidence.insert(scope, path, sha256_digest(text.as_bytes()));
        }
        evidence.add_file(scope, &scope.lock);
        for overlay in list_overlays(scope) {
            evidence.add_file(scope, &overlay);
        }
        for folder in scope.tool_folders() {
            for name in TOOL_FILES {
                evidence.add_file(scope, &folder.join(name));
            }
            evidence.add_foundry_files(scope, &folder);
        }
        let workflows = scope.root.join(WORKFLOWS);
        let files = match leaves_root(scope, &workflows) {
            false => list_folder(&workflows),
            true => vec![workflows],
        };
        for file in files {
            evidence.add_file(scope, &file);
        }
        evidence
    }

    /// Adds the files that `forge` reads besides `foundry.toml`. One outside the root has no digest, so that no record is
    /// made of it.
    fn add_foundry_files(&mut self, scope: &EvidenceScope, folder: &Path) {
        let scope = EvidenceScope { may_leave: false, ..scope.clone() };
        let file = folder.join(FOUNDRY_FILE);
        if file.symlink_metadata().is_err() {
            return;
        }
        self.add_file(&scope, &folder.join(FOUNDRY_VARIABLES));
        let file = read_contained_file_up_to(&scope.root, &file, MAX_FILE_BYTES).ok().flatten();
        let text = file.and_then(|file| file.into_text().ok()).unwrap_or_default();
        let table: toml::Table = toml::from_str(&text).unwrap_or_default();
        let profiles = table.get("profile").and_then(toml::Value::as_table);
        for profile in profiles.into_iter().flat_map(toml::Table::values) {
            let base = profile.get("extends");
            let base = base.and_then(|base| base.as_str().or_else(|| base.get("path")?.as_str()));
            if let Some(base) = base {
                self.add_file(&scope, &folder.join(base));
            }
        }
    }

    fn add_file(&mut self, scope: &EvidenceScope, path: &Path) {
        if self.files.len() >= MAX_FILES {
            self.files.insert("…".to_owned(), format!("more than {MAX_FILES} files"));
            return;
        }
        let base = match scope.may_leave && !path.starts_with(&scope.root) {
            true => path.parent().and_then(|folder| folder.canonicalize().ok()),
            false => Some(scope.root.clone()),
        };
        let Some(base) = base else { return };
        match read_contained_file_up_to(&base, path, MAX_FILE_BYTES) {
            Ok(Some(ReadFile { bytes, owner })) if scope.owner.permits(owner) => {
                self.insert(scope, path, sha256_digest(&bytes));
            }
            Ok(Some(ReadFile { owner, .. })) => {
                self.insert(scope, path, format!("{FOREIGN}{owner}"));
            }
            Ok(None) => {}
            // What cannot be read cannot be used either; that it exists is part of the evidence.
            Err(error) => self.insert(scope, path, format!("{UNREADABLE}{}", error.kind())),
        }
    }

    pub(super) fn insert(&mut self, scope: &EvidenceScope, path: &Path, digest: String) {
        self.files.insert(evidence_key(&scope.root, path), digest);
    }

    /// Returns the digest of a file, if it is part of the evidence.
    pub(super) fn digest_of(&self, root: &Path, path: &Path) -> Option<&str> {
        self.files.get(&evidence_key(root, path)).map(String::as_str)
    }

    /// Returns the files that belong to other users.
    pub(super) fn foreign_files(&self) -> Vec<&str> {
        self.files_marked(FOREIGN)
    }

    /// Returns the files whose content is unknown, such as links that leave the folder.
    pub(super) fn unreadable_files(&self) -> Vec<&str> {
        self.files_marked(UNREADABLE)
    }

    fn files_marked(&self, mark: &str) -> Vec<&str> {
        let marked = self.files.iter().filter(|(_, digest)| digest.starts_with(mark));
        marked.map(|(path, _)| path.as_str()).collect()
    }

    /// Returns the files that differ, each with what happened to it: `appeared`, `changed` or `vanished`.
    pub(super) fn differences(&self, now: &Self) -> Vec<(String, &'static str)> {
        let mut all = Vec::new();
        for (path, digest) in &now.files {
            match self.files.get(path) {
                None => all.push((path.clone(), "appeared")),
                Some(before) if before != digest => all.push((path.clone(), "changed")),
                Some(_) => {}
            }
        }
        let gone = self.files.keys().filter(|path| !now.files.contains_key(*path));
        all.extend(gone.map(|path| (path.clone(), "vanished")));
        all
    }
}

/// Returns the name of a file in the evidence: relative to the root if it is inside.
pub(super) fn evidence_key(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the overlay files: `<contracts>/<upstream>/<tool>.json`. Nothing else in the folder is ever read, which is
/// often one of Solidity sources.
fn list_overlays(scope: &EvidenceScope) -> Vec<PathBuf> {
    if leaves_root(scope, &scope.contracts) {
        // Without an upstream, the folder may be one of sources that are elsewhere.
        return match scope.upstreams.is_empty() {
            true => Vec::new(),
            false => vec![scope.contracts.clone()],
        };
    }
    let is_inside = matches!(resolve_contained(&scope.root, &scope.contracts), Ok(Some(_)));
    if !is_inside && !scope.may_leave {
        return Vec::new();
    }
    let is_upstream = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.parse::<UpstreamName>().is_ok()) && folder.is_dir()
    };
    let folders = list_folder(&scope.contracts).into_iter().filter(is_upstream);
    let is_json = |file: &PathBuf| file.extension().is_some_and(|it| it == "json");
    let files = folders.flat_map(|folder| match leaves_root(scope, &folder) {
        false => list_folder(&folder).into_iter().filter(is_json).collect(),
        // Of other names, which sources of Solidity may have, nothing is ever read.
        true => Vec::from_iter(Some(folder).filter(|it| is_used_upstream(scope, it))),
    });
    files.take(MAX_FILES).collect()
}

fn is_used_upstream(scope: &EvidenceScope, folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| scope.upstreams.iter().any(|upstream| upstream == name))
}

/// Returns true for a link in the root that leads out of it. To list what it leads to would read outside, so that only the
/// link itself counts, and no record is made of it. A configuration may name a place outside with `..`.
fn leaves_root(scope: &EvidenceScope, folder: &Path) -> bool {
    let inside = folder.strip_prefix(&scope.root);
    let is_plain = |path: &Path| path.components().all(|it| matches!(it, Component::Normal(_)));
    inside.is_ok_and(is_plain) && resolve_contained(&scope.root, folder).is_err()
}

/// Returns the names of the upstreams that a configuration lists.
fn list_upstreams(table: &toml::Table) -> Vec<String> {
    let upstreams = table.get("upstream").and_then(toml::Value::as_array);
    let names = upstreams.into_iter().flatten().filter_map(|it| it.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

fn list_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MAX_FILES);
    let mut files: Vec<_> = entries.filter_map(io::Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Returns the powers of files other than the configuration.
pub(super) fn describe_files(scope: &EvidenceScope, evidence: &FolderEvidence) -> Vec<FolderPower> {
    let mut powers = Vec::new();
    // It is not hashed: it is taken over once, by `vouch trust`, and can be deleted then.
    let legacy = list_legacy_state(&scope.root);
    if !legacy.is_empty() {
        let text = format!("state of an earlier version is taken over: {}", legacy.join(", "));
        powers.push(FolderPower::new(PowerKind::File, text));
    }
    let mut overlays: BTreeMap<String, usize> = BTreeMap::new();
    let contracts = evidence_key(&scope.root, &scope.contracts);
    let lock = evidence_key(&scope.root, &scope.lock);
    for path in evidence.files.keys() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if *path == lock {
            powers.push(FolderPower::new(PowerKind::Contract, format!("pins in {path}")));
        } else if let Some(below) = path.strip_prefix(&format!("{contracts}/")) {
            let upstream = below.split('/').next().unwrap_or_default();
            *overlays.entry(upstream.to_owned()).or_default() += 1;
        } else if name == "foundry.toml" {
            let tests = describe_tests(scope, path);
            let text = format!("`forge` with the settings of {path}; {tests}");
            powers.push(FolderPower::new(PowerKind::Compiler, text));
        } else if let Some(settings) = read_echidna_file(scope, name, path) {
            let set = [
                (sets_files_or_arguments(&settings), "folders and compiler arguments"),
                (settings.rpc_url.is_some(), "the node to fork"),
            ];
            powers.extend(set.iter().filter(|(is_set, _)| *is_set).map(|(_, what)| {
                FolderPower::new(PowerKind::Compiler, format!("{what} of {path}"))
            }));
        } else if name == "medusa.json"
            && let Some(settings) = read_medusa_file(scope, path)
        {
            let set = [
                (settings.corpus_dir.is_some(), "corpus folder"),
                (settings.rpc_url.is_some(), "the node to fork"),
            ];
            powers.extend(set.iter().filter(|(is_set, _)| *is_set).map(|(_, what)| {
                FolderPower::new(PowerKind::Compiler, format!("{what} of {path}"))
            }));
        }
    }
    powers.extend(overlays.into_iter().map(|(upstream, count)| {
        let s = if count == 1 { "" } else { "s" };
        let text = format!("{count} overlay{s} for `{upstream}` in {contracts}/{upstream}");
        FolderPower::new(PowerKind::Contract, text)
    }));
    powers.extend(scope.compiler_packages().iter().map(|package| {
        let text = format!("{}, run by Node.js", evidence_key(&scope.root, package));
        FolderPower::new(PowerKind::Compiler, text)
    }));
    powers
}

/// Returns what tests beside a `foundry.toml` may do, with the variables in its URLs.
fn describe_tests(scope: &EvidenceScope, path: &str) -> String {
    let power =
        "its tests may read environment variables and files in the folder, and connect to any node";
    let names = read_tool_file(scope, path).map(|text| list_variables(&text)).unwrap_or_default();
    match names.is_empty() {
        true => power.to_owned(),
        false => format!("{power}; its endpoints contain {}", names.join(", ")),
    }
}

/// Returns the settings of Echidna's file, if this is one. A file that cannot be parsed has no effect.
fn read_echidna_file(scope: &EvidenceScope, name: &str, path: &str) -> Option<CampaignSettings> {
    let text = name.starts_with("echidna.").then(|| read_tool_file(scope, path))??;
    fuzz::config::echidna_yaml::parse_config(&text).ok().map(|(settings, _)| settings)
}

/// Returns true if the settings choose folders or compiler arguments.
fn sets_files_or_arguments(settings: &CampaignSettings) -> bool {
    !settings.solc_args.is_empty()
        || settings.corpus_dir.is_some()
        || settings.coverage_dir.is_some()
}

/// Returns the settings of Medusa's file.
fn read_medusa_file(scope: &EvidenceScope, path: &str) -> Option<CampaignSettings> {
    let mut settings = CampaignSettings::default();
    let text = read_tool_file(scope, path)?;
    fuzz::config::medusa_json::apply_config(&mut settings, &text).ok().map(|_| settings)
}

/// Returns the text of a file of the evidence. `extends` may name one outside of the root, which is not read.
fn read_tool_file(scope: &EvidenceScope, path: &str) -> Option<String> {
    let read = super::read_contained_file(&scope.root, &scope.root.join(path));
    read.ok().flatten()?.into_text().ok()
}
