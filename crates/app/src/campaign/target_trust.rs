//! The trust in the folder of a fuzz target: whether its compiler, `forge` and its fuzzer's file may be used.
//!
//! A target may be outside the current project. Then its own folder must be trusted. A compiler that the user named, found
//! on `PATH` or installed needs no trust.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ::fuzz::config::foundry::{FoundrySettings, apply_foundry_toml};
use ::fuzz::config::foundry_rpc::FoundryRpcSettings;
use ::fuzz::config::{CampaignSettings, ProjectAccess};
use solidity::ProjectPrograms;

use super::fork::parse_env_file;
use crate::config::{ConfigLayer, ProjectLocation, Settings};
use crate::context::AppContext;
use crate::env::Environment;
use crate::failure::{Failure, FailureExt, FailureKind, Result};
use crate::trust::{
    FolderTrust, TrustState, check_output_folder, read_config_file, read_contained_file,
};

/// Command that makes what was left out of the current project available.
const REMEDY: &str = "run `vouch trust` to use it";

/// The fuzzer that a configuration file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FuzzerKind {
    Echidna,
    Medusa,
}

impl FuzzerKind {
    /// Returns the fuzzer that a file is for, by its extension.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Echidna),
            "json" => Some(Self::Medusa),
            _ => None,
        }
    }

    fn rpc_key(self) -> &'static str {
        match self {
            Self::Echidna => "`rpcUrl`",
            Self::Medusa => "`fuzzing.chainConfig.forkConfig`",
        }
    }

    fn corpus_key(self) -> &'static str {
        match self {
            Self::Echidna => "`corpusDir`",
            Self::Medusa => "`fuzzing.corpusDirectory`",
        }
    }
}

/// Name of Foundry's configuration.
const FOUNDRY_TOML: &str = "foundry.toml";
/// File beside it with variables.
const FOUNDRY_VARIABLES: &str = ".env";

/// Endpoints of a trusted project.
pub(super) struct FoundryRpcFiles {
    pub(super) settings: FoundryRpcSettings,
    /// Content of `.env`.
    pub(super) env: Option<String>,
}

/// Configuration file of Echidna or Medusa.
pub(super) struct FuzzerFile {
    pub(super) path: PathBuf,
    pub(super) kind: FuzzerKind,
    /// True if the user named it with `--config`; otherwise it was found next to the target.
    pub(super) is_named: bool,
}

impl FuzzerFile {
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
    /// True if the folder is the current project.
    is_current: bool,
}

impl TargetTrust {
    /// Returns the trust in the current project.
    pub(super) fn new(ours: &Settings) -> Self {
        Self { trust: Arc::clone(&ours.trust), is_current: true }
    }

    /// Returns the trust in the current project if it contains the target, otherwise in the target's own folder.
    pub(super) fn find(app: &AppContext, ours: &Settings, target: &Path) -> Result<Self> {
        if ours.trust.state != TrustState::TrustedForRun {
            refuse_links_out(&ours.root, ours.trust.has_config(), target)?;
        }
        let Ok(real) = target.canonicalize() else {
            // A missing target fails later, with a better message.
            return Ok(Self::new(ours));
        };
        if real.starts_with(&ours.root) {
            return Ok(Self::new(ours));
        }
        let root = Some(solidity::find_project_folder(&real, None));
        let place = ProjectLocation { root, config: None, ..app.location.clone() };
        let theirs = app.settings_at(&place, ConfigLayer::default())?;
        Ok(Self { trust: theirs.trust, is_current: false })
    }

    /// Errors if a campaign would write through a link that leaves the folder.
    pub(super) fn check_output_folder(&self, folder: &Path) -> Result {
        if self.trust.state == TrustState::TrustedForRun {
            return Ok(());
        }
        check_output_folder(self.trust.root(), folder)
            .explain(format_args!("failed to use folder {}", folder.display()))
            .hint("choose a folder without such links, or remove them")
            .map_err(|failure| failure.with_kind(FailureKind::Usage))
    }

