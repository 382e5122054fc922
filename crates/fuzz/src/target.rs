//! What is fuzzed: contracts that are deployed, the functions that may be called, and the tests that must hold.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use alloy_json_abi::{Event, JsonAbi, StateMutability};
use alloy_primitives::{Address, B256, keccak256};
use solidity::Build;

use crate::abi::{Type, UnknownType};
use crate::chain::{Codes, Hits, State};

/// The deployed system, the same for all workers.
#[derive(Clone, Debug)]
pub struct Target {
    pub build: Arc<Build>,
    pub codes: Arc<Codes>,
    /// The chain as each sequence finds it.
    pub state: State,
    /// What ran while the system was deployed.
    pub hits: Arc<Hits>,
    pub contracts: Vec<Deployed>,
    pub functions: Vec<Function>,
    /// Functions that the fuzzer calls; the rest are tests, or filtered.
    pub callable: Vec<FunctionId>,
    pub tests: Vec<Test>,
    /// Functions that are tests of their own, called on the first state.
    pub units: HashSet<FunctionId>,
    /// Contracts of which any bytes may be sent: they have `fallback` or `receive`.
    pub open: Vec<Open>,
    /// What the owner of the contracts should know before anything is called.
    pub warnings: Vec<String>,
}

/// A contract on the chain.
#[derive(Clone, Debug)]
pub struct Deployed {
    pub name: String,
    /// Its place in the build.
    pub contract: usize,
    pub address: Address,
}

/// The place of a function in [`Target::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A function of a deployed contract.
#[derive(Clone, Debug)]
pub struct Function {
    /// The place of its contract in [`Target::contracts`].
    pub contract: usize,
    pub address: Address,
    pub name: String,
    /// Canonical, such as `transfer(address,uint256)`.
    pub signature: String,
    pub selector: [u8; 4],
    pub inputs: Vec<Type>,
    pub outputs: Vec<Type>,
    pub is_payable: bool,
    /// It promises to change nothing.
    pub is_view: bool,
}

/// A contract that takes any bytes.
#[derive(Clone, Debug)]
pub struct Open {
    pub address: Address,
    /// It takes bytes, not only value.
    pub takes_data: bool,
    pub is_payable: bool,
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Test {
    /// As people know it, such as `echidna_balance` or `transfer(address,uint256)`.
    pub name: String,
    /// The contract that it belongs to.
    pub contract: String,
    pub kind: TestKind,
}

/// How a test fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// A call without arguments returns false, or reverts.
    Property { function: FunctionId },
    /// A call without arguments does not revert.
    MustRevert { function: FunctionId },
    /// A call without arguments fails as Foundry's invariants do: by reverting.
    Invariant { function: FunctionId },
    /// The function breaks an assertion while it is called.
    Assertion { function: FunctionId },
    /// The function of a Foundry test reverts when it is called on the first state.
    Unit { function: FunctionId },
    /// A contract emits an event that says that an assertion failed, in no function that the fuzzer knows.
    Event,
    /// A call without arguments returns a number that is to be as large as possible.
    Maximum { function: FunctionId },
    /// Arithmetic overflows while the function is called.
    Overflow { function: FunctionId },
    /// The contract destroys itself.
    Destruction { address: Address },
}

impl TestKind {
    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, TestKind::Unit { .. })
    }

    /// True if the test is a call that is made between the fuzzer's own; the others watch those.
    pub(crate) fn is_own_call(&self) -> bool {
        match self {
            TestKind::Property { .. }
            | TestKind::MustRevert { .. }
            | TestKind::Invariant { .. }
            | TestKind::Maximum { .. } => true,
            TestKind::Assertion { .. }
            | TestKind::Unit { .. }
            | TestKind::Event
            | TestKind::Destruction { .. }
            | TestKind::Overflow { .. } => false,
        }
    }
}

impl Target {
    /// True if the function is a test that is called on the first state.
    pub(crate) fn is_unit(&self, function: FunctionId) -> bool {
        self.units.contains(&function)
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// Finds a function by its signature, and by its contract's address where one is told.
    pub fn find(&self, signature: &str, address: Option<Address>) -> Option<FunctionId> {
        let matches = |function: &Function| {
            function.signature == signature && address.is_none_or(|at| function.address == at)
        };
        let index = self.functions.iter().position(matches)?;
        Some(FunctionId(index as u32))
    }
}

impl Function {
    /// The functions of an ABI, in the order of their signatures so that ids do not depend on the compiler.
    pub fn all(contract: usize, address: Address, abi: &JsonAbi) -> Result<Vec<Self>, UnknownType> {
        let mut functions = Vec::new();
        for function in abi.functions() {
            functions.push(Self {
                contract,
                address,
                name: function.name.clone(),
                signature: function.signature(),
                selector: function.selector().0,
                inputs: function.inputs.iter().map(Type::of).collect::<Result<_, _>>()?,
                outputs: function.outputs.iter().map(Type::of).collect::<Result<_, _>>()?,
                is_payable: function.state_mutability == StateMutability::Payable,
                is_view: matches!(
                    function.state_mutability,
                    StateMutability::View | StateMutability::Pure
                ),
            });
        }
        functions.sort_by(|a, b| a.signature.cmp(&b.signature));
        Ok(functions)
    }
}

/// Topics of the events that say that an assertion failed: those of this name that a contract declares, and the usual ones,
/// for contracts that declare them inside a library or emit them by hand.
pub(crate) fn assertion_topics(build: &Build) -> Vec<B256> {
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
