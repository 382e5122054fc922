//! `cargo xtask echidna DIR`: Echidna's own tests, run by our fuzzer and compared with what they expect.
//!
//! The expectations are read from the Haskell that states them (`haskell`, `spec`), so that a newer checkout needs no
//! change here. Nothing of a checkout is kept in this repository.

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
use fuzz::config::{Settings, TestMode, echidna_yaml};
use solidity::{Build, CompileOptions, LoadError, Toolchain};

use report::{Report, Row, Verdict, one_line};
use run::{Ran, Refusal};
use spec::{Case, Module, Wanted};

/// A module of tests has some kilobytes.
const MAX_SOURCE: u64 = 1 << 20;

/// What the suite sets for cases that do not keep the limits of their configuration.
const SUITE_CALLS: u64 = 10_000;
const SUITE_SHRINKS: u64 = 4_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A checkout of Echidna
    folder: PathBuf,
    /// The compiler: a program, or the folder of the npm package `solc`
    #[arg(long)]
    solc: Option<PathBuf>,
    /// Only files and contracts whose name holds this
    #[arg(long)]
    only: Option<String>,
    /// One JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Calls of one run at most, whatever its configuration says
    #[arg(long, default_value_t = 50_000)]
    calls: u64,
    /// Seconds of one run at most
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of runs whose configuration has none
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut suite = Suite::open(args)?;
    let Module { cases, others } = suite.expectations()?;
    suite.report.others = others;
    let cases: Vec<Case> = cases.into_iter().filter(|case| suite.is_asked_for(case)).collect();
    let mut ran = BTreeSet::new();
    for (number, case) in cases.iter().enumerate() {
        eprintln!("{}/{} {}", number + 1, cases.len(), case.file);
        if suite.judge(case)? {
            ran.insert(case.file.clone());
        }
    }
    let files = suite.files()?;
    suite.report.files = files.len();
    for file in files.iter().filter(|file| !ran.contains(*file)) {
        eprintln!("{file}");
        suite.list(file)?;
    }
    let report = suite.report;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}\n{}", report.table(), report.totals());
    }
    let differ = report.count(Verdict::Differs);
    ensure!(differ == 0, "{differ} outcomes differ from what Echidna's tests expect");
    Ok(())
}

/// A checkout while it is worked through.
struct Suite<'a> {
    args: &'a Args,
    /// The folder that files and configurations are named from.
    solidity: PathBuf,
    toolchain: Toolchain,
    /// By file and by what the compiler is told.
    builds: HashMap<(String, String), Result<Arc<Build>, String>>,
    report: Report,
}

impl<'a> Suite<'a> {
    fn open(args: &'a Args) -> Result<Self> {
        let solidity = args.folder.join("tests").join("solidity");
        ensure!(
            solidity.is_dir(),
            "`{}` is no checkout of Echidna: it has no folder tests/solidity",
            args.folder.display()
        );
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut toolchain = Toolchain {
            solc: args.solc.clone(),
            path: std::env::split_paths(&path).collect(),
            ..Toolchain::default()
        };
        // The suite runs from there, so that is where its paths begin.
        toolchain.options.base_path = Some(solidity.clone());
        let (builds, report) = (HashMap::new(), Report::default());
        Ok(Self { args, solidity, toolchain, builds, report })
    }

    /// What all modules of the suite state.
    fn expectations(&self) -> Result<Module> {
        let folder = self.args.folder.join("src").join("test").join("Tests");
        let mut all = Module::default();
        for path in below(&folder, "hs")? {
            let module = spec::collect(&haskell::read(&text(&path)?));
            all.cases.extend(module.cases);
            all.others.extend(module.others);
        }
        ensure!(
            !all.cases.is_empty(),
            "no test case was found in `{}`; has Echidna changed how it states them?",
            folder.display()
        );
        Ok(all)
    }

    fn is_asked_for(&self, case: &Case) -> bool {
        let only = self.args.only.as_deref().unwrap_or_default();
        case.file.contains(only)
            || case.contract.as_ref().is_some_and(|contract| contract.contains(only))
    }

