//! Plans a campaign from flags and configuration files: everything that is decided before compiling.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ::fuzz::config::medusa_json::{self, MedusaConfig};
use ::fuzz::config::{CampaignSettings, OutputFormat, echidna_yaml};
use globset::GlobSet;
use solidity::Toolchain;

use super::coverage_report;
use super::fork::{ForkPlan, ForkSources};
use super::given_settings;
use super::report_files::ReportFiles;
use super::target_trust::{FuzzerFile, FuzzerKind, TargetTrust, refuse_links_out};
use crate::config::{ConfigLayer, ProjectLocation, Settings};
use crate::context::AppContext;
use crate::env::EnvVar;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::solc::{self, SolcInstaller};
use crate::trust::TrustState;

/// File names of configurations of other fuzzers; the first that exists is read.
const FUZZER_FILES: [(&str, FuzzerKind); 3] = [
    ("echidna.yaml", FuzzerKind::Echidna),
    ("echidna.yml", FuzzerKind::Echidna),
    ("medusa.json", FuzzerKind::Medusa),
];

/// A validated plan of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// Path of the target; `None` for the built-in demo.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
    pub settings: Arc<CampaignSettings>,
    /// The chain that the campaign forks.
    pub fork: ForkPlan,
    /// Medusa's configuration, as far as it depends on the compiled contracts.
    pub(crate) medusa: Option<MedusaConfig>,
    pub(crate) toolchain: Toolchain,
    /// Installs missing compilers, if the user allowed it.
    pub(crate) installer: Option<SolcInstaller>,
    pub seed: u64,
    pub workers: usize,
    pub format: OutputFormat,
    /// True if no format was chosen, so that a terminal may show the full-screen view.
    pub may_show_screen: bool,
    /// Writer of the reports that flags ask for.
    pub reports: ReportFiles,
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
    /// Profile of `foundry.toml`.
    pub profile: Option<String>,
    /// True if missing compilers may be installed.
    pub installs_solc: bool,
    /// Corpus file to replay.
    pub replay: Option<PathBuf>,
    /// Log of the commands of agents to replay.
    pub command_log: Option<PathBuf>,
}

impl CampaignPlan {
    /// Creates a plan. Configuration files override `base`, and `apply` overrides both.
    pub fn new(
        app: &AppContext,
        wanted: CampaignRequest,
        base: CampaignSettings,
        apply: impl FnOnce(&mut CampaignSettings) -> Result,
    ) -> Result<Self> {
        let CampaignRequest { path, contract, solc, profile, installs_solc, .. } = &wanted;
        let ours = app.settings_at(&vouch_location(app), ConfigLayer::default())?;
        check_named_files(&ours, &wanted)?;
        let (path, contract, solc) = (path.clone(), contract.clone(), solc.clone());
        let (profile, installs_solc, replay) =
            (profile.clone(), *installs_solc, wanted.replay.clone());
        let mut path = path;
        let mut trust =
            path.as_deref().map(|path| TargetTrust::find(app, &ours, path)).transpose()?;
        let marked = given_settings::mark_unset(&base);
        let FileSettings { mut settings, medusa, mut warnings } = match (&path, &trust) {
            (Some(path), Some(trust)) => read_settings(app, &ours, trust, path, marked)?,
            _ => FileSettings { settings: marked, ..FileSettings::default() },
        };
        let mut contract = contract;
        if let Some(medusa) = &medusa {
            if let Some(named) = path.as_deref().and_then(|path| named_source(path, medusa)) {
                trust = Some(TargetTrust::find(app, &ours, &named)?);
                path = Some(named);
            }
            contract = contract.or_else(|| medusa.target_contracts.last().cloned());
            settings.deploy_contracts.retain(|(_, name)| Some(name) != contract.as_ref());
        }
        // Only flags may name an endpoint in an untrusted folder; what files say about it was judged above.
        let of_files = (settings.rpc_url.take(), settings.rpc_block.take());
        apply(&mut settings)?;
        given_settings::restore_unset(&mut settings, &base);
        let named = || app.environment.get(EnvVar::FoundryProfile).map(str::to_owned);
        let profile = profile.or_else(named);
        if let Some(profile) = &profile {
            settings.foundry.profile.clone_from(profile);
        }
        if let (Some(path), Some(trust)) = (&path, &trust) {
            warnings.extend(trust.read_foundry_settings(path, &mut settings.foundry)?);
        }
        let sources = ForkSources {
            app,
            target: trust.as_ref().zip(path.as_deref()),
            profile: profile.as_deref(),
            replay: replay.as_deref(),
        };
        let fork = ForkPlan::new(&sources, of_files, &settings, &mut warnings)?;
        settings.ffi_path = Some(solc::program_path(&app.environment));
        if let (Some(path), Some(trust)) = (&path, &trust) {
            settings.access = trust.find_project_access(path).map(Arc::new);
        }
        let outputs = [&settings.corpus_dir, &settings.coverage_dir];
        let own = TargetTrust::new(&ours);
        for folder in outputs.into_iter().flatten() {
            trust.as_ref().unwrap_or(&own).check_output_folder(folder)?;
        }
        let bounds = [Some(&own), trust.as_ref()].into_iter().flatten();
        let bounds = bounds.filter_map(TargetTrust::link_bound).map(Path::to_owned).collect();
        settings.check_bounds().map_err(|error| {
            Failure::from(error)
                .with_kind(FailureKind::Usage)
                .with_hint("omit the setting; the default suits most contracts")
        })?;
        warnings.extend(settings.ineffective());
        let seed = *settings.seed.get_or_insert_with(random_seed);
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let mut toolchain = build_toolchain(app, solc, &settings)?;
        toolchain.profile = profile;
        let install = || SolcInstaller::from_environment(&app.environment);
        if let (Some(path), Some(trust)) = (&path, &trust) {
            let folder = toolchain.options.base_path.clone();
            toolchain.limit = trust.limit_of(path);
            let limit = toolchain.limit.as_deref();
            let folder = folder.unwrap_or_else(|| solidity::find_project_folder(path, limit));
            toolchain.project = trust.allow_programs(&folder, &mut warnings);
        }
        Ok(Self {
            toolchain,
            reports: ReportFiles { bounds },
            installer: installs_solc.then(install).transpose()?,
            workers: settings.workers.map_or_else(cores, |workers| workers.get()),
            coverage_excludes: coverage_report::compile_excludes(&settings.coverage_excludes)?,
            format: settings.format.unwrap_or(OutputFormat::Text),
            may_show_screen: settings.format.is_none(),
            contract,
            fork,
            medusa,
            settings: Arc::new(settings),
            path,
            seed,
            warnings,
        })
    }
}

