//! Plans a campaign from flags and configuration files: everything that is decided before compiling.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::config::{CampaignSettings, OutputFormat, echidna_yaml};
use globset::GlobSet;
use solidity::Toolchain;

use super::coverage_report;
use super::target_trust::{EchidnaFile, TargetTrust};
use crate::config::{ConfigLayer, ProjectLocation, Settings};
use crate::context::AppContext;
use crate::env::EnvVar;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::solc;

/// File names of Echidna's configuration.
const ECHIDNA_FILES: [&str; 2] = ["echidna.yaml", "echidna.yml"];

/// A validated plan of a campaign.
#[derive(Debug)]
pub struct CampaignPlan {
    /// Path of the target; `None` for the built-in demo.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
    pub settings: Arc<CampaignSettings>,
    pub(crate) toolchain: Toolchain,
    pub seed: u64,
    pub workers: usize,
    pub format: OutputFormat,
    /// True if no format was chosen, so that a terminal may show the full-screen view.
    pub may_show_screen: bool,
    /// Files that coverage reports leave out.
    pub coverage_excludes: GlobSet,
    /// Settings that were read and have no effect.
    pub warnings: Vec<String>,
}

/// The target that the user asked to fuzz.
#[derive(Clone, Debug, Default)]
pub struct CampaignRequest {
    /// Path of the target; `None` for the built-in demo.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
    pub solc: Option<PathBuf>,
}

impl CampaignPlan {
    /// Creates a plan. Configuration files override `base`, and `apply` overrides both.
    pub fn new(
        app: &AppContext,
        wanted: CampaignRequest,
        base: CampaignSettings,
        apply: impl FnOnce(&mut CampaignSettings) -> Result,
    ) -> Result<Self> {
        let CampaignRequest { path, contract, solc } = wanted;
        let ours = app.settings_at(&vouch_location(app), ConfigLayer::default())?;
        let trust = path.as_deref().map(|path| TargetTrust::find(app, &ours, path)).transpose()?;
        let (mut settings, mut warnings) = match (&path, &trust) {
            (Some(path), Some(trust)) => read_settings(app, &ours, trust, path, base)?,
            _ => (base, Vec::new()),
        };
        apply(&mut settings)?;
        settings.ffi_path = Some(solc::program_path(&app.environment));
        let outputs = [&settings.corpus_dir, &settings.coverage_dir];
        let own = TargetTrust::new(&ours);
        for folder in outputs.into_iter().flatten() {
            trust.as_ref().unwrap_or(&own).check_output_folder(folder)?;
        }
        settings.check_bounds().map_err(|error| {
            Failure::from(error)
                .with_kind(FailureKind::Usage)
                .with_hint("omit the setting; the default suits most contracts")
        })?;
        warnings.extend(settings.ineffective());
        let seed = *settings.seed.get_or_insert_with(random_seed);
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let mut toolchain = build_toolchain(app, solc, &settings)?;
        if let (Some(path), Some(trust)) = (&path, &trust) {
            let folder = toolchain.options.base_path.clone();
            toolchain.limit = trust.limit_of(path);
            let limit = toolchain.limit.as_deref();
            let folder = folder.unwrap_or_else(|| solidity::find_project_folder(path, limit));
            toolchain.project = trust.allow_programs(&folder, &mut warnings);
        }
        Ok(Self {
            toolchain,
            workers: settings.workers.map_or_else(cores, |workers| workers.get()),
            coverage_excludes: coverage_report::compile_excludes(&settings.coverage_excludes)?,
            format: settings.format.unwrap_or(OutputFormat::Text),
            may_show_screen: settings.format.is_none(),
            contract,
            settings: Arc::new(settings),
            path,
            seed,
            warnings,
        })
    }
}

