//! The fuzzing target: deployed smart contracts, the functions to call, and the tests that must hold.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use alloy_json_abi::{Event, Function, JsonAbi, Param, StateMutability};
use alloy_primitives::{Address, B256, keccak256};
use solidity::SolidityBuild;

use crate::abi::{AbiType, AbiValue, UnknownAbiType};
use crate::call::SequenceCall;
use crate::chain::{ChainState, CompiledCodeIndex, CoverageHits, NotRunReason};
use crate::config::CampaignSettings;

/// The deployed system under test, shared by all workers.
#[derive(Clone, Debug)]
pub struct FuzzTarget {
    pub build: Arc<SolidityBuild>,
    pub codes: Arc<CompiledCodeIndex>,
    /// The chain state that each sequence starts from.
    pub state: ChainState,
    /// Code that ran during deployment.
    pub hits: Arc<CoverageHits>,
    pub contracts: Vec<DeployedContract>,
    pub functions: Vec<TargetFunction>,
    /// Functions that the fuzzer calls. The others are tests or are excluded by the filter.
    pub callable: Vec<FunctionId>,
    pub tests: Vec<TargetTest>,
    /// Unit tests: functions that are called on the initial state.
    pub units: HashSet<FunctionId>,
    /// Indices of invariants that fail if a call reverts.
    pub reverts_fail: HashSet<usize>,
    /// What Foundry's rules say about the campaign, if the contract under test is tested by them.
    pub foundry: FoundryRules,
    /// Values that the project wants parameters to have, by function and position.
    pub fixtures: HashMap<(FunctionId, usize), Vec<AbiValue>>,
    /// Calls of unit tests that are made before others are generated.
    pub seeds: Vec<SequenceCall>,
    /// Contracts with `fallback` or `receive`, which accept arbitrary calldata or plain transfers.
    pub fallbacks: Vec<FallbackContract>,
    /// Settings for campaigns on this target. Foundry's rules differ from the settings that were given.
    pub settings: Arc<CampaignSettings>,
    /// Warnings about the deployment, for the user.
    pub warnings: Vec<String>,
}

/// What Foundry's rules say about a campaign.
#[derive(Clone, Debug, Default)]
pub struct FoundryRules {
    /// The rules apply.
    pub is_active: bool,
    /// Length of the longest sequence that counts for a test, by its index, where it is shorter than that of the campaign.
    pub depths: BTreeMap<usize, usize>,
    /// Number of calls of each unit test, without table tests.
    pub unit_runs: BTreeMap<FunctionId, u64>,
    /// Functions of contracts that a sequence may create, by the index of the contract in the build. They are called at the
    /// addresses that the sequence creates.
    pub created: BTreeMap<usize, Vec<FunctionId>>,
}

/// A smart contract on the chain.
#[derive(Clone, Debug)]
pub struct DeployedContract {
    pub name: String,
    /// Index of the contract in the build.
    pub contract: usize,
    pub address: Address,
}

/// Index of a function in [`FuzzTarget::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A function of a deployed smart contract.
#[derive(Clone, Debug)]
pub struct TargetFunction {
    /// Index of its contract in [`FuzzTarget::contracts`].
    pub contract: usize,
    pub address: Address,
    pub name: String,
    /// Canonical signature, such as `transfer(address,uint256)`.
    pub signature: String,
    pub selector: [u8; 4],
    pub inputs: Vec<AbiType>,
    pub outputs: Vec<AbiType>,
    pub is_payable: bool,
    /// Declared `view` or `pure`.
    pub is_view: bool,
}

/// A deployed smart contract with a `fallback` or `receive` function.
#[derive(Clone, Debug)]
pub struct FallbackContract {
    pub address: Address,
    /// Accepts calldata, not only plain transfers.
    pub takes_data: bool,
    pub is_payable: bool,
}

/// A test that must hold during the campaign.
#[derive(Clone, Debug)]
pub struct TargetTest {
    /// Display name, such as `echidna_balance` or `transfer(address,uint256)`.
    pub name: String,
    /// Name of the contract that declares the test.
    pub contract: String,
    pub kind: TestKind,
    /// Reason that the test cannot be run, if that is known before the campaign starts.
    pub not_run: Option<NotRunReason>,
}

