//! Deploys a build on an in-memory chain and returns the resulting [`FuzzTarget`].
//!
//! Libraries are deployed first, then the contracts that the configuration names, then the contract under test, whose
//! `setUp()` is run. Every contract that is on the chain afterwards and is part of the build belongs to the target.
//! `deployer` deploys the contracts; `discover` selects the functions to call and the tests.
//!
//! Start at [`deploy_target`].

mod choose;
mod created_contracts;
mod deployer;
mod discover;
mod discover_foundry;
mod fixtures;
mod foundry;
mod invariant_targets;
mod target_getters;
mod test_contracts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use alloy_dyn_abi::DynSolType;
use alloy_primitives::Address;
use solidity::{SolidityBuild, UncheckedArithmetic};

pub use self::choose::{ChooseError, choose_contract, find_contract};
pub use self::deployer::encode_constructor_arguments;
use self::deployer::{ChainDeployer, DeploymentResult};
use self::discover_foundry::FoundryChain;
use self::foundry::{CREATE2_DEPLOYER, FoundryCampaign};
pub use self::foundry::{FoundryFunctionKind, uses_foundry_rules};
pub use self::test_contracts::{TestContractFilter, list_test_contracts};
use crate::abi::UnknownAbiType;
use crate::chain::{
    CHEATCODE_ERROR_SELECTOR, CallLimits, ChainSetup, ChainState, CodePart, CompiledCode,
    CompiledCodeIndex, CoverageHits, EvmMachine, NotRunReason, RemoteError, TransactionOutcome,
};
use crate::config::foundry::FoundryConfigError;
use crate::config::{CampaignSettings, TestMode};
use crate::target::{DeployedContract, FoundryRules, FuzzTarget};

/// Timestamp and number of the first block, as in Echidna.
const FIRST_TIMESTAMP: u64 = 1_524_785_992;
const FIRST_BLOCK: u64 = 4_370_000;

/// Chain id of Ethereum.
const CHAIN_ID: u64 = 1;

/// Limits of each deployment call. They are generous: deployment runs once, and runs the user's own code.
const LIMITS: CallLimits = CallLimits { gas: u64::MAX / 2, time: Duration::from_secs(60) };

/// The contract under test, and the settings that control its deployment.
struct DeployPlan<'a> {
    /// Index of the contract under test in the build.
    contract: usize,
    settings: &'a CampaignSettings,
    /// The contract is tested by Foundry's rules.
    is_foundry: bool,
}

/// Reason that a build cannot be fuzzed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error("`{0}` cannot be deployed: it is abstract or an interface")]
    Abstract(String),
    #[error("unknown contract `{0}`: not part of the build")]
    UnknownContract(String),
    #[error(
        "the constructor of `{contract}` takes {}, not {given}; set them with constructorArgs",
        arguments_in_words(*.expected)
    )]
    ArgumentCount { contract: String, expected: usize, given: usize },
    #[error("the constructor of `{contract}`: invalid {ty} for argument `{argument}`: {reason}")]
    InvalidArgument { contract: String, argument: String, ty: String, reason: String },
    #[error("the constructor of `{contract}` failed: {reason}")]
    ConstructorFailed { contract: String, reason: String },
    #[error("the state of the fork is unavailable")]
    ForkUnavailable(#[source] RemoteError),
    #[error("{address} has code on the fork, so `{contract}` cannot be deployed there")]
    AddressInUse { contract: String, address: Address },
    #[error("`{contract}` has {size} bytes of code; the limit is {limit}")]
    TooLarge { contract: String, size: u64, limit: u64 },
    #[error("`{contract}` needs a library that is not part of the build: {library}")]
    Unlinked { contract: String, library: String },
    #[error("setUp() of `{contract}` failed: {reason}")]
    SetUpFailed { contract: String, reason: String },
    #[error(
        "`{contract}`: the ABI lists {count} functions that are missing from the bytecode, such as `{first}`; the ABI and the bytecode come from different builds"
    )]
    AbiMismatch { contract: String, count: usize, first: String },
    #[error("`{contract}`: `{function}` cannot be a test: {reason}")]
    InvalidTest { contract: String, function: String, reason: TestSignatureError },
    #[error("`{contract}` has no tests: add {expected}, or choose another test mode")]
    NoTests { contract: String, expected: String },
    #[error("`{contract}` has no callable functions")]
    NoFunctions { contract: String },
    #[error("`{contract}`: {source}")]
    UnknownType { contract: String, source: UnknownAbiType },
    #[error("the targets of `{contract}`: {source}")]
    InvalidTargets { contract: String, source: TargetSelectionError },
    #[error("a forge-config comment of `{contract}`: {source}")]
    InvalidComment { contract: String, source: FoundryConfigError },
}

