//! The decision on one folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use contract::sha256_digest;
use contract::text::{error_chain, one_line};
use parking_lot::Mutex;

use super::change::TrustChange;
use super::compiler::digest_package;
use super::evidence::{EvidenceScope, FolderEvidence, describe_files, evidence_key};
use super::file_access::{FileOwner, read_config_file};
use super::power::{FolderPower, PowerKind, format_powers};
use super::record::{TrustRecord, TrustStore, TrustStoreError, folder_identity};
use super::safe_half::{SplitConfig, split_table};
use crate::config::{ConfigSource, FILE_NAME};
use crate::env::Environment;

/// Maximum lines of the notice about what was left out.
const MAX_NOTICE_LINES: usize = 8;

/// The basis of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustMode {
    /// The user's record.
    Recorded,
    /// An explicit flag or variable, for this run only.
    ForRun,
}

/// The decision on a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// Not trusted, and asks for nothing that would need trust.
    Harmless,
    /// Asks for powers that its user has not granted.
    Untrusted,
    /// Was trusted, and differs from what its user saw.
    Changed,
    /// Trusted, and unchanged.
    Trusted,
    /// Trusted for this run only.
    TrustedForRun,
}

/// The folder and configuration file that a decision is about.
#[derive(Clone, Debug)]
pub(crate) struct TrustSubject {
    /// Canonical path of the project.
    pub(super) root: PathBuf,
    /// Configuration file and the text that is used.
    source: Option<ConfigSource>,
}

impl TrustSubject {
    pub(crate) fn new(root: &Path, source: Option<&ConfigSource>) -> Self {
        Self { root: root.to_owned(), source: source.cloned() }
    }

    /// Returns the configuration file if it is not the folder's own.
    pub(super) fn other_config(&self) -> Option<&Path> {
        let path = self.source.as_ref().map(|source| source.path.as_path())?;
        (path != self.root.join(FILE_NAME)).then_some(path)
    }

    /// Returns the path at which the configuration is, or would be.
    pub(super) fn config_path(&self) -> PathBuf {
        let path = self.source.as_ref().map(|source| source.path.clone());
        path.unwrap_or_else(|| self.root.join(FILE_NAME))
    }

    /// Returns the text of the configuration; empty without a file.
    pub(super) fn config_text(&self) -> &str {
        self.source.as_ref().map(|source| source.text.as_str()).unwrap_or_default()
    }

    fn config(&self) -> Option<(&Path, &str)> {
        self.source.as_ref().map(|source| (source.path.as_path(), source.text.as_str()))
    }
}

/// The trust in a folder, and what it would be allowed to do.
#[derive(Debug)]
pub struct FolderTrust {
    pub state: TrustState,
    /// Everything that the folder asks for.
    pub powers: Vec<FolderPower>,
    /// The difference from the record, if the folder changed.
    pub change: Option<TrustChange>,
    /// Why records could not be read, if they could not.
    pub obstacle: Option<String>,
    pub(super) subject: TrustSubject,
    pub(super) scope: EvidenceScope,
    /// Digests of the files as they were judged, and as this process has changed them since.
    pub(super) evidence: Mutex<FolderEvidence>,
    compilers: BTreeMap<String, String>,
    /// The powers that the configuration asks for, without those of other files.
    configured: BTreeSet<FolderPower>,
    pub(super) store: Option<TrustStore>,
}

impl FolderTrust {
    /// Decides on a folder. Returns the decision, and the part of the configuration that applies without trust.
    ///
    /// The configuration must be valid TOML.
    pub(crate) fn judge(
        subject: TrustSubject,
        environment: &Environment,
        mode: TrustMode,
    ) -> (Self, toml::Table) {
        let owner = match mode {
            TrustMode::Recorded => FileOwner::CurrentUser,
            TrustMode::ForRun => FileOwner::AnyUser,
        };
        let table = subject.config().and_then(|(_, text)| toml::from_str(text).ok());
        let table = table.unwrap_or_default();
        let SplitConfig { kept, powers } = split_table(&table);
        let scope = EvidenceScope::from_table(&subject.root, &table, owner);
        let (store, record, obstacle) = load_record(&subject, environment);
        let mut trust = Self {
            state: TrustState::Untrusted,
            configured: powers.iter().cloned().collect(),
            powers,
            change: None,
            obstacle,
            scope,
            evidence: Mutex::default(),
            compilers: BTreeMap::new(),
            store,
            subject,
        };
        trust.decide(record, mode);
        (trust, kept)
    }