/// The condition under which a test fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// A call without arguments returns false or reverts.
    Property { function: FunctionId },
    /// A call without arguments does not revert.
    MustRevert { function: FunctionId },
    /// A call without arguments reverts, as in a Foundry invariant.
    Invariant { function: FunctionId },
    /// `afterInvariant()` reverts after a sequence of full length.
    AfterInvariant { function: FunctionId },
    /// Any call that is not a unit test violates an assertion, as in the handlers of Foundry invariants.
    HandlerAssertion,
    /// A call of the function violates an assertion.
    Assertion { function: FunctionId },
    /// A Foundry test function reverts when called on the initial state.
    Unit { function: FunctionId },
    /// A contract emits an assertion-failure event outside any function that has an assertion test.
    AssertionEvent,
    /// A call without arguments returns a number to maximize; the test itself never fails.
    Maximum { function: FunctionId },
    /// Arithmetic overflows during a call of the function.
    Overflow { function: FunctionId },
    /// The contract destroys itself.
    Destruction { address: Address },
}

impl TestKind {
    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, TestKind::Unit { .. })
    }

    /// Returns true if the test is checked by a call of its own, made between the generated calls.
    ///
    /// The other tests observe the generated calls.
    pub(crate) fn is_checked_by_call(&self) -> bool {
        match self {
            TestKind::Property { .. }
            | TestKind::MustRevert { .. }
            | TestKind::Invariant { .. }
            | TestKind::AfterInvariant { .. }
            | TestKind::Maximum { .. } => true,
            TestKind::Assertion { .. }
            | TestKind::HandlerAssertion
            | TestKind::Unit { .. }
            | TestKind::AssertionEvent
            | TestKind::Destruction { .. }
            | TestKind::Overflow { .. } => false,
        }
    }
}

impl FuzzTarget {
    /// Returns true if the contract under test is tested by Foundry's rules.
    pub(crate) fn is_foundry(&self) -> bool {
        self.foundry.is_active
    }

    /// Returns true for a unit test without arguments, which ends in the same way whenever it is called.
    pub(crate) fn is_single_unit(&self, function: FunctionId) -> bool {
        self.foundry.unit_runs.contains_key(&function) && self.function(function).inputs.is_empty()
    }

    /// Returns true for a test whose calls are given, one for each row of its fixtures.
    pub(crate) fn is_table_test(&self, function: FunctionId) -> bool {
        self.seeds.iter().any(|call| call.function() == Some(function))
    }

    /// Returns true if the function is a unit test, which is called on the initial state.
    pub(crate) fn is_unit_test(&self, function: FunctionId) -> bool {
        self.units.contains(&function)
    }

    pub fn function(&self, id: FunctionId) -> &TargetFunction {
        &self.functions[id.0 as usize]
    }

    /// Returns the function with this signature, at this address if one is given.
    pub fn find_function(&self, signature: &str, address: Option<Address>) -> Option<FunctionId> {
        let matches = |function: &TargetFunction| {
            function.signature == signature && address.is_none_or(|at| function.address == at)
        };
        let index = self.functions.iter().position(matches)?;
        Some(FunctionId(index as u32))
    }
}

impl TargetFunction {
    /// Returns the function with the index of its contract, at the address.
    pub(crate) fn from_function(
        contract: usize,
        address: Address,
        function: &Function,
    ) -> Result<Self, UnknownAbiType> {
        let types = |params: &[Param]| -> Result<Vec<AbiType>, UnknownAbiType> {
            params.iter().map(AbiType::from_param).collect()
        };
        let mutability = function.state_mutability;
        Ok(Self {
            contract,
            address,
            name: function.name.clone(),
            signature: function.signature(),
            selector: function.selector().0,
            inputs: types(&function.inputs)?,
            outputs: types(&function.outputs)?,
            is_payable: mutability == StateMutability::Payable,
            is_view: matches!(mutability, StateMutability::View | StateMutability::Pure),
        })
    }

    /// Returns the functions of an ABI, sorted by signature so that ids do not depend on the compiler.
    pub fn from_abi(
        contract: usize,
        address: Address,
        abi: &JsonAbi,
    ) -> Result<Vec<Self>, UnknownAbiType> {
        let functions = abi.functions().map(|it| Self::from_function(contract, address, it));
        let mut functions = functions.collect::<Result<Vec<_>, _>>()?;
        functions.sort_by(|a, b| a.signature.cmp(&b.signature));
        Ok(functions)
    }
}

/// Returns the topics of `AssertionFailed` events: those declared in the build, and the usual signatures.
///
/// The usual ones cover contracts that declare the event in a library or emit it with inline assembly.
pub(crate) fn assertion_topics(build: &SolidityBuild) -> Vec<B256> {
    const NAME: &str = "AssertionFailed";
    let usual = ["", "string", "uint256", "int256", "address", "bool", "bytes32", "bytes"];
    let usual = usual.iter().map(|types| keccak256(format!("{NAME}({types})")));
    let declared = build
        .contracts
        .iter()
        .flat_map(|contract| contract.abi.event(NAME).into_iter().flatten())
        .map(Event::selector);
    let topics: BTreeSet<B256> = usual.chain(declared).collect();
    topics.into_iter().collect()
}