    /// Every Solidity file of the suite itself; what lies below a library's folder is not tested.
    fn files(&self) -> Result<Vec<String>> {
        let only = self.args.only.as_deref().unwrap_or_default();
        let name = |path: PathBuf| {
            let below = path.strip_prefix(&self.solidity).unwrap_or(&path);
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            (parts.len() == 2).then(|| parts.join("/"))
        };
        let files = below(&self.solidity, "sol")?.into_iter().filter_map(name);
        Ok(files.filter(|file| file.contains(only)).collect())
    }

    /// Runs a case and adds its lines; false if it did not run.
    fn judge(&mut self, case: &Case) -> Result<bool> {
        let settings = match self.settings(case)? {
            Ok(settings) => settings,
            Err(why) => {
                self.add(case, "", |_| (format!("the configuration: {why}"), Verdict::Differs));
                return Ok(false);
            }
        };
        let Some(build) = self.build(case, &settings)? else {
            self.add(case, "", |_| ("does not compile".to_owned(), Verdict::NotRun));
            return Ok(false);
        };
        let version = version(&build);
        if let Some(unmet) = case.versions.iter().find(|it| !it.admits(version)) {
            self.add(case, "", |_| (format!("for solc {unmet}"), Verdict::NotRun));
            return Ok(false);
        }
        let (name, ran) = match run::choose(&build, &case.file, case.contract.as_deref()) {
            Ok(contract) => {
                let name = build.contracts[contract].name.clone();
                (name, run::run(&build, contract, settings)?)
            }
            Err(refusal) => (case.contract.clone().unwrap_or_default(), Ran::Refused(refusal)),
        };
        self.add(case, &name, |wanted| {
            let judged = judge::judge(wanted, &ran);
            let verdict = if judged.is_right { Verdict::Right } else { Verdict::Differs };
            (judged.got, verdict)
        });
        Ok(true)
    }

