//! Loads the target of a campaign: compiles or reads the build, chooses the smart contract and deploys it.

use std::path::Path;
use std::sync::Arc;

use ::fuzz::deploy::{
    ChooseError, DeployError, TestContractFilter, choose_contract, deploy_target, find_contract,
    list_test_contracts,
};
use ::fuzz::target::FuzzTarget;
use solidity::{CompileErrors, LoadError, LoadedBuild, SolidityBuild};

use super::demo;
use super::plan::CampaignPlan;
use crate::config::suggest_name;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Maximum names listed by an error.
const MAX_NAMES: usize = 20;

/// The smart contract under test, deployed on its chain.
pub struct DeployedTarget {
    pub target: Arc<FuzzTarget>,
    /// Index of the contract in the build.
    pub contract: usize,
    pub name: String,
    /// True for the built-in demo, whose source is not on disk.
    pub is_bundled: bool,
}

/// The compiled sources of a target.
pub struct LoadedTarget {
    pub build: Arc<SolidityBuild>,
    /// Remarks for the user on how it was compiled.
    pub notes: Vec<String>,
}

impl LoadedTarget {
    /// Compiles or reads the build.
    pub fn load(plan: &CampaignPlan) -> Result<Self> {
        let LoadedBuild { build, notes } = match &plan.path {
            Some(path) => load_or_install(path, plan)?,
            None => LoadedBuild { build: demo::load_demo_build()?, notes: Vec::new() },
        };
        Ok(Self { build: Arc::new(build), notes })
    }

    /// Returns the indices of the test contracts that a filter selects.
    pub fn list_test_contracts(
        &self,
        plan: &CampaignPlan,
        filter: &TestContractFilter,
    ) -> Vec<usize> {
        list_test_contracts(&self.build, filter, &plan.settings)
    }

    /// Returns the contract that the plan names, or the one that is meant.
    pub fn choose_contract(&self, plan: &CampaignPlan) -> Result<usize> {
        let chosen = match &plan.contract {
            Some(name) => find_contract(&self.build, name),
            None => choose_contract(&self.build, plan.path.as_deref(), &plan.settings),
        };
        chosen.map_err(choose_failure)
    }

    /// Deploys a contract.
    ///
    /// Completes the settings of the plan with what a file of another fuzzer says about the contract.
    pub fn deploy(&self, plan: &mut CampaignPlan, contract: usize) -> Result<DeployedTarget> {
        let Self { build, notes } = self;
        let mut notes = notes.clone();
        let name = build.contracts[contract].name.clone();
        if let Some(medusa) = &plan.medusa {
            let settings = Arc::make_mut(&mut plan.settings);
            let remarks = medusa.adapt_to(build, contract, settings);
            notes.extend(remarks.map_err(|it| deploy_failure(it, plan))?);
        }
        plan.fork.open(Arc::make_mut(&mut plan.settings))?;
        notes.extend(plan.fork.take_warnings());
        let mut target = deploy_target(Arc::clone(build), contract, &plan.settings)
            .map_err(|it| deploy_failure(it, plan))?;
        notes.append(&mut target.warnings);
        target.warnings = notes;
        let is_bundled = plan.path.is_none();
        Ok(DeployedTarget { target: Arc::new(target), contract, name, is_bundled })
    }
}

impl DeployedTarget {
    /// Compiles or reads the build, chooses the contract and deploys it.
    pub fn load(plan: &mut CampaignPlan) -> Result<Self> {
        let loaded = LoadedTarget::load(plan)?;
        let contract = loaded.choose_contract(plan)?;
        loaded.deploy(plan, contract)
    }
}

/// Loads the build. Compilers that are missing are installed if the user allowed it.
fn load_or_install(path: &Path, plan: &CampaignPlan) -> Result<LoadedBuild> {
    let load = || solidity::load_contract_build(path, plan.contract.as_deref(), &plan.toolchain);
    let mut installed = Vec::new();
    loop {
        let error = match load() {
            Ok(mut loaded) => {
                let versions = installed.iter().map(|it| format!("installed solc {it} with npm"));
                loaded.notes = versions.chain(loaded.notes).collect();
                return Ok(loaded);
            }
            Err(error) => error,
        };
        let wanted = error.missing_compiler().map(|it| it.install.clone()).unwrap_or_default();
        let missing: Vec<_> = wanted.into_iter().filter(|it| !installed.contains(it)).collect();
        match &plan.installer {
            Some(installer) if !missing.is_empty() => {
                for version in missing {
                    installer.install(&version.to_string())?;
                    installed.push(version);
                }
            }
            _ => return Err(load_failure(error, plan)),
        }
    }
}

