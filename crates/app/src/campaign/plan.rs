//! From flags and files to what is to be done: everything that can be known before anything is compiled.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::config::{Format, Settings, echidna_yaml};
use globset::GlobSet;
use solidity::Toolchain;

use super::cover;
use crate::config::{self, Layer, Place, wrong_config};
use crate::context::AppContext;
use crate::env::Var;
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};
use crate::solc;

/// Names under which Echidna's configuration is looked for.
const ECHIDNA: [&str; 2] = ["echidna.yaml", "echidna.yml"];

/// What is to be done.
#[derive(Debug)]
pub struct Plan {
    /// None for the contract that comes with the program.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
    pub settings: Arc<Settings>,
    pub(crate) toolchain: Toolchain,
    pub seed: u64,
    pub workers: usize,
    pub format: Format,
    /// Nobody chose a format, so that a terminal may show more than lines.
    pub may_show_screen: bool,
    /// Files that reports of coverage leave out.
    pub coverage_excludes: GlobSet,
    /// What a file says and nobody does.
    pub warnings: Vec<String>,
}

/// What somebody names to be fuzzed.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// None for the contract that comes with the program.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
    pub solc: Option<PathBuf>,
}

impl Plan {
    /// What files say goes over `base`, and what `apply` says over that.
    pub fn new(
        app: &AppContext,
        wanted: Wanted,
        base: Settings,
        apply: impl FnOnce(&mut Settings) -> Result,
    ) -> Result<Self> {
        let Wanted { path, contract, solc } = wanted;
        let (mut settings, mut warnings) = match &path {
            Some(path) => from_files(app, path, base)?,
            None => (base, Vec::new()),
        };
        apply(&mut settings)?;
        settings.check_bounds().map_err(|error| {
            Failure::from(error)
                .with_kind(FailureKind::Usage)
                .with_hint("the defaults are enough for most contracts: leave it out")
        })?;
        warnings.extend(settings.ineffective());
        let seed = *settings.seed.get_or_insert_with(random_seed);
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Ok(Self {
            toolchain: toolchain(app, solc, &settings)?,
            workers: settings.workers.map_or_else(cores, |workers| workers.get()),
            coverage_excludes: cover::excludes(&settings.coverage_excludes)?,
            format: settings.format.unwrap_or(Format::Text),
            may_show_screen: settings.format.is_none(),
            contract,
            settings: Arc::new(settings),
            path,
            seed,
            warnings,
        })
    }
}

/// What Echidna's file says; without one, what the table of vouch.toml says. They are not mixed: a file that was made for
/// Echidna means here what it means there.
fn from_files(app: &AppContext, path: &Path, base: Settings) -> Result<(Settings, Vec<String>)> {
    // The flag is that of all commands; what it names tells which file is meant.
    let given = app.place.config.as_deref().filter(|file| is_yaml(file));
    let ours = config::load(&our_place(app), &app.environment, Layer::default());
    let ours = ours.map_err(wrong_config)?.fuzz;
    let Some(file) = given.map(Path::to_owned).or_else(|| beside(path)) else {
        let settings = match ours {
            Some(table) => table.over(base),
            None => base,
        };
        return Ok((settings, Vec::new()));
    };
    let (settings, warnings) = read_echidna(&file, base)?;
    let name = file.display();
    let mut warnings: Vec<_> = warnings.iter().map(|it| format!("{name}: {it}")).collect();
    if ours.is_some() {
        warnings.push(format!("the table [fuzz] of vouch.toml is not used, because {name} is"));
    }
    Ok((settings, warnings))
}

/// Where vouch.toml is looked for: --config may name a file of Echidna instead.
pub(crate) fn our_place(app: &AppContext) -> Place {
    Place {
        config: app.place.config.clone().filter(|file| !is_yaml(file)),
        root: app.place.root.clone(),
    }
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "yaml" || it == "yml")
}

/// Echidna's file in the folder of the target.
fn beside(path: &Path) -> Option<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    ECHIDNA.iter().map(|name| folder.join(name)).find(|file| file.is_file())
}

fn read_echidna(
    file: &Path,
    mut settings: Settings,
) -> Result<(Settings, Vec<echidna_yaml::Warning>)> {
    let usage = |failure: Failure| failure.with_kind(FailureKind::Usage);
    let text = read(file)
        .explain(format_args!("cannot read {}", file.display()))
        .hint("name another file with --config FILE.yaml, or leave it out")
        .map_err(usage)?;
    let warnings = echidna_yaml::read_over(&mut settings, &text)
        .explain(format_args!("{} cannot be used", file.display()))
        .hint("correct it, or name another file with --config FILE.yaml")
        .map_err(usage)?;
    Ok((settings, warnings))
}

/// The text of a file, as far as a configuration may be long; the reader says the rest.
fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(echidna_yaml::MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// It is started in the folder of the project, so that a path must not depend on ours; a bare name is looked for.
fn from_here(path: PathBuf) -> PathBuf {
    if path.exists() { std::path::absolute(&path).unwrap_or(path) } else { path }
}

fn toolchain(app: &AppContext, solc: Option<PathBuf>, settings: &Settings) -> Result<Toolchain> {
    let environment = &app.environment;
    let mut toolchain = Toolchain {
        solc: solc.map(from_here),
        env_solc: environment.get(Var::Solc).map(PathBuf::from),
        path: solc::search_path(environment),
        cache: solc::cache(environment),
        ..Toolchain::default()
    };
    toolchain
        .options
        .add_args(settings.solc_args.split_whitespace())
        .explain("the compiler cannot be called like this")
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
        .hint("compile by other means, and give the JSON: vouch fuzz out.json")?;
    Ok(toolchain)
}

/// Short enough to be typed again.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}
