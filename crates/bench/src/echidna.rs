//! `cargo xtask echidna DIR`: runs Echidna's own tests with our fuzzer and compares the outcomes.
//!
//! Expectations are parsed from Echidna's Haskell sources (`haskell`, `spec`), so that a newer checkout needs no change
//! here. This repository keeps no part of a checkout.

mod haskell;
mod judge;
mod report;
mod run;
mod spec;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fuzz::config::{CampaignSettings, TestMode, echidna_yaml};
use solidity::{CompileOptions, LoadError, ProjectPrograms, SolidityBuild, Toolchain};

use report::{RowVerdict, SuiteReport, SuiteRow, shorten_to_line};
use run::{RunRefusal, SuiteRun};
use spec::{ExpectedOutcome, SuiteCase, SuiteModule};

/// Maximum size of a source file; a module of tests has some kilobytes.
const MAX_SOURCE: u64 = 1 << 20;

/// Limits that the suite sets for cases that do not use those of their configuration.
const SUITE_CALLS: u64 = 10_000;
const SUITE_SHRINKS: u64 = 4_000;

#[derive(clap::Args)]
pub(crate) struct EchidnaArgs {
    /// A checkout of Echidna
    folder: PathBuf,
    /// Solidity compiler: a program, or the folder of the npm package `solc`
    #[arg(long)]
    solc: Option<PathBuf>,
    /// Run only files and smart contracts whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Maximum calls of one run, whatever its configuration says
    #[arg(long, default_value_t = 50_000)]
    calls: u64,
    /// Maximum seconds of one run
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of runs whose configuration has none
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run_echidna_suite(args: &EchidnaArgs) -> Result<()> {
    let mut suite = EchidnaSuite::open(args)?;
    let SuiteModule { cases, others } = suite.read_expectations()?;
    suite.report.others = others;
    let cases: Vec<SuiteCase> = cases.into_iter().filter(|case| suite.is_selected(case)).collect();
    let mut ran = BTreeSet::new();
    for (number, case) in cases.iter().enumerate() {
        eprintln!("{}/{} {}", number + 1, cases.len(), case.file);
        if suite.judge_case(case)? {
            ran.insert(case.file.clone());
        }
    }
    let files = suite.list_solidity_files()?;
    suite.report.files = files.len();
    for file in files.iter().filter(|file| !ran.contains(*file)) {
        eprintln!("{file}");
        suite.list_file(file)?;
    }
    let report = suite.report;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}\n{}", report.to_table(), report.to_totals());
    }
    let differ = report.count(RowVerdict::Differs);
    ensure!(differ == 0, "{differ} outcomes differ from what Echidna's tests expect");
    Ok(())
}

/// A checkout, and the results so far.
struct EchidnaSuite<'a> {
    args: &'a EchidnaArgs,
    /// Folder that paths of files and configurations are relative to.
    solidity: PathBuf,
    toolchain: Toolchain,
    /// Builds by file and compiler options.
    builds: HashMap<(String, String), Result<Arc<SolidityBuild>, String>>,
    report: SuiteReport,
}

impl<'a> EchidnaSuite<'a> {
    fn open(args: &'a EchidnaArgs) -> Result<Self> {
        let solidity = args.folder.join("tests").join("solidity");
        ensure!(
            solidity.is_dir(),
            "`{}` is not a checkout of Echidna: it has no folder tests/solidity",
            args.folder.display()
        );
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut toolchain = Toolchain {
            solc: args.solc.clone(),
            path: std::env::split_paths(&path).collect(),
            project: ProjectPrograms::All,
            ..Toolchain::default()
        };
        // The suite runs in this folder, so its paths are relative to it.
        toolchain.options.base_path = Some(solidity.clone());
        let (builds, report) = (HashMap::new(), SuiteReport::default());
        Ok(Self { args, solidity, toolchain, builds, report })
    }

    /// Reads the expectations of all modules of the suite.
    fn read_expectations(&self) -> Result<SuiteModule> {
        let folder = self.args.folder.join("src").join("test").join("Tests");
        let mut all = SuiteModule::default();
        for path in list_files(&folder, "hs")? {
            let module = spec::collect_cases(&haskell::tokenize(&read_text(&path)?));
            all.cases.extend(module.cases);
            all.others.extend(module.others);
        }
        ensure!(
            !all.cases.is_empty(),
            "no test case found in `{}`; Echidna may have changed their syntax",
            folder.display()
        );
        Ok(all)
    }

    fn is_selected(&self, case: &SuiteCase) -> bool {
        let only = self.args.only.as_deref().unwrap_or_default();
        case.file.contains(only)
            || case.contract.as_ref().is_some_and(|contract| contract.contains(only))
    }