    fn decide(&mut self, record: Option<TrustRecord>, mode: TrustMode) {
        let config = self.subject.config();
        let recorded_text = config.zip(record.as_ref()).is_some_and(|((path, text), record)| {
            let digest = sha256_digest(text.as_bytes());
            record.files.digest_of(&self.subject.root, path) == Some(&digest)
        });
        // Only a configuration that the user has seen may name files outside the folder.
        self.scope.may_leave = recorded_text;
        let evidence = FolderEvidence::collect(&self.scope, config);
        self.powers.extend(describe_files(&self.scope, &evidence));
        self.powers.sort();
        self.powers.dedup();
        self.state = match (mode, &record) {
            (TrustMode::ForRun, _) => TrustState::TrustedForRun,
            (_, None) if self.powers.iter().any(FolderPower::is_left_out) => TrustState::Untrusted,
            (_, None) => TrustState::Harmless,
            (_, Some(record)) => {
                self.change = find_change(&self.subject.root, record, &evidence, &self.powers);
                match self.change {
                    Some(_) => TrustState::Changed,
                    None => TrustState::Trusted,
                }
            }
        };
        self.compilers = record.map(|record| record.compilers).unwrap_or_default();
        *self.evidence.get_mut() = evidence;
    }

    /// Returns true if everything in the folder's files applies.
    pub fn is_granted(&self) -> bool {
        matches!(self.state, TrustState::Trusted | TrustState::TrustedForRun)
    }

    /// Returns true if the folder asks for upstreams and does not get them.
    pub(crate) fn leaves_out_upstreams(&self) -> bool {
        let kinds = [PowerKind::Program, PowerKind::Endpoint];
        !self.is_granted() && self.powers.iter().any(|power| kinds.contains(&power.kind))
    }

    /// Returns true if the folder has a configuration file.
    pub(crate) fn has_config(&self) -> bool {
        self.subject.source.is_some()
    }

    /// Returns the canonical path of the folder.
    pub fn root(&self) -> &Path {
        &self.subject.root
    }

    /// Returns the folder of the user's records.
    pub(crate) fn records_folder(&self) -> Option<&Path> {
        self.store.as_ref().map(TrustStore::folder)
    }

    /// Returns a notice that lists what was left out; `None` if nothing was.
    ///
    /// Compilers that the folder contains, and files that configure them, are mentioned by the commands that would use
    /// them. Keys of the configuration are always listed.
    pub fn left_out_notice(&self) -> Option<String> {
        let is_shown = |power: &&FolderPower| {
            let is_found = power.kind == PowerKind::Compiler && !self.configured.contains(*power);
            power.is_left_out() && !is_found
        };
        let powers: Vec<_> = self.powers.iter().filter(is_shown).collect();
        let root = one_line(&self.subject.root.to_string_lossy());
        let why = match self.state {
            TrustState::Untrusted if powers.is_empty() => return None,
            TrustState::Untrusted => "is not trusted",
            TrustState::Changed => "changed since you trusted it",
            _ => return None,
        };
        let mut lines =
            vec![format!("{root} {why}; until you run `vouch trust`, this is left out:")];
        if powers.is_empty() {
            lines.push("  everything in its files that does not only restrict".to_owned());
        } else {
            lines.push(format_powers(powers, MAX_NOTICE_LINES));
        }
        if let Some(change) = &self.change {
            lines.push(format!("since then:\n{}", change.to_string().trim_end()));
        }
        lines.extend(self.obstacle.as_ref().map(|why| one_line(why)));
        Some(lines.join("\n"))
    }

    /// Returns true if a file with this content may use powers.
    pub(crate) fn covers_file(&self, path: &Path, content: &[u8]) -> bool {
        match self.state {
            TrustState::TrustedForRun => true,
            TrustState::Trusted => {
                let digest = sha256_digest(content);
                self.evidence.lock().digest_of(&self.subject.root, path) == Some(&digest)
            }
            _ => false,
        }
    }