    /// Returns the folder that no link in it may leave; `None` if the user trusts the run.
    pub(super) fn link_bound(&self) -> Option<&Path> {
        (self.trust.state != TrustState::TrustedForRun).then(|| self.trust.root())
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
                _ => {
                    let remedy = self.remedy_in(&folder);
                    remarks.push(format!("left out {}; {remedy}", package.display()));
                }
            }
        }
        let foundry = folder.join("foundry.toml");
        if let Ok(Some(file)) = read_contained_file(&folder, &foundry) {
            match self.trust.covers_file(&foundry, &file.bytes) {
                true => forge.push(folder),
                false => {
                    let remedy = self.remedy_in(&folder);
                    remarks.push(format!("left out `forge` in {}; {remedy}", folder.display()));
                }
            }
        }
        ProjectPrograms::Listed { packages, forge }
    }

    /// Returns the commands that make what was left out of a folder available. The folder must be canonical.
    ///
    /// The trust in a project does not extend to projects in it, such as libraries: they are trusted by themselves.
    fn remedy_in(&self, folder: &Path) -> String {
        let named = crate::clients::quote_word(&folder.to_string_lossy());
        match (self.trust.includes_tools_of(folder), self.is_current) {
            (true, true) => REMEDY.to_owned(),
            (false, true) => {
                format!("run `vouch --root {named} trust`, then pass `--root {named}`")
            }
            (_, false) => format!("run `vouch --root {named} trust` to use it"),
        }
    }

    /// Like [`Self::remedy_in`], for the file of a fuzzer, which can also be named.
    fn remedy_for(&self, file: &FuzzerFile) -> String {
        let folder = file.unresolved_path().ok().and_then(|path| path.parent().map(Path::to_owned));
        match folder {
            Some(folder) if self.trust.includes_tools_of(&folder) => self.remedy_in(&folder),
            _ => {
                let named = crate::clients::quote_word(&file.path.to_string_lossy());
                format!("pass `--config {named}` to use it")
            }
        }
    }

    /// Reads a fuzzer's file. Only one that the user named, or a run that is trusted, may follow a link out of the folder.
    pub(super) fn read_file(&self, file: &FuzzerFile) -> io::Result<String> {
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

    /// Reads the settings of tests from the `foundry.toml` of the target's project, if it has one. Returns warnings.
    ///
    /// They only say how much is tested, so that the file needs no trust.
    pub(super) fn read_foundry_settings(
        &self,
        target: &Path,
        settings: &mut FoundrySettings,
    ) -> Result<Vec<String>> {
        let folder = solidity::find_project_folder(target, self.limit_of(target).as_deref());
        let Ok(folder) = folder.canonicalize() else { return Ok(Vec::new()) };
        let path = folder.join("foundry.toml");
        let invalid = format!("invalid configuration in {}", path.display());
        let Some(file) = read_contained_file(&folder, &path).explain(&invalid)? else {
            return Ok(Vec::new());
        };
        let warnings = apply_foundry_toml(settings, &file.into_text().explain(&invalid)?);
        let warnings = warnings.explain(&invalid).map_err(|it| it.with_kind(FailureKind::Usage))?;
        Ok(warnings.iter().map(|warning| format!("{}: {warning}", path.display())).collect())
    }

    /// Returns what cheat codes may read on this machine: files that `foundry.toml` names, and environment variables with
    /// those of `.env`, as in forge. `None` if the user does not trust the project's `foundry.toml`.
    pub(super) fn find_project_access(&self, target: &Path) -> Option<ProjectAccess> {
        let folder = solidity::find_project_folder(target, self.limit_of(target).as_deref());
        let folder = folder.canonicalize().ok()?;
        if self.trust.state == TrustState::TrustedForRun && !folder.starts_with(self.trust.root()) {
            return None;
        }
        let text = self.read_trusted_file(target, FOUNDRY_TOML)?;
        let own = self.read_trusted_file(target, FOUNDRY_VARIABLES).unwrap_or_default();
        let mut variables = parse_env_file(&own);
        variables.extend(Environment::read_other_variables());
        Some(ProjectAccess::new(folder, &text, variables))
    }

    /// Returns true if everything in the folder's files applies.
    pub(super) fn is_granted(&self) -> bool {
        self.trust.is_granted()
    }

    /// Returns true if tests of the target's project may open connections: the user trusts its `foundry.toml`, or the run.
    pub(super) fn allows_connections(&self, target: &Path) -> bool {
        self.trust.state == TrustState::TrustedForRun
            || self.read_trusted_file(target, FOUNDRY_TOML).is_some()
    }

    /// Reads the endpoints of the target's project. `None` if it has no `foundry.toml`, or one that is not trusted; a remark
    /// says so if it has endpoints.
    pub(super) fn read_foundry_rpc(
        &self,
        target: &Path,
        profile: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Option<FoundryRpcFiles>> {
        let Some(folder) = self.project_folder(target) else { return Ok(None) };
        let path = folder.join(FOUNDRY_TOML);
        let invalid = format!("invalid configuration in {}", path.display());
        let Some(text) = self.read_trusted_file(target, FOUNDRY_TOML) else {
            let has_fork = |text: &str| {
                FoundryRpcSettings::read(text, profile)
                    .is_ok_and(|it| it != FoundryRpcSettings::default())
            };
            if self.read_project_file(target, FOUNDRY_TOML).is_some_and(|text| has_fork(&text)) {
                let (name, remedy) = (path.display(), self.remedy_in(&folder));
                remarks.push(format!("left out the endpoints of {name}; {remedy}"));
            }
            return Ok(None);
        };
        let settings = FoundryRpcSettings::read(&text, profile)
            .explain(&invalid)
            .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
        let env = self.read_trusted_file(target, FOUNDRY_VARIABLES);
        Ok(Some(FoundryRpcFiles { settings, env }))
    }

    fn project_folder(&self, target: &Path) -> Option<PathBuf> {
        let folder = solidity::find_project_folder(target, self.limit_of(target).as_deref());
        folder.canonicalize().ok()
    }

    /// Returns the text of a file in the folder of the target's project.
    fn read_project_file(&self, target: &Path, name: &str) -> Option<String> {
        let folder = self.project_folder(target)?;
        read_contained_file(&folder, &folder.join(name)).ok().flatten()?.into_text().ok()
    }

    /// Returns the text of such a file if the user trusts it.
    fn read_trusted_file(&self, target: &Path, name: &str) -> Option<String> {
        let text = self.read_project_file(target, name)?;
        let path = self.project_folder(target)?.join(name);
        self.trust.covers_file(&path, text.as_bytes()).then_some(text)
    }

    /// Removes what an untrusted file says about folders, compiler arguments and endpoints. Returns a remark if there was any.
    pub(super) fn restrict_settings(
        &self,
        file: &FuzzerFile,
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
            left_out.push(file.kind.corpus_key());
        }
        if settings.coverage_dir != base.coverage_dir {
            settings.coverage_dir.clone_from(&base.coverage_dir);
            left_out.push("`coverageDir`");
        }
        if settings.rpc_url.is_some() {
            (settings.rpc_url, settings.rpc_block) = (None, None);
            left_out.push(file.kind.rpc_key());
        }
        let name = file.path.display();
        (!left_out.is_empty()).then(|| {
            format!("left out {} of {name}; {}", left_out.join(", "), self.remedy_for(file))
        })
    }
}