    /// Returns every Solidity file of the suite itself; files of libraries are not tested.
    fn list_solidity_files(&self) -> Result<Vec<String>> {
        let only = self.args.only.as_deref().unwrap_or_default();
        let name = |path: PathBuf| {
            let below = path.strip_prefix(&self.solidity).unwrap_or(&path);
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            (parts.len() == 2).then(|| parts.join("/"))
        };
        let files = list_files(&self.solidity, "sol")?.into_iter().filter_map(name);
        Ok(files.filter(|file| file.contains(only)).collect())
    }

    /// Runs a case and adds its rows. Returns false if it did not run.
    fn judge_case(&mut self, case: &SuiteCase) -> Result<bool> {
        let settings = match self.read_settings(case)? {
            Ok(settings) => settings,
            Err(why) => {
                self.add_rows(case, "", |_| {
                    (format!("the configuration: {why}"), RowVerdict::Differs)
                });
                return Ok(false);
            }
        };
        let Some(build) = self.build_case(case, &settings)? else {
            self.add_rows(case, "", |_| ("does not compile".to_owned(), RowVerdict::NotRun));
            return Ok(false);
        };
        let version = solc_version(&build);
        if let Some(unmet) = case.versions.iter().find(|it| !it.admits(version)) {
            self.add_rows(case, "", |_| (format!("for solc {unmet}"), RowVerdict::NotRun));
            return Ok(false);
        }
        let (name, ran) = match run::choose_contract(&build, &case.file, case.contract.as_deref()) {
            Ok(contract) => {
                let name = build.contracts[contract].name.clone();
                (name, run::fuzz_contract(&build, contract, settings)?)
            }
            Err(refusal) => (case.contract.clone().unwrap_or_default(), SuiteRun::Refused(refusal)),
        };
        self.add_rows(case, &name, |wanted| {
            let judged = judge::judge_outcome(wanted, &ran);
            let verdict = if judged.is_right { RowVerdict::Right } else { RowVerdict::Differs };
            (judged.got, verdict)
        });
        Ok(true)
    }

    /// Adds a row for each expectation of a case.
    fn add_rows(
        &mut self,
        case: &SuiteCase,
        contract: &str,
        say: impl Fn(&ExpectedOutcome) -> (String, RowVerdict),
    ) {
        for wanted in &case.wanted {
            let (got, verdict) = match wanted {
                ExpectedOutcome::NotAnOutcome(_) => (String::new(), RowVerdict::NotAnOutcome),
                _ => say(wanted),
            };
            self.report.rows.push(SuiteRow {
                file: case.file.clone(),
                contract: contract.to_owned(),
                config: case.config.clone(),
                test: wanted.test().to_owned(),
                expected: wanted.to_string(),
                got,
                verdict,
            });
        }
    }

    /// Runs every smart contract of a file without expectations.
    fn list_file(&mut self, file: &str) -> Result<()> {
        let mut case = SuiteCase {
            file: file.to_owned(),
            contract: None,
            config: self.find_own_config(file),
            versions: Vec::new(),
            is_limited: true,
            mode: None,
            wanted: Vec::new(),
        };
        // An unusable configuration is a difference only where a case names it.
        let settings = match self.read_settings(&case)? {
            Ok(settings) => settings,
            Err(_) => {
                case.config = None;
                self.read_settings(&case)?.unwrap_or_default()
            }
        };
        let Some(build) = self.build_case(&case, &settings)? else { return Ok(()) };
        for (index, contract) in build.contracts.iter().enumerate() {
            if contract.source != file || !contract.is_deployable() {
                continue;
            }
            let ran = run_in_some_mode(&build, index, &settings)?;
            self.list_outcomes(&case, &contract.name, &ran);
        }
        Ok(())
    }

    fn list_outcomes(&mut self, case: &SuiteCase, contract: &str, ran: &SuiteRun) {
        let lines = match ran {
            SuiteRun::Refused(RunRefusal { why, .. }) => {
                vec![("*".to_owned(), format!("refused: {why}"))]
            }
            SuiteRun::Ended(outcomes) => {
                let line = |it: &run::TestOutcome| (it.test.clone(), it.found.to_string());
                outcomes.iter().map(line).collect()
            }
        };
        self.report.rows.extend(lines.into_iter().map(|(test, got)| SuiteRow {
            file: case.file.clone(),
            contract: contract.to_owned(),
            config: case.config.clone(),
            test,
            expected: "-".to_owned(),
            got,
            verdict: RowVerdict::Listed,
        }));
    }

    /// Returns the configuration with the name of the file, if there is one.
    fn find_own_config(&self, file: &str) -> Option<String> {
        let config = format!("{}.yaml", file.strip_suffix(".sol")?);
        self.solidity.join(&config).is_file().then_some(config)
    }