    /// Adds a line for each expectation of a case.
    fn add(&mut self, case: &Case, contract: &str, say: impl Fn(&Wanted) -> (String, Verdict)) {
        for wanted in &case.wanted {
            let (got, verdict) = match wanted {
                Wanted::NotAnOutcome(_) => (String::new(), Verdict::NotAnOutcome),
                _ => say(wanted),
            };
            self.report.rows.push(Row {
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

    /// Runs every contract of a file that nobody expects anything of.
    fn list(&mut self, file: &str) -> Result<()> {
        let mut case = Case {
            file: file.to_owned(),
            contract: None,
            config: self.own_config(file),
            versions: Vec::new(),
            is_limited: true,
            mode: None,
            wanted: Vec::new(),
        };
        // A configuration that cannot be used is a difference where a case names it; here the file counts.
        let settings = match self.settings(&case)? {
            Ok(settings) => settings,
            Err(_) => {
                case.config = None;
                self.settings(&case)?.unwrap_or_default()
            }
        };
        let Some(build) = self.build(&case, &settings)? else { return Ok(()) };
        for (index, contract) in build.contracts.iter().enumerate() {
            if contract.source != file || !contract.is_deployable() {
                continue;
            }
            let ran = run_in_some_mode(&build, index, &settings)?;
            self.list_outcomes(&case, &contract.name, &ran);
        }
        Ok(())
    }

    fn list_outcomes(&mut self, case: &Case, contract: &str, ran: &Ran) {
        let lines = match ran {
            Ran::Refused(Refusal { why, .. }) => vec![("*".to_owned(), format!("refused: {why}"))],
            Ran::Ended(outcomes) => {
                let line = |it: &run::Outcome| (it.test.clone(), it.found.to_string());
                outcomes.iter().map(line).collect()
            }
        };
        self.report.rows.extend(lines.into_iter().map(|(test, got)| Row {
            file: case.file.clone(),
            contract: contract.to_owned(),
            config: case.config.clone(),
            test,
            expected: "-".to_owned(),
            got,
            verdict: Verdict::Listed,
        }));
    }

    /// The configuration of the same name as the file, where there is one.
    fn own_config(&self, file: &str) -> Option<String> {
        let config = format!("{}.yaml", file.strip_suffix(".sol")?);
        self.solidity.join(&config).is_file().then_some(config)
    }

    /// The settings of a case within the bounds of this task, or why its configuration cannot be used.
    fn settings(&mut self, case: &Case) -> Result<Result<Settings, String>> {
        let mut settings = match &case.config {
            Some(config) => {
                let text = text(&self.solidity.join(config))?;
                let (mut settings, warnings) = match echidna_yaml::read(&text) {
                    Ok(read) => read,
                    Err(error) => return Ok(Err(error.to_string())),
                };
                // Whoever runs this has looked at the checkout.
                settings.allow_ffi = warnings.iter().any(|warning| warning.key == "allowFFI");
                for warning in warnings {
                    let files: &mut BTreeSet<_> = self.report.keys.entry(warning.key).or_default();
                    files.insert(config.clone());
                }
                settings
            }
            None => Settings::default(),
        };
        if case.is_limited {
            settings.test_limit = SUITE_CALLS;
            settings.shrink_limit = SUITE_SHRINKS;
        }
        if case.wanted == [Wanted::AllHold] {
            settings.test_limit = 1;
        }
        if let Some(mode) = &case.mode {
            settings.test_mode = mode.parse().context("the mode of a test case")?;
        }
        settings.test_limit = settings.test_limit.min(self.args.calls);
        let limit = Duration::from_secs(self.args.seconds);
        settings.timeout = Some(settings.timeout.map_or(limit, |timeout| timeout.min(limit)));
        settings.seed.get_or_insert(self.args.seed);
        Ok(Ok(settings))
    }

    /// What the compiler makes of a file; None if it refuses it, which the report says once.
    fn build(&mut self, case: &Case, settings: &Settings) -> Result<Option<Arc<Build>>> {
        let mut options = self.toolchain.options.clone();
        options.add_args(settings.solc_args.split_whitespace())?;
        if let Some(config) = &case.config {
            options.remappings.extend(remappings(&text(&self.solidity.join(config))?));
        }
        let key = (case.file.clone(), format!("{options:?}"));
        if !self.builds.contains_key(&key) {
            let built = self.compile(&case.file, options)?;
            match &built {
                Ok(build) => {
                    self.report.compiler = build.compiler.clone().unwrap_or_default();
                }
                Err(why) => {
                    self.report.not_compiled.insert(case.file.clone(), one_line(why));
                }
            }
            self.builds.insert(key.clone(), built);
        }
        Ok(self.builds.get(&key).and_then(|built| built.as_ref().ok()).cloned())
    }

    fn compile(&self, file: &str, options: CompileOptions) -> Result<Result<Arc<Build>, String>> {
        let toolchain = Toolchain { options, ..self.toolchain.clone() };
        match solidity::load(&self.solidity.join(file), &toolchain) {
            Ok(build) => Ok(Ok(Arc::new(build))),
            Err(LoadError::Compile { errors, .. }) => {
                Ok(Err(errors.messages.first().cloned().unwrap_or_default()))
            }
            Err(LoadError::NoContract(_)) => Ok(Err("there is no contract in it".to_owned())),
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                Err(anyhow::Error::new(error)).context(hint)
            }
        }
    }
}

/// What follows `--solc-remaps` in `cryticArgs`, which nothing else here reads.
fn remappings(config: &str) -> Vec<String> {
    let mut words = config.split('"').skip_while(|word| *word != "--solc-remaps").skip(2);
    let first = words.next().unwrap_or_default();
    first.split_whitespace().map(str::to_owned).collect()
}

/// Fuzzes a contract as its settings say, or for assertions where that finds no test.
fn run_in_some_mode(build: &Arc<Build>, contract: usize, settings: &Settings) -> Result<Ran> {
    let ran = run::run(build, contract, settings.clone())?;
    match &ran {
        Ran::Refused(Refusal { exception: Some("NoTests"), .. }) => {
            let mut settings = settings.clone();
            settings.test_mode = TestMode::Assertion;
            run::run(build, contract, settings)
        }
        _ => Ok(ran),
    }
}

/// The three numbers of `0.8.37+commit…`.
fn version(build: &Build) -> [u32; 3] {
    let version = build.compiler.as_deref().unwrap_or_default();
    let numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok());
    let mut version = [0; 3];
    version.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    version
}

/// A text of the checkout that is no larger than such texts are.
fn text(path: &Path) -> Result<String> {
    let size = fs::metadata(path).with_context(|| format!("reading {}", path.display()))?.len();
    ensure!(size <= MAX_SOURCE, "{} is larger than {MAX_SOURCE} bytes", path.display());
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Files of an ending in a folder and one level below it, in order.
fn below(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
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