/// Reason for which the targets that a test contract names cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetSelectionError {
    #[error("{getter}() returned malformed data, or more than 4096 values")]
    Malformed { getter: String },
    #[error("{getter}() returned {size} bytes, which is too large")]
    TooLarge { getter: String, size: usize },
    #[error("unknown artifact `{name}`; expected `Name` or `path:Name`")]
    UnknownArtifact { name: String },
    #[error("{getter}() names {address}, where setUp() deployed no contract of the project")]
    UnknownAddress { getter: &'static str, address: Address },
    #[error("`{contract}` has no function with the selector {selector}")]
    UnknownSelector { contract: String, selector: String },
    #[error("no contracts to call; deploy one in setUp(), or name it with targetContract")]
    NoContracts,
    #[error("no functions to call; the targets have only view functions")]
    NoFunctions,
}

/// Reason that a function with the name of a test cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestSignatureError {
    #[error("it must take no arguments")]
    TakesArguments,
    #[error("it must return (bool)")]
    ReturnsNoBool,
    #[error("it must return (int256)")]
    ReturnsNoInteger,
}

fn arguments_in_words(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

/// Deploys everything and returns the target with its functions and tests.
///
/// `contract` is the index of the contract under test in the build.
pub fn deploy_target(
    build: Arc<SolidityBuild>,
    contract: usize,
    settings: &CampaignSettings,
) -> Result<FuzzTarget, DeployError> {
    let is_foundry = uses_foundry_rules(&build.contracts[contract], settings);
    let mut foundry =
        is_foundry.then(|| FoundryCampaign::new(&build, contract, settings)).transpose()?;
    let settings = foundry.as_ref().map_or(settings, |foundry| &foundry.settings).clone();
    let plan = &DeployPlan { contract, settings: &settings, is_foundry };
    let libraries = deployer::assign_library_addresses(&build, plan);
    let codes = Arc::new(collect_codes(&build, &libraries, plan));
    let gas = if is_foundry { settings.foundry.gas_limit } else { u64::MAX };
    let state = ChainState::new(&plan.chain_setup())
        .with_access(settings.access.clone())
        .with_block_gas_limit(gas)
        .with_forks(&settings.forks, plan.persistent_accounts());
    let mut machine = EvmMachine::new(state, codes.clone(), Vec::new(), LIMITS);
    let deployed = ChainDeployer::new(&build, &libraries, &mut machine, plan).deploy_all();
    machine.save_forks();
    check_fork(&machine)?;
    let DeploymentResult { contracts: placed, set_up_failure, warnings } = deployed?;
    let contracts = find_deployed_contracts(&mut machine, &build, &codes, &placed, plan);
    let mut target = FuzzTarget {
        build,
        codes,
        state: machine.copy_state(),
        hits: Arc::new(CoverageHits::from_probe(machine.probe())),
        contracts,
        functions: Vec::new(),
        callable: Vec::new(),
        tests: Vec::new(),
        units: HashSet::new(),
        reverts_fail: HashSet::new(),
        foundry: FoundryRules::default(),
        fixtures: HashMap::new(),
        seeds: Vec::new(),
        fallbacks: Vec::new(),
        settings: Arc::new(settings.clone()),
        warnings,
    };
    match &mut foundry {
        Some(foundry) => {
            let libraries = libraries.values().copied().collect();
            let is_set_up = set_up_failure.is_none();
            let chain = FoundryChain { machine: &mut machine, libraries, is_set_up };
            let added =
                discover_foundry::add_functions_and_tests(&mut target, plan, foundry, chain);
            check_fork(&machine)?;
            added?;
        }
        None => discover::add_functions_and_tests(&mut target, plan)?,
    }
    match set_up_failure {
        Some(reason) => mark_as_not_run(target, contract, reason),
        None => Ok(target),
    }
}

/// Errors if the state of the fork could not be fetched, so that nothing is known about the deployment.
fn check_fork(machine: &EvmMachine) -> Result<(), DeployError> {
    machine.fork_failure().map_or(Ok(()), |error| Err(DeployError::ForkUnavailable(error.clone())))
}

/// Marks all tests as not run because `setUp()` failed. Without tests, that is an error.
fn mark_as_not_run(
    mut target: FuzzTarget,
    contract: usize,
    reason: String,
) -> Result<FuzzTarget, DeployError> {
    if target.tests.is_empty() {
        let contract = target.build.contracts[contract].name.clone();
        return Err(DeployError::SetUpFailed { contract, reason });
    }
    for test in &mut target.tests {
        test.not_run = Some(NotRunReason::SetUpFailed(reason.clone()));
    }
    Ok(target)
}

impl DeployPlan<'_> {
    /// Returns the accounts that are the same on all forks: those of forge, and all senders.
    fn persistent_accounts(&self) -> BTreeSet<Address> {
        let Self { settings, .. } = self;
        let own = [
            settings.contract_address,
            settings.deployer,
            settings.property_sender,
            CREATE2_DEPLOYER,
        ];
        own.into_iter().chain(settings.senders.iter().copied()).collect()
    }

    fn chain_setup(&self) -> ChainSetup {
        let Self { settings, is_foundry, .. } = self;
        let foundry = &settings.foundry;
        let (timestamp, block, chain_id) = match is_foundry {
            true => (foundry.block_timestamp, foundry.block_number, foundry.chain_id),
            false => (FIRST_TIMESTAMP, FIRST_BLOCK, CHAIN_ID),
        };
        ChainSetup {
            timestamp,
            block,
            chain_id,
            code_size: usize::try_from(settings.code_size).unwrap_or(usize::MAX),
            cheats: true,
            ffi: settings.allow_ffi,
            ffi_path: settings.ffi_path.clone(),
        }
    }
}