    /// Returns the settings of a case within the limits of this task, or why its configuration is unusable.
    fn read_settings(&mut self, case: &SuiteCase) -> Result<Result<CampaignSettings, String>> {
        let mut settings = match &case.config {
            Some(config) => {
                let text = read_text(&self.solidity.join(config))?;
                let (mut settings, warnings) = match echidna_yaml::parse_config(&text) {
                    Ok(read) => read,
                    Err(error) => return Ok(Err(error.to_string())),
                };
                // The user trusts the checkout.
                settings.allow_ffi = warnings.iter().any(|warning| warning.key == "allowFFI");
                for warning in warnings {
                    let files: &mut BTreeSet<_> = self.report.keys.entry(warning.key).or_default();
                    files.insert(config.clone());
                }
                settings
            }
            None => CampaignSettings::default(),
        };
        if case.is_limited {
            settings.test_limit = SUITE_CALLS;
            settings.shrink_limit = SUITE_SHRINKS;
        }
        if case.wanted == [ExpectedOutcome::AllHold] {
            settings.test_limit = 1;
        }
        if let Some(mode) = &case.mode {
            settings.test_mode = mode.parse().context("invalid mode of a test case")?;
        }
        settings.test_limit = settings.test_limit.min(self.args.calls);
        let limit = Duration::from_secs(self.args.seconds);
        settings.timeout = Some(settings.timeout.map_or(limit, |timeout| timeout.min(limit)));
        settings.seed.get_or_insert(self.args.seed);
        Ok(Ok(settings))
    }

    /// Compiles a file. Returns `None` if it does not compile, which the report lists once.
    fn build_case(
        &mut self,
        case: &SuiteCase,
        settings: &CampaignSettings,
    ) -> Result<Option<Arc<SolidityBuild>>> {
        let mut options = self.toolchain.options.clone();
        options.add_args(settings.solc_args.split_whitespace())?;
        if let Some(config) = &case.config {
            options.remappings.extend(parse_remappings(&read_text(&self.solidity.join(config))?));
        }
        let key = (case.file.clone(), format!("{options:?}"));
        if !self.builds.contains_key(&key) {
            let built = self.compile(&case.file, options)?;
            match &built {
                Ok(build) => {
                    self.report.compiler = build.compiler.clone().unwrap_or_default();
                }
                Err(why) => {
                    self.report.not_compiled.insert(case.file.clone(), shorten_to_line(why));
                }
            }
            self.builds.insert(key.clone(), built);
        }
        Ok(self.builds.get(&key).and_then(|built| built.as_ref().ok()).cloned())
    }

    fn compile(
        &self,
        file: &str,
        options: CompileOptions,
    ) -> Result<Result<Arc<SolidityBuild>, String>> {
        let toolchain = Toolchain { options, ..self.toolchain.clone() };
        match solidity::load_build(&self.solidity.join(file), &toolchain) {
            Ok(build) => Ok(Ok(Arc::new(build))),
            Err(LoadError::CompileFailed { errors, .. }) => {
                Ok(Err(errors.messages.first().cloned().unwrap_or_default()))
            }
            Err(LoadError::NoContract(_)) => Ok(Err("it has no smart contract".to_owned())),
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                Err(anyhow::Error::new(error)).context(hint)
            }
        }
    }
}

/// Returns the remappings that follow `--solc-remaps` in `cryticArgs`.
fn parse_remappings(config: &str) -> Vec<String> {
    let mut words = config.split('"').skip_while(|word| *word != "--solc-remaps").skip(2);
    let first = words.next().unwrap_or_default();
    first.split_whitespace().map(str::to_owned).collect()
}

/// Fuzzes a smart contract with its settings, or in assertion mode if these find no test.
fn run_in_some_mode(
    build: &Arc<SolidityBuild>,
    contract: usize,
    settings: &CampaignSettings,
) -> Result<SuiteRun> {
    let ran = run::fuzz_contract(build, contract, settings.clone())?;
    match &ran {
        SuiteRun::Refused(RunRefusal { exception: Some("NoTests"), .. }) => {
            let mut settings = settings.clone();
            settings.test_mode = TestMode::Assertion;
            run::fuzz_contract(build, contract, settings)
        }
        _ => Ok(ran),
    }
}

/// Returns the three numbers of `0.8.37+commit…`.
fn solc_version(build: &SolidityBuild) -> [u32; 3] {
    let version = build.compiler.as_deref().unwrap_or_default();
    let numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok());
    let mut version = [0; 3];
    version.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    version
}

/// Reads a text file of limited size.
fn read_text(path: &Path) -> Result<String> {
    let size =
        fs::metadata(path).with_context(|| format!("failed to read {}", path.display()))?.len();
    ensure!(size <= MAX_SOURCE, "{} is larger than {MAX_SOURCE} bytes", path.display());
    fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}

/// Returns the files with an ending in a folder and one level below it, sorted.
fn list_files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
        Ok(entries.map(|entry| entry.map(|it| it.path())).collect::<Result<_, _>>()?)
    };
    let mut files = entries(folder)?;
    let folders: Vec<_> = files.iter().filter(|path| path.is_dir()).cloned().collect();
    for inner in folders {
        files.extend(entries(&inner)?);
    }
    files.retain(|path| path.extension().is_some_and(|it| it == ending));
    files.sort();
    Ok(files)
}