fn load_failure(error: LoadError, plan: &CampaignPlan) -> Failure {
    let exit = match &error {
        LoadError::Tool(_) | LoadError::MissingCompiler(_) | LoadError::Unreadable { .. } => {
            FailureKind::Operation
        }
        _ => FailureKind::Usage,
    };
    let hint = match &error {
        LoadError::NotFound(_) => Some(
            "pass a .sol file, a project folder or a compiler's JSON, or run `vouch fuzz --demo`"
                .to_owned(),
        ),
        LoadError::CompileFailed { errors, .. } if names_other_version(errors) => {
            let is_named = plan.toolchain.solc.is_some() || plan.toolchain.env_solc.is_some();
            Some(match is_named {
                true => {
                    "omit `--solc` and unset `SOLC`, so that pragmas choose the compiler".to_owned()
                }
                false => "correct `solc` in foundry.toml, which overrides the pragmas".to_owned(),
            })
        }
        LoadError::CompileFailed { .. } => Some(
            "correct the source, or change the compiler with `--solc PATH` or `--solc-args ARGS`"
                .to_owned(),
        ),
        LoadError::Tool(error) => error.hint().or_else(|| {
            Some("choose a compiler with `--solc PATH`, or run `vouch solc install`".to_owned())
        }),
        error => error.hint(),
    };
    let hint =
        hint.unwrap_or_else(|| "run `vouch fuzz --help` to see the supported targets".to_owned());
    let root_hint = hint_project_above(&error, plan);
    let failure = Failure::from(error).with_hint(hint).with_kind(exit);
    match root_hint {
        Some(root_hint) => failure.with_hint(root_hint),
        None => failure,
    }
}

/// Returns true if a source refuses the version of the compiler, in the words of solc.
fn names_other_version(errors: &CompileErrors) -> bool {
    errors.messages.iter().any(|text| text.contains("requires different compiler version"))
}

/// Returns a hint if an import was not found and the project may begin above the folder in which sources are searched.
fn hint_project_above(error: &LoadError, plan: &CampaignPlan) -> Option<String> {
    let LoadError::CompileFailed { path, errors } = error else { return None };
    // Texts of solc: `Source "…" not found: File not found`, or `File outside of allowed directories`.
    let is_missing = |text: &String| text.contains("Source \"") && text.contains("not found");
    let limit = plan.toolchain.limit.as_ref().filter(|_| errors.messages.iter().any(is_missing))?;
    let own = path.canonicalize().ok()?.parent()?.to_owned();
    // A project file between the two says where the project begins.
    if solidity::find_marked_folder(&own, Some(limit)).is_some() {
        return None;
    }
    let above =
        solidity::find_marked_folder(&own, None).or_else(|| Some(limit.parent()?.into()))?;
    let (limit, above) = (limit.display(), above.display());
    Some(format!(
        "imports are searched in {limit} only; if the project begins above, pass `--root {above}`"
    ))
}

fn choose_failure(error: ChooseError) -> Failure {
    let hint = match &error {
        ChooseError::Unknown { name, known } => {
            let known: Vec<_> = known.iter().take(MAX_NAMES).map(String::as_str).collect();
            suggest_name(name, &known, "contracts")
        }
        ChooseError::Ambiguous { choices, .. } => {
            format!("add the file to the name: {}", join_names(choices))
        }
        ChooseError::NotDeployable => {
            "write a contract that inherits; interfaces and abstract contracts cannot be fuzzed"
                .to_owned()
        }
        ChooseError::Unclear { choices } => {
            format!("choose one with `--contract`: {}", join_names(choices))
        }
    };
    Failure::from(error).with_kind(FailureKind::Usage).with_hint(hint)
}

fn join_names(names: &[String]) -> String {
    let mut shown: Vec<_> = names.iter().take(MAX_NAMES).cloned().collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("and {} more", names.len() - MAX_NAMES));
    }
    shown.join(", ")
}

fn deploy_failure(error: DeployError, plan: &CampaignPlan) -> Failure {
    let hint = match &error {
        DeployError::Abstract(_) => "choose another contract with `--contract NAME`",
        DeployError::UnknownContract(_) => "correct the name in `deployContracts`",
        DeployError::ArgumentCount { .. } | DeployError::InvalidArgument { .. } => {
            "set `constructorArgs` in echidna.yaml, such as [\"1 ether\", \"0x10000\"]"
        }
        DeployError::ConstructorFailed { .. } => {
            "set `constructorArgs`, `balanceContract` or `deployContracts` in echidna.yaml"
        }
        DeployError::ForkUnavailable(_) => {
            "run again once the node answers; what was fetched is kept in the cache"
        }
        DeployError::AddressInUse { .. } => "choose another address with `--contract-addr`",
        DeployError::TooLarge { .. } => {
            "raise the limit with `--code-size`, or compile with `--solc-args --optimize`"
        }
        DeployError::Unlinked { .. } => "compile the library together with the contract",
        DeployError::SetUpFailed { .. } => {
            "check what setUp() requires; the deployer calls it once, without value"
        }
        DeployError::AbiMismatch { .. } => "compile again, so that the ABI matches the code",
        DeployError::InvalidTest { .. } => {
            "correct or rename the function, or choose another prefix with `--prefix TEXT`"
        }
        DeployError::NoTests { .. } => {
            "add such a function, or choose another mode: `--test-mode assertion`"
        }
        DeployError::NoFunctions { .. } => {
            "check `filterFunctions` and `excludeViewPure` in echidna.yaml, or pass `--all-contracts`"
        }
        DeployError::InvalidTargets { .. } => {
            "forge calls what targetContracts(), targetSelectors() and the like return after setUp()"
        }
        DeployError::InvalidComment { .. } => "correct the comment above the test or its contract",
        DeployError::UnknownType { .. } => {
            "remove functions with such an argument from the ABI; they cannot be called"
        }
    };
    let failure = Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage);
    match plan.contract.is_none() && plan.path.is_some() {
        true => failure.with_hint("to fuzz another contract, pass `--contract NAME`"),
        false => failure,
    }
}