    /// Returns true if the trust in this folder extends to files that configure compilers and fuzzers in a folder below:
    /// it is the root, or the configuration names a target in it.
    pub(crate) fn includes_tools_of(&self, folder: &Path) -> bool {
        self.scope.tool_folders().iter().any(|included| included == folder)
    }

    /// Returns true if a compiler package of the folder may be run. Its files are hashed now.
    pub(crate) fn covers_compiler(&self, package: &Path) -> bool {
        match self.state {
            TrustState::TrustedForRun => true,
            TrustState::Trusted => {
                let recorded = self.compilers.get(&evidence_key(&self.subject.root, package));
                recorded.is_some() && digest_package(package).ok().as_ref() == recorded
            }
            _ => false,
        }
    }

    /// Returns the compilers of a trusted folder that are not run, because they changed or appeared since. They are hashed
    /// now; `FolderTrust::judge` does not, because few commands use them.
    pub fn changed_compilers(&self) -> Vec<String> {
        let is_trusted = self.state == TrustState::Trusted;
        let packages = self.scope.compiler_packages().into_iter().filter(|_| is_trusted);
        let changed = packages.filter(|package| !self.covers_compiler(package));
        changed.map(|package| evidence_key(&self.subject.root, &package)).collect()
    }

    /// Records that the user trusts the folder as it was judged. Errors if it has changed since.
    pub fn accept(&self) -> Result<(), TrustStoreError> {
        let store = self.store.as_ref().ok_or(TrustStoreError::NoDataFolder)?;
        let _lock = store.lock()?;
        if let Some((path, text)) = self.subject.config()
            && read_config_file(path).map(|file| file.bytes).ok().as_deref()
                != Some(text.as_bytes())
        {
            return Err(TrustStoreError::ChangedMeanwhile);
        }
        let scope = EvidenceScope { may_leave: true, ..self.scope.clone() };
        let files = FolderEvidence::collect(&scope, self.subject.config());
        let foreign = files.foreign_files();
        if !foreign.is_empty() {
            let paths = foreign.into_iter().map(one_line).collect();
            return Err(TrustStoreError::ForeignFiles { paths });
        }
        let unreadable = files.unreadable_files();
        if !unreadable.is_empty() {
            let paths = unreadable.into_iter().map(one_line).collect();
            return Err(TrustStoreError::UnreadableFiles { paths });
        }
        let shown = self.evidence.lock();
        let is_same =
            shown.files.iter().all(|(path, digest)| files.files.get(path) == Some(digest))
                && files
                    .files
                    .keys()
                    .all(|path| shown.files.contains_key(path) || Path::new(path).is_absolute());
        if !is_same {
            return Err(TrustStoreError::ChangedMeanwhile);
        }
        drop(shown);
        let config = self.subject.other_config();
        let mut record = TrustRecord::new(&self.subject.root, config, files, self.powers.clone())?;
        for package in scope.compiler_packages() {
            let digest = digest_package(&package)
                .map_err(|source| TrustStoreError::Compiler { path: package.clone(), source })?;
            record.compilers.insert(evidence_key(&self.subject.root, &package), digest);
        }
        store.save(&self.subject.root, config, &record)
    }
}

type LoadedRecord = (Option<TrustStore>, Option<TrustRecord>, Option<String>);

/// Loads the record of a folder. A record that cannot be read does not count.
fn load_record(subject: &TrustSubject, environment: &Environment) -> LoadedRecord {
    match TrustStore::from_environment(environment) {
        Err(error) => (None, None, Some(error_chain(&error))),
        Ok(store) => match store.load(&subject.root, subject.other_config()) {
            Ok(record) => (Some(store), record, None),
            Err(error) => (Some(store), None, Some(error_chain(&error))),
        },
    }
}

/// Returns the difference between a record and the folder, if there is one.
fn find_change(
    root: &Path,
    record: &TrustRecord,
    evidence: &FolderEvidence,
    powers: &[FolderPower],
) -> Option<TrustChange> {
    let is_replaced = folder_identity(root).ok().as_ref() != Some(&record.identity);
    let files = record.files.differences(evidence);
    if !is_replaced && files.is_empty() {
        return None;
    }
    let change = TrustChange { is_replaced, files, ..TrustChange::default() };
    Some(change.with_powers(&record.powers, powers))
}
