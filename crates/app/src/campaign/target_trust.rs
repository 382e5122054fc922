//! The trust in the folder of a fuzz target: whether its compiler, `forge` and its Echidna file may be used.
//!
//! A target may be outside the current project. Then its own folder must be trusted. A compiler that the user named, found
//! on `PATH` or installed needs no trust.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::config::CampaignSettings;
use solidity::ProjectPrograms;

use crate::config::{ConfigLayer, ProjectLocation, Settings};
use crate::context::AppContext;
use crate::failure::Result;
use crate::trust::{FolderTrust, TrustState, read_config_file, read_contained_file};

/// Command that makes what was left out available.
const REMEDY: &str = "run `vouch trust` to use it";

/// Echidna's configuration file.
pub(super) struct EchidnaFile {
    pub(super) path: PathBuf,
    /// True if the user named it with `--config`; otherwise it was found next to the target.
    pub(super) is_named: bool,
}

impl EchidnaFile {
    /// Returns its name in its canonical folder. If the file itself is a link, it is not resolved.
    fn unresolved_path(&self) -> io::Result<PathBuf> {
        let whole = std::path::absolute(&self.path)?;
        match (whole.parent(), whole.file_name()) {
            (Some(folder), Some(name)) => Ok(folder.canonicalize()?.join(name)),
            _ => Ok(whole),
        }
    }
}

/// The trust in the folder that a target belongs to.
pub(super) struct TargetTrust {
    trust: Arc<FolderTrust>,
}

impl TargetTrust {
    /// Returns the trust in the current project if it contains the target, otherwise in the target's own folder.
    pub(super) fn find(app: &AppContext, ours: &Settings, target: &Path) -> Result<Self> {
        let Ok(real) = target.canonicalize() else {
            // A missing target fails later, with a better message.
            return Ok(Self { trust: Arc::clone(&ours.trust) });
        };
        if real.starts_with(&ours.root) {
            return Ok(Self { trust: Arc::clone(&ours.trust) });
        }
        let root = Some(solidity::find_project_folder(&real, None));
        let place = ProjectLocation { root, config: None, ..app.location.clone() };
        let theirs = app.settings_at(&place, ConfigLayer::default())?;
        Ok(Self { trust: theirs.trust })
    }

    /// Returns the folder above which nothing decides how a target is compiled: the one that the trust is about.
    pub(super) fn limit_of(&self, target: &Path) -> Option<PathBuf> {
        let root = self.trust.root();
        target.canonicalize().is_ok_and(|it| it.starts_with(root)).then(|| root.to_owned())
    }

    /// Returns the programs of a project that may be run, and adds remarks on the others.
    pub(super) fn allow_programs(
        &self,
        folder: &Path,
        remarks: &mut Vec<String>,
    ) -> ProjectPrograms {
        let (mut packages, mut forge) = (Vec::new(), Vec::new());
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if self.trust.state == TrustState::TrustedForRun {
            // The user spoke about one folder; a folder above may belong to others.
            return match folder.starts_with(self.trust.root()) {
                true => ProjectPrograms::All,
                false => ProjectPrograms::None,
            };
        }
        let package = folder.join("node_modules").join("solc");
        if package.is_dir() {
            match (self.trust.covers_compiler(&package), package.canonicalize()) {
                (true, Ok(real)) => packages.push(real),
                _ => remarks.push(format!("left out {}; {REMEDY}", package.display())),
            }
        }
        let foundry = folder.join("foundry.toml");
        if let Ok(Some(file)) = read_contained_file(&folder, &foundry) {
            match self.trust.covers_file(&foundry, &file.bytes) {
                true => forge.push(folder),
                false => {
                    remarks.push(format!("left out `forge` in {}; {REMEDY}", folder.display()));
                }
            }
        }
        ProjectPrograms::Listed { packages, forge }
    }

    /// Reads Echidna's file. Only one that the user named, or a run that is trusted, may follow a link out of the folder.
    pub(super) fn read_file(&self, file: &EchidnaFile) -> io::Result<String> {
        let whole = file.unresolved_path()?;
        if file.is_named || self.trust.state == TrustState::TrustedForRun {
            return read_config_file(&whole)?.into_text();
        }
        let root = self.trust.root();
        let own = whole.parent().unwrap_or(root);
        let folder = if whole.starts_with(root) { root } else { own };
        let read = read_contained_file(folder, &whole)?;
        read.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?.into_text()
    }

    /// Removes what an untrusted file says about folders and compiler arguments. Returns a remark if there was any.
    pub(super) fn restrict_settings(
        &self,
        file: &EchidnaFile,
        text: &str,
        base: &CampaignSettings,
        settings: &mut CampaignSettings,
    ) -> Option<String> {
        // A link is judged by its own place: what it points to says nothing about who named it.
        let covers = |whole: PathBuf| self.trust.covers_file(&whole, text.as_bytes());
        if file.is_named || file.unresolved_path().is_ok_and(covers) {
            return None;
        }
        let mut left_out = Vec::new();
        if settings.solc_args != base.solc_args {
            settings.solc_args.clone_from(&base.solc_args);
            left_out.push("`solcArgs`");
        }
        if settings.corpus_dir != base.corpus_dir {
            settings.corpus_dir.clone_from(&base.corpus_dir);
            left_out.push("`corpusDir`");
        }
        if settings.coverage_dir != base.coverage_dir {
            settings.coverage_dir.clone_from(&base.coverage_dir);
            left_out.push("`coverageDir`");
        }
        let name = file.path.display();
        (!left_out.is_empty())
            .then(|| format!("left out {} of {name}; {REMEDY}", left_out.join(", ")))
    }
}