/// Errors if a link on the way to a target, or to another file that is read, leaves the project that the link is in: a
/// clone could make the compiler read any file. `root` is the current project, which counts as one if it has a configuration.
///
/// Links of the user outside of any project, such as one in the home folder to another disk, are followed.
pub(super) fn refuse_links_out(root: &Path, has_config: bool, target: &Path) -> Result {
    let Ok(whole) = std::path::absolute(target) else { return Ok(()) };
    let mut real = PathBuf::new();
    let mut parts = whole.components().peekable();
    while let Some(part) = parts.next() {
        if part == Component::ParentDir {
            real.pop();
            continue;
        }
        let next = real.join(part);
        if !next.is_symlink() {
            real = next;
            continue;
        }
        // A link that leads nowhere fails later, with a better message.
        let Ok(leads_to) = next.canonicalize() else { return Ok(()) };
        let is_last = parts.peek().is_none();
        if !find_link_bounds(root, has_config, &real, is_last).allow(&leads_to) {
            let link = next.display();
            return Err(Failure::usage(format!("{link} is a link that leaves the project"))
                .with_hint(format!("pass the path that it leads to: {}", leads_to.display())));
        }
        real = leads_to;
    }
    Ok(())
}

/// The folders that a link may lead to; `None` for any.
struct LinkBounds(Option<Vec<PathBuf>>);

impl LinkBounds {
    fn allow(&self, leads_to: &Path) -> bool {
        let LinkBounds(folders) = self;
        folders.as_ref().is_none_or(|all| all.iter().any(|folder| leads_to.starts_with(folder)))
    }
}

/// Returns the bounds of a link in a canonical folder: the projects that the folder belongs to. Without any, the target
/// itself stays in its folder, and a link below the current folder stays below that.
fn find_link_bounds(root: &Path, has_config: bool, folder: &Path, is_last: bool) -> LinkBounds {
    let is_in_root = folder.starts_with(root);
    let configured = Some(root.to_owned()).filter(|_| has_config && is_in_root);
    let marked = solidity::find_marked_folder(folder, None);
    let projects: Vec<_> = configured.into_iter().chain(marked).collect();
    LinkBounds(match projects.is_empty() {
        false => Some(projects),
        true if is_last => Some(vec![folder.to_owned()]),
        true => is_in_root.then(|| vec![root.to_owned()]),
    })
}