/// Reads the settings from Echidna's file or, if there is none, from the `[fuzz]` table of vouch.toml.
///
/// The two are not merged, so that a file written for Echidna means the same here. Returns the settings and warnings.
fn read_settings(
    app: &AppContext,
    ours: &Settings,
    trust: &TargetTrust,
    path: &Path,
    base: CampaignSettings,
) -> Result<(CampaignSettings, Vec<String>)> {
    // `--config` is shared by all commands; the file extension tells which kind of file it names.
    let given = app.location.config.clone().filter(|file| is_yaml(file));
    let given = given.map(|path| EchidnaFile { path, is_named: true });
    let ours = ours.fuzz.as_ref();
    let Some(file) = given.or_else(|| find_echidna_file(path)) else {
        let settings = match ours {
            Some(table) => table.apply_over(base),
            None => base,
        };
        return Ok((settings, Vec::new()));
    };
    let (settings, warnings, left_out) = read_echidna(&file, trust, base)?;
    let name = file.path.display();
    let mut warnings: Vec<_> = warnings.iter().map(|it| format!("{name}: {it}")).collect();
    warnings.extend(left_out);
    if ours.is_some() {
        warnings.push(format!("ignoring [fuzz] in vouch.toml: {name} takes precedence"));
    }
    Ok((settings, warnings))
}

/// Returns the location to search for vouch.toml; a `--config` that names Echidna's file is left out.
pub(crate) fn vouch_location(app: &AppContext) -> ProjectLocation {
    ProjectLocation {
        config: app.location.config.clone().filter(|file| !is_yaml(file)),
        ..app.location.clone()
    }
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "yaml" || it == "yml")
}

/// Returns Echidna's configuration file in the folder of the target, if there is one.
fn find_echidna_file(path: &Path) -> Option<EchidnaFile> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let path = ECHIDNA_FILES.iter().map(|name| folder.join(name)).find(|file| file.is_file())?;
    Some(EchidnaFile { path, is_named: false })
}

/// Reads Echidna's file. Returns the settings, warnings, and a remark on what was left out.
fn read_echidna(
    file: &EchidnaFile,
    trust: &TargetTrust,
    base: CampaignSettings,
) -> Result<(CampaignSettings, Vec<echidna_yaml::ConfigWarning>, Option<String>)> {
    let usage = |failure: Failure| failure.with_kind(FailureKind::Usage);
    let text = trust
        .read_file(file)
        .explain(format_args!("failed to read {}", file.path.display()))
        .hint("choose another file with `--config FILE.yaml`, or omit the flag")
        .map_err(usage)?;
    let mut settings = base.clone();
    let warnings = echidna_yaml::apply_config(&mut settings, &text)
        .explain(format_args!("invalid configuration in {}", file.path.display()))
        .hint("correct it, or choose another file with `--config FILE.yaml`")
        .map_err(usage)?;
    let left_out = trust.restrict_settings(file, &text, &base, &mut settings);
    Ok((settings, warnings, left_out))
}

/// Makes the path of an existing compiler absolute, because it runs in the project's folder.
///
/// A bare name is returned unchanged and searched for on `PATH`, also if the current folder has a file of that name.
fn resolve_program(path: PathBuf) -> PathBuf {
    match solidity::is_bare_name(&path) || !path.exists() {
        true => path,
        false => std::path::absolute(&path).unwrap_or(path),
    }
}

fn build_toolchain(
    app: &AppContext,
    solc: Option<PathBuf>,
    settings: &CampaignSettings,
) -> Result<Toolchain> {
    let environment = &app.environment;
    let mut toolchain = Toolchain {
        solc: solc.map(resolve_program),
        env_solc: environment.get(EnvVar::Solc).map(PathBuf::from).map(resolve_program),
        path: solc::search_path(environment),
        cache: solc::cache_folder(environment),
        ..Toolchain::default()
    };
    toolchain
        .options
        .add_args(settings.solc_args.split_whitespace())
        .explain("invalid compiler arguments")
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
        .hint("compile separately and pass the JSON: run `vouch fuzz out.json`")?;
    Ok(toolchain)
}

/// Returns a random 32-bit seed, short enough to type.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}