/// Errors if a file that the user names is read through a link that leaves the project.
fn check_named_files(ours: &Settings, wanted: &CampaignRequest) -> Result {
    if ours.trust.state != TrustState::TrustedForRun {
        for file in [&wanted.replay, &wanted.command_log].into_iter().flatten() {
            refuse_links_out(&ours.root, ours.trust.has_config(), file)?;
        }
    }
    Ok(())
}

/// The settings of configuration files.
#[derive(Default)]
struct FileSettings {
    settings: CampaignSettings,
    medusa: Option<MedusaConfig>,
    warnings: Vec<String>,
}

/// Reads the settings from the file of Echidna or Medusa or, if there is none, from the `[fuzz]` table of vouch.toml.
///
/// They are not merged, so that a file written for another fuzzer means the same here.
fn read_settings(
    app: &AppContext,
    ours: &Settings,
    trust: &TargetTrust,
    path: &Path,
    base: CampaignSettings,
) -> Result<FileSettings> {
    // `--config` is shared by all commands; the file extension tells which kind of file it names.
    let given = app.location.config.clone().and_then(|path| {
        let kind = FuzzerKind::of_file(&path)?;
        Some(FuzzerFile { path, kind, is_named: true })
    });
    let ours = ours.fuzz.as_ref();
    let Some(file) = given.or_else(|| find_fuzzer_file(path)) else {
        let settings = match ours {
            Some(table) => table.apply_over(base),
            None => base,
        };
        return Ok(FileSettings { settings, ..FileSettings::default() });
    };
    let mut read = read_fuzzer_file(&file, trust, base)?;
    read.settings.foundry.given.insert("testMode");
    if ours.is_some() {
        let name = file.path.display();
        read.warnings.push(format!("ignoring [fuzz] in vouch.toml: {name} takes precedence"));
    }
    Ok(read)
}

/// Returns the location to search for vouch.toml; a `--config` that names the file of another fuzzer is left out.
pub(crate) fn vouch_location(app: &AppContext) -> ProjectLocation {
    let is_ours = |file: &PathBuf| FuzzerKind::of_file(file).is_none();
    ProjectLocation { config: app.location.config.clone().filter(is_ours), ..app.location.clone() }
}

/// Returns the configuration file of another fuzzer in the folder of the target, if there is one.
fn find_fuzzer_file(path: &Path) -> Option<FuzzerFile> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let files = FUZZER_FILES.iter().map(|(name, kind)| (folder.join(name), *kind));
    let (path, kind) = files.into_iter().find(|(file, _)| file.is_file())?;
    Some(FuzzerFile { path, kind, is_named: false })
}

/// Reads the file of another fuzzer. The warnings include a remark on what was left out.
fn read_fuzzer_file(
    file: &FuzzerFile,
    trust: &TargetTrust,
    base: CampaignSettings,
) -> Result<FileSettings> {
    let usage = |failure: Failure| failure.with_kind(FailureKind::Usage);
    let name = file.path.display();
    let text = trust
        .read_file(file)
        .explain(format_args!("failed to read {name}"))
        .hint("choose another file with `--config FILE`, or omit the flag")
        .map_err(usage)?;
    let mut settings = base.clone();
    let parsed = match file.kind {
        FuzzerKind::Echidna => {
            echidna_yaml::apply_config(&mut settings, &text).map(|warnings| (None, warnings))
        }
        FuzzerKind::Medusa => medusa_json::apply_config(&mut settings, &text)
            .map(|(medusa, warnings)| (Some(medusa), warnings)),
    };
    let (medusa, warnings) = parsed
        .explain(format_args!("invalid configuration in {name}"))
        .hint("correct it, or choose another file with `--config FILE`")
        .map_err(usage)?;
    let mut warnings: Vec<_> = warnings.iter().map(|it| format!("{name}: {it}")).collect();
    warnings.extend(trust.restrict_settings(file, &text, &base, &mut settings));
    Ok(FileSettings { settings, medusa, warnings })
}

/// Returns the source that Medusa's file names, if the target is a folder without a project. The file must be in it.
fn named_source(path: &Path, medusa: &MedusaConfig) -> Option<PathBuf> {
    let target = Path::new(medusa.compile_target.as_ref()?);
    let is_inside =
        target.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_folder = path.is_dir() && !solidity::is_project_folder(path);
    let named = path.join(target);
    (is_folder && is_inside && named.is_file()).then_some(named)
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
