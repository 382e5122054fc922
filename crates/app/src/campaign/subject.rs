//! What is fuzzed: compiled or read, the contract chosen, deployed.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ::fuzz::config::{Settings, TestMode};
use ::fuzz::deploy::{DeployError, deploy};
use ::fuzz::target::Target;
use solidity::{Build, Contract, LoadError};

use super::demo;
use super::plan::Plan;
use crate::config::suggest;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Names that an error lists.
const MAX_NAMES: usize = 20;

/// The contract under test, on its chain.
pub struct Subject {
    pub target: Arc<Target>,
    /// Its place in the build.
    pub contract: usize,
    pub name: String,
    /// It came with the program: its source is on no disk.
    pub is_bundled: bool,
}

impl Subject {
    /// Compiles or reads the build, chooses the contract and deploys it.
    pub fn load(plan: &Plan) -> Result<Self> {
        let build = match &plan.path {
            Some(path) => solidity::load(path, &plan.toolchain).map_err(not_loaded)?,
            None => demo::build()?,
        };
        let contract = match &plan.contract {
            Some(name) => named(&build, name)?,
            None => obvious(&build, plan.path.as_deref(), &plan.settings)?,
        };
        let name = build.contracts[contract].name.clone();
        let target = deploy(Arc::new(build), contract, &plan.settings)
            .map_err(|it| not_deployed(it, plan))?;
        Ok(Self { target: Arc::new(target), contract, name, is_bundled: plan.path.is_none() })
    }
}

fn not_loaded(error: LoadError) -> Failure {
    let exit = match &error {
        LoadError::Tool(_) | LoadError::Unreadable { .. } => FailureKind::Operation,
        _ => FailureKind::Usage,
    };
    let hint = match &error {
        LoadError::Missing(_) => Some(
            "give the path of a .sol file, a project or a compiler's JSON; `vouch fuzz --demo` needs none"
                .to_owned(),
        ),
        LoadError::Compile { .. } => {
            Some("correct the source, or compile it otherwise: --solc PATH, --solc-args ARGS".to_owned())
        }
        LoadError::Tool(error) => error.hint().or_else(|| {
            Some("name another compiler with --solc PATH, or install one: vouch solc install".to_owned())
        }),
        error => error.hint(),
    };
    let hint = hint.unwrap_or_else(|| "`vouch fuzz --help` says what can be fuzzed".to_owned());
    Failure::from(error).with_hint(hint).with_kind(exit)
}

/// The contract of this name, which may say its file as well.
fn named(build: &Build, name: &str) -> Result<usize> {
    let is_meant = |contract: &Contract| contract.name == name || contract.qualified_name() == name;
    let found: Vec<_> = places(build, is_meant).collect();
    match found[..] {
        [only] => Ok(only),
        [] => {
            let names: Vec<_> = build.contracts.iter().map(|it| it.name.as_str()).collect();
            let names = &names[..names.len().min(MAX_NAMES)];
            Err(Failure::usage(format!("there is no contract `{name}`")).with_hint(suggest(
                name,
                names,
                "contracts",
            )))
        }
        _ => Err(Failure::usage(format!("there are {} contracts `{name}`", found.len()))
            .with_hint(format!("say the file as well: {}", choices(build, &found)))),
    }
}

/// The contract that a person means who names none: the only one with tests, or the one that is called as its file, or the
/// only one that there is.
fn obvious(build: &Build, path: Option<&Path>, settings: &Settings) -> Result<usize> {
    let file = path.filter(|path| path.extension() == Some(OsStr::new("sol")));
    // What a file imports is not what it is about.
    let is_own = |contract: &Contract| {
        let name = |path: &Path| path.file_name().map(OsStr::to_owned);
        contract.is_deployable()
            && file.is_none_or(|file| name(file) == name(Path::new(&contract.source)))
    };
    let all: Vec<_> = places(build, is_own).collect();
    let tested: Vec<_> =
        all.iter().copied().filter(|place| has_tests(&build.contracts[*place], settings)).collect();
    let stem = file.and_then(Path::file_stem);
    let same = all.iter().find(|place| stem == Some(OsStr::new(&build.contracts[**place].name)));
    match (&tested[..], same, &all[..]) {
        ([only], _, _) | ([], _, [only]) => Ok(*only),
        (_, Some(same), _) => Ok(*same),
        (_, _, []) => Err(Failure::usage("there is no contract that could be deployed").with_hint(
            "interfaces and abstract contracts cannot be fuzzed: write a contract that inherits",
        )),
        (tested, _, all) => {
            let list = if tested.is_empty() { all } else { tested };
            Err(Failure::usage(format!("there are {} contracts to choose from", list.len()))
                .with_hint(format!("choose one with --contract: {}", choices(build, list))))
        }
    }
}

fn places<'a>(
    build: &'a Build,
    is_meant: impl Fn(&Contract) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    (0..build.contracts.len()).filter(move |place| is_meant(&build.contracts[*place]))
}

/// True if a name says so. Assertions can stand anywhere, so no name tells of them.
fn has_tests(contract: &Contract, settings: &Settings) -> bool {
    let prefixes: &[&str] = match settings.test_mode {
        TestMode::Property => &[&settings.prefix, "invariant"],
        TestMode::Foundry => &[&settings.prefix, "invariant", "test"],
        TestMode::Optimization => &[&settings.prefix],
        TestMode::Assertion | TestMode::Overflow | TestMode::Exploration => return false,
    };
    contract.abi.functions().any(|it| prefixes.iter().any(|prefix| it.name.starts_with(prefix)))
}

fn choices(build: &Build, places: &[usize]) -> String {
    let name = |place: &usize| build.contracts[*place].qualified_name();
    let mut names: Vec<_> = places.iter().take(MAX_NAMES).map(name).collect();
    if places.len() > MAX_NAMES {
        names.push(format!("and {} more", places.len() - MAX_NAMES));
    }
    names.join(", ")
}

fn not_deployed(error: DeployError, plan: &Plan) -> Failure {
    let hint = match &error {
        DeployError::Abstract(_) => "choose another contract with --contract NAME",
        DeployError::NoSuchContract(_) => "correct its name in `deployContracts`",
        DeployError::Arguments { .. } | DeployError::Argument { .. } => {
            "set `constructorArgs` in echidna.yaml, such as [\"1 ether\", \"0x10000\"]"
        }
        DeployError::Constructor { .. } => {
            "give it what it needs: `constructorArgs`, `balanceContract` or `deployContracts` in echidna.yaml"
        }
        DeployError::TooLarge { .. } => {
            "raise the limit with --code-size, or compile with --solc-args --optimize"
        }
        DeployError::Unlinked { .. } => "compile the library together with the contract",
        DeployError::SetUp { .. } => {
            "see what setUp() needs; it is called once by the deployer, without value"
        }
        DeployError::Mismatch { .. } => "compile again, so that ABI and code belong together",
        DeployError::NoTest { .. } => {
            "correct the function, rename it, or choose another prefix: --prefix TEXT"
        }
        DeployError::NoTests { .. } => {
            "add such a function, or look for something else: --test-mode assertion"
        }
        DeployError::NoFunctions { .. } => {
            "see `filterFunctions` and `excludeViewPure` in echidna.yaml, or use --all-contracts"
        }
        DeployError::Type { .. } => {
            "functions with such an argument cannot be called: leave them out of the ABI"
        }
    };
    let failure = Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage);
    match plan.contract.is_none() && plan.path.is_some() {
        true => failure.with_hint("if another contract was meant: --contract NAME"),
        false => failure,
    }
}