/// Returns all code of the build. The contract under test comes first, so that it wins over a contract with equal code.
fn collect_codes(
    build: &SolidityBuild,
    libraries: &BTreeMap<String, Address>,
    plan: &DeployPlan<'_>,
) -> CompiledCodeIndex {
    let unchecked = match plan.settings.test_mode {
        TestMode::Overflow => UncheckedArithmetic::from_build(build),
        _ => UncheckedArithmetic::default(),
    };
    let main = plan.contract;
    let mut known = Vec::new();
    let mut selectors = HashSet::new();
    let others = (0..build.contracts.len()).filter(|index| *index != main);
    for index in [main].into_iter().chain(others) {
        let contract = &build.contracts[index];
        selectors.extend(contract.abi.functions().map(|function| function.selector().0));
        // A contract whose library is missing cannot be deployed. That is an error only if it is needed.
        let (Ok(creation), Ok(runtime)) = (
            contract.creation.link_libraries(libraries),
            contract.runtime.link_libraries(libraries),
        ) else {
            continue;
        };
        let creation = (CodePart::Creation, creation, Vec::new(), &contract.creation);
        let mut holes = contract.immutables.clone();
        holes.sort_by_key(|hole| hole.start);
        let runtime = (CodePart::Runtime, runtime, holes, &contract.runtime);
        known.extend([creation, runtime].map(|(part, bytes, holes, code)| {
            let unchecked = unchecked.find_instructions(code);
            CompiledCode { contract: index, part, bytes, holes, unchecked }
        }));
    }
    CompiledCodeIndex::new(known, selectors)
}

/// Selector of `Error(string)`.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];

/// Returns the reason that a call failed, from its revert data if there is any.
pub fn describe_failure(outcome: &TransactionOutcome) -> String {
    if let Some(reason) = outcome.not_run_reason() {
        return reason.to_string();
    }
    let output = &outcome.output;
    if let Some(text) = DynSolType::String
        .abi_decode_params(output.get(4..).unwrap_or_default())
        .ok()
        .filter(|_| output.starts_with(&ERROR) || output.starts_with(&CHEATCODE_ERROR_SELECTOR))
        .and_then(|value| value.as_str().map(str::to_owned))
    {
        return format!("reverted: {text}");
    }
    if output.len() == 36 && output.starts_with(&[0x4e, 0x48, 0x7b, 0x71]) {
        return format!("panicked with code 0x{:02x}", output[35]);
    }
    if outcome.is_revert() {
        return if output.is_empty() {
            "reverted without a reason".into()
        } else {
            format!("reverted with {output}")
        };
    }
    format!("{:?}", outcome.result)
}

/// Returns the contracts on the chain that are part of the build, the one under test first.
fn find_deployed_contracts(
    machine: &mut EvmMachine,
    build: &SolidityBuild,
    codes: &CompiledCodeIndex,
    placed: &BTreeMap<Address, usize>,
    plan: &DeployPlan<'_>,
) -> Vec<DeployedContract> {
    let mut found = Vec::new();
    for address in machine.contract_addresses() {
        let code = machine.code(address);
        let Some(index) = codes.find_code(CodePart::Runtime, &code) else { continue };
        // Two contracts may have equal code. For an address that we deployed to, the index is known.
        let contract = placed.get(&address).copied().unwrap_or(codes.entries()[index].contract);
        found.push(DeployedContract {
            name: build.contracts[contract].name.clone(),
            contract,
            address,
        });
    }
    found.sort_by_key(|deployed| {
        (deployed.address != plan.settings.contract_address, deployed.address)
    });
    found
}
