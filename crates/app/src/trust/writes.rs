//! Writes of trusted files by commands of the user, which renew the record for exactly what they wrote.

use std::io;
use std::path::Path;

use contract::sha256_digest;
use contract::text::error_chain;
use gateway::FileTrust;

use super::evidence::{EvidenceScope, FolderEvidence, describe_files, evidence_key};
use super::file_access::{resolve_contained, resolve_write_path};
use super::folder::{FolderTrust, TrustState};
use super::power::FolderPower;
use super::record::{TrustRecord, TrustStore, TrustStoreError};
use super::safe_half::split_table;

impl FolderTrust {
    /// Errors if a command may not change the folder's files, because that would bless changes that its user has not
    /// seen.
    pub fn check_writable(&self) -> Result<(), io::Error> {
        let why = match self.state {
            TrustState::Untrusted => "the folder is not trusted",
            TrustState::Changed => "the folder changed since you trusted it",
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Errors if a link of the project leads out of it on the way to a file or folder that a command writes, with the name
    /// of the link. A place outside that the configuration or the user names is their own.
    pub fn check_write_path(&self, path: &Path) -> io::Result<()> {
        let root = &self.subject.root;
        let inside = std::path::absolute(path)?.strip_prefix(root).map(Path::to_owned);
        let is_plain = |inside: &Path| {
            inside.components().all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        match inside {
            Ok(inside) if is_plain(&inside) => resolve_write_path(root, path).map(drop),
            _ => Ok(()),
        }
    }

    /// Writes a file that grants power, and renews the record for it. Other changes stay unseen.
    ///
    /// A folder without a record gets one, unless something else in it grants power.
    pub fn write_file(
        &self,
        path: &Path,
        content: &[u8],
        write: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        self.check_writable()?;
        self.check_write_path(path)?;
        let Some(store) = self.store.as_ref().filter(|_| self.state != TrustState::TrustedForRun)
        else {
            return write();
        };
        let _lock = store.lock().map_err(io::Error::other)?;
        let mut record = self.record_before_write(store).map_err(io::Error::other)?;
        write()?;
        let root = &self.subject.root;
        let digest = sha256_digest(content);
        record.files.files.insert(evidence_key(root, path), digest.clone());
        let is_config = path == self.subject.config_path();
        record.powers = self.powers_with(is_config.then_some(content), &record.files);
        self.evidence.lock().files.insert(evidence_key(root, path), digest);
        store.save(root, self.subject.other_config(), &record).map_err(io::Error::other)
    }

    /// Returns the record to renew. For a folder that asked for nothing, it is a new one of what was judged.
    fn record_before_write(&self, store: &TrustStore) -> Result<TrustRecord, TrustStoreError> {
        let (root, config) = (&self.subject.root, self.subject.other_config());
        if let Some(record) = store.load(root, config)? {
            return Ok(record);
        }
        if self.state == TrustState::Trusted {
            return Err(TrustStoreError::ChangedMeanwhile);
        }
        TrustRecord::new(root, config, self.evidence.lock().clone(), Vec::new())
    }

    /// Returns the powers of the folder with other files, and with another configuration if one is given.
    fn powers_with(&self, config: Option<&[u8]>, files: &FolderEvidence) -> Vec<FolderPower> {
        let text = match config {
            Some(content) => String::from_utf8_lossy(content).into_owned(),
            None => self.subject.config_text().to_owned(),
        };
        let table = toml::from_str(&text).unwrap_or_default();
        let scope = EvidenceScope {
            may_leave: true,
            ..EvidenceScope::from_table(&self.subject.root, &table, self.scope.owner)
        };
        let mut powers = split_table(&table).powers;
        powers.extend(describe_files(&scope, files));
        powers.sort();
        powers.dedup();
        powers
    }

    /// Returns true if the record on disk, which another command may have renewed, has this digest for a file.
    fn is_renewed(&self, path: &Path, digest: Option<&str>) -> bool {
        let Some(store) = &self.store else { return false };
        // A command that renews the record holds the lock from before it writes the file.
        let Ok(_lock) = store.lock() else { return false };
        let record = store.load(&self.subject.root, self.subject.other_config()).ok().flatten();
        let Some(record) = record else { return false };
        let is_same = record.files.digest_of(&self.subject.root, path) == digest;
        if is_same {
            *self.evidence.lock() = record.files;
        }
        is_same
    }
}

impl FileTrust for FolderTrust {
    fn check_access(&self, path: &Path) -> Result<(), String> {
        let root = &self.subject.root;
        match self.state {
            TrustState::TrustedForRun => Ok(()),
            TrustState::Trusted if !path.starts_with(root) => Ok(()),
            TrustState::Trusted => resolve_contained(root, path)
                .map(drop)
                .map_err(|error| format!("{}: {error}", evidence_key(root, path))),
            _ => Err("the folder is not trusted; run `vouch trust`".to_owned()),
        }
    }

    fn check_content(&self, path: &Path, content: Option<&[u8]>) -> Result<(), String> {
        if self.state == TrustState::TrustedForRun {
            return Ok(());
        }
        let digest = content.map(sha256_digest);
        let known = self.evidence.lock().digest_of(&self.subject.root, path).map(str::to_owned);
        let is_trusted = self.state == TrustState::Trusted;
        let is_known = known == digest && (is_trusted || digest.is_none());
        if is_known || (is_trusted && self.is_renewed(path, digest.as_deref())) {
            return Ok(());
        }
        let name = evidence_key(&self.subject.root, path);
        Err(match is_trusted {
            true => format!("{name} changed since the folder was trusted; run `vouch trust`"),
            false => "the folder is not trusted; run `vouch trust`".to_owned(),
        })
    }

    fn write_file(
        &self,
        path: &Path,
        content: &[u8],
        write: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        FolderTrust::write_file(self, path, content, write).map_err(|error| {
            let text = error_chain(&error);
            io::Error::new(error.kind(), text)
        })
    }
}
