//! Brings contracts onto a chain: from a build to a [`Target`].
//!
//! Libraries go first, then what the configuration names, then the contract under test, whose `setUp()` is run. Whatever
//! is on the chain then, and was compiled, is part of the target.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::{Address, Bytes, U256};
use solidity::{Build, Contract};

use crate::abi::{Type, UnknownType};
use crate::chain::{
    CHEAT_ERROR, Codes, Known, Limits, Machine, Outcome, Part, Setup, State, Transaction,
};
use crate::config::{Filter, Settings, TestMode};
use crate::target::{Deployed, Function, FunctionId, Open, Target, Test, TestKind};

/// When the first block of a chain was made, and its number; as Echidna has them.
const FIRST_TIMESTAMP: u64 = 1_524_785_992;
const FIRST_BLOCK: u64 = 4_370_000;

/// What deploying may take: it happens once, and by the user's own code.
const LIMITS: Limits = Limits { gas: u64::MAX / 2, time: Duration::from_secs(60) };

/// What is deployed, and how.
struct Plan<'a> {
    /// The place of the contract under test in the build.
    contract: usize,
    settings: &'a Settings,
}

/// Why there is nothing to fuzz.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error("`{0}` cannot be deployed: it is an interface, or abstract")]
    Abstract(String),
    #[error("there is no contract `{0}` in the build")]
    NoSuchContract(String),
    #[error(
        "the constructor of `{contract}` takes {expected} arguments and was given {given}; set them with constructorArgs"
    )]
    Arguments { contract: String, expected: usize, given: usize },
    #[error("the constructor of `{contract}`: argument `{argument}` is no {ty}: {reason}")]
    Argument { contract: String, argument: String, ty: String, reason: String },
    #[error("the constructor of `{contract}` failed: {reason}")]
    Constructor { contract: String, reason: String },
    #[error("`{contract}` has {size} bytes of code; the limit is {limit}")]
    TooLarge { contract: String, size: u64, limit: u64 },
    #[error("`{contract}` needs a library that is not part of the build: {library}")]
    Unlinked { contract: String, library: String },
    #[error("setUp() of `{contract}` failed: {reason}")]
    SetUp { contract: String, reason: String },
    #[error(
        "`{contract}`: the ABI names {count} functions that are not in its code, `{first}` for one; ABI and code are of different builds"
    )]
    Mismatch { contract: String, count: usize, first: String },
    #[error("`{contract}` has no test: write {expected}, or choose another test mode")]
    NoTests { contract: String, expected: String },
    #[error("`{contract}` has no function that could be called")]
    NoFunctions { contract: String },
    #[error("`{contract}`: {source}")]
    Type { contract: String, source: UnknownType },
}

/// Deploys everything and finds the tests.
///
/// `contract` is the place of the contract under test in the build.
pub fn deploy(
    build: Arc<Build>,
    contract: usize,
    settings: &Settings,
) -> Result<Target, DeployError> {
    let plan = &Plan { contract, settings };
    let libraries = libraries(&build, plan);
    let codes = Arc::new(codes(&build, &libraries)?);
    let setup = Setup {
        timestamp: FIRST_TIMESTAMP,
        block: FIRST_BLOCK,
        code_size: usize::try_from(settings.code_size).unwrap_or(usize::MAX),
        cheats: true,
    };
    let mut machine = Machine::new(State::new(&setup), codes.clone(), Vec::new(), LIMITS);
    fund(&mut machine, plan);
    let chain = &mut Chain { build: &build, libraries: &libraries, machine: &mut machine, plan };
    chain.deploy_libraries()?;
    chain.deploy_first()?;
    chain.deploy_main()?;
    chain.set_up()?;
    let state = machine.state();
    let contracts = deployed(&mut machine, &build, &codes, plan);
    let mut target = Target {
        build,
        codes,
        state,
        contracts,
        functions: Vec::new(),
        callable: Vec::new(),
        tests: Vec::new(),
        units: HashSet::new(),
        open: Vec::new(),
    };
    add_functions(&mut target, plan)?;
    Ok(target)
}

/// Addresses for the libraries that the contracts need, far from those that contracts get.
fn libraries(build: &Build, plan: &Plan<'_>) -> BTreeMap<String, Address> {
    let named = plan.settings.deploy_contracts.iter();
    let mut users: Vec<usize> = named
        .filter_map(|(_, name)| build.contracts.iter().position(|it| it.name == *name))
        .chain([plan.contract])
        .collect();
    let mut libraries = BTreeMap::new();
    while let Some(user) = users.pop() {
        let user = &build.contracts[user];
        for link in user.creation.links.iter().chain(&user.runtime.links) {
            let library = build.contracts.iter().position(|contract| {
                contract.name == link.library || contract.qualified_name() == link.library
            });
            let Some(library) = library else { continue };
            let name = build.contracts[library].qualified_name();
            if let Entry::Vacant(place) = libraries.entry(name) {
                let mut address = [0; 20];
                address[..4].copy_from_slice(b"\x11ib\x00");
                address[16..].copy_from_slice(&(library as u32 + 1).to_be_bytes());
                place.insert(Address::from(address));
                users.push(library);
            }
        }
    }
    libraries
}

fn codes(build: &Build, libraries: &BTreeMap<String, Address>) -> Result<Codes, DeployError> {
    let mut known = Vec::new();
    let mut selectors = HashSet::new();
    for (index, contract) in build.contracts.iter().enumerate() {
        selectors.extend(contract.abi.functions().map(|function| function.selector().0));
        // A contract whose library is missing cannot be deployed, which matters only if someone wants it.
        let (Ok(creation), Ok(runtime)) =
            (contract.creation.linked(libraries), contract.runtime.linked(libraries))
        else {
            continue;
        };
        known.push(Known { contract: index, part: Part::Creation, bytes: creation, holes: vec![] });
        let mut holes = contract.immutables.clone();
        holes.sort_by_key(|hole| hole.start);
        known.push(Known { contract: index, part: Part::Runtime, bytes: runtime, holes });
    }
    Ok(Codes::new(known, selectors))
}

fn fund(machine: &mut Machine, plan: &Plan<'_>) {
    let Settings { senders, sender_balance, contract_balance, deployer, .. } = plan.settings;
    for &sender in senders {
        machine.set_balance(sender, *sender_balance);
    }
    // What the constructor is sent comes on top, so that the deployer has afterwards what all have.
    machine.set_balance(*deployer, sender_balance.saturating_add(*contract_balance));
}

struct Chain<'a> {
    build: &'a Build,
    libraries: &'a BTreeMap<String, Address>,
    machine: &'a mut Machine,
    plan: &'a Plan<'a>,
}

impl Chain<'_> {
    /// Contracts and code that the settings want at certain addresses.
    fn deploy_first(&mut self) -> Result<(), DeployError> {
        let settings = self.plan.settings;
        for (address, name) in &settings.deploy_contracts {
            let contract = self.build.contracts.iter().position(|contract| contract.name == *name);
            let contract = contract.ok_or_else(|| DeployError::NoSuchContract(name.clone()))?;
            let written = settings.constructor_args.named.get(name);
            let arguments = self.arguments(contract, written.map_or(&[], Vec::as_slice))?;
            self.deploy(contract, *address, &arguments, U256::ZERO)?;
        }
        for (address, code) in &settings.deploy_bytecodes {
            self.create(&format!("{address}"), *address, code.clone(), U256::ZERO)?;
        }
        Ok(())
    }

    /// The contract under test.
    fn deploy_main(&mut self) -> Result<(), DeployError> {
        let Plan { contract, settings } = *self.plan;
        let args = &settings.constructor_args;
        let named = args.named.get(&self.build.contracts[contract].name);
        let written = named.unwrap_or(&args.main);
        let arguments = self.arguments(contract, written)?;
        self.deploy(contract, settings.contract_address, &arguments, settings.contract_balance)
    }

    /// Encodes arguments of a constructor that are written as in Solidity.
    fn arguments(&self, contract: usize, written: &[String]) -> Result<Vec<u8>, DeployError> {
        let contract = &self.build.contracts[contract];
        let name = || contract.name.clone();
        let inputs = contract.abi.constructor.as_ref().map_or(&[][..], |it| &it.inputs);
        if inputs.len() != written.len() {
            let (expected, given) = (inputs.len(), written.len());
            return Err(DeployError::Arguments { contract: name(), expected, given });
        }
        let mut values = Vec::new();
        for (input, text) in inputs.iter().zip(written) {
            let wrong = |reason: String| DeployError::Argument {
                contract: name(),
                argument: input.name.clone(),
                ty: input.selector_type().into_owned(),
                reason,
            };
            let ty = DynSolType::parse(&input.selector_type()).map_err(|e| wrong(e.to_string()))?;
            values.push(ty.coerce_str(text).map_err(|e| wrong(e.to_string()))?);
        }
        Ok(DynSolValue::Tuple(values).abi_encode_params())
    }

    fn deploy_libraries(&mut self) -> Result<(), DeployError> {
        for index in 0..self.build.contracts.len() {
            let contract = &self.build.contracts[index];
            if let Some(&address) = self.libraries.get(&contract.qualified_name()) {
                self.deploy(index, address, &[], U256::ZERO)?;
            }
        }
        Ok(())
    }

    fn deploy(
        &mut self,
        contract: usize,
        address: Address,
        arguments: &[u8],
        value: U256,
    ) -> Result<(), DeployError> {
        let contract = &self.build.contracts[contract];
        let name = || contract.name.clone();
        if !contract.is_deployable() {
            return Err(DeployError::Abstract(name()));
        }
        check_size(contract, self.plan.settings.code_size)?;
        let mut code = contract
            .creation
            .linked(self.libraries)
            .map_err(|unlinked| DeployError::Unlinked { contract: name(), library: unlinked.0 })?;
        code.extend_from_slice(arguments);
        self.create(&contract.name, address, code, value)
    }

    fn create(
        &mut self,
        name: &str,
        address: Address,
        code: Vec<u8>,
        value: U256,
    ) -> Result<(), DeployError> {
        let from = self.plan.settings.deployer;
        let (outcome, created) = self.machine.deploy(from, Some(address), code.into(), value);
        if created.is_some() && outcome.is_success() {
            return Ok(());
        }
        Err(DeployError::Constructor { contract: name.to_owned(), reason: reason(&outcome) })
    }

    fn set_up(&mut self) -> Result<(), DeployError> {
        let contract = &self.build.contracts[self.plan.contract];
        let set_up = contract.abi.functions().find(|function| function.signature() == "setUp()");
        let Some(set_up) = set_up else { return Ok(()) };
        let outcome = self.machine.call_within(
            &Transaction {
                from: self.plan.settings.deployer,
                to: self.plan.settings.contract_address,
                value: U256::ZERO,
                gas_price: 0,
                data: Bytes::copy_from_slice(set_up.selector().as_slice()),
            },
            LIMITS,
        );
        if outcome.is_success() {
            return Ok(());
        }
        Err(DeployError::SetUp { contract: contract.name.clone(), reason: reason(&outcome) })
    }
}

fn check_size(contract: &Contract, limit: u64) -> Result<(), DeployError> {
    let size = contract.runtime.bytes.len() as u64;
    if size <= limit {
        return Ok(());
    }
    Err(DeployError::TooLarge { contract: contract.name.clone(), size, limit })
}

/// `Error(string)`
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];

/// Why a call failed, as far as it says.
pub fn reason(outcome: &Outcome) -> String {
    let output = &outcome.output;
    if let Some(text) = DynSolType::String
        .abi_decode_params(output.get(4..).unwrap_or_default())
        .ok()
        .filter(|_| output.starts_with(&ERROR) || output.starts_with(&CHEAT_ERROR))
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

/// The contracts on the chain that were compiled, the one under test first.
fn deployed(machine: &mut Machine, build: &Build, codes: &Codes, plan: &Plan<'_>) -> Vec<Deployed> {
    let mut found = Vec::new();
    for address in machine.contracts() {
        let code = machine.code(address);
        let Some(index) = codes.find(Part::Runtime, &code) else { continue };
        let contract = codes.known()[index].contract;
        found.push(Deployed { name: build.contracts[contract].name.clone(), contract, address });
    }
    found.sort_by_key(|deployed| {
        (deployed.address != plan.settings.contract_address, deployed.address)
    });
    found
}

fn add_functions(target: &mut Target, plan: &Plan<'_>) -> Result<(), DeployError> {
    let build = target.build.clone();
    let mut is_filtered = false;
    for index in 0..target.contracts.len() {
        let Deployed { address, contract, .. } = target.contracts[index];
        let contract = &build.contracts[contract];
        let functions = Function::all(index, address, &contract.abi)
            .map_err(|source| DeployError::Type { contract: contract.name.clone(), source })?;
        let is_under_test = address == plan.settings.contract_address;
        if is_under_test {
            check_selectors(contract, &functions)?;
        }
        for function in functions {
            let id = FunctionId(target.functions.len() as u32);
            let is_admitted = allows(&plan.settings.filter, &contract.name, &function.signature)
                && !(plan.settings.exclude_view_pure && function.is_view);
            // What is never called cannot break anything: a test that watches it would always hold.
            let test = is_under_test
                .then(|| test_of(&function, id, contract, plan))
                .flatten()
                .filter(|test| test.kind.is_own_call() || is_admitted);
            let is_test = test.as_ref().is_some_and(|test| test.kind.is_own_call());
            if let Some(Test { kind: TestKind::Unit { function }, .. }) = &test {
                target.units.insert(*function);
            }
            target.tests.extend(test);
            let is_called = !is_test
                && (is_under_test || plan.settings.all_contracts)
                && !is_special(&function, plan)
                && is_admitted;
            if is_called {
                target.callable.push(id);
            }
            is_filtered |=
                is_under_test && !is_test && !is_special(&function, plan) && !is_admitted;
            target.functions.push(function);
        }
        if is_under_test || plan.settings.all_contracts {
            let abi = &contract.abi;
            let payable = abi.receive.is_some()
                || abi.fallback.as_ref().is_some_and(|fallback| {
                    fallback.state_mutability == alloy_json_abi::StateMutability::Payable
                });
            if abi.fallback.is_some() || abi.receive.is_some() {
                let takes_data = abi.fallback.is_some();
                target.open.push(Open { address, takes_data, is_payable: payable });
            }
        }
    }
    let name = || build.contracts[plan.contract].name.clone();
    if plan.settings.test_mode == TestMode::Assertion && plan.settings.all_contracts {
        let name_of_echidna = "AssertionFailed(..)".to_owned();
        target.tests.push(Test { name: name_of_echidna, contract: name(), kind: TestKind::Event });
    }
    // A contract of properties alone is run, too: time goes by.
    let has_nothing = target.tests.is_empty() || is_filtered;
    if target.callable.is_empty() && target.open.is_empty() && has_nothing {
        return Err(DeployError::NoFunctions { contract: name() });
    }
    if target.tests.is_empty() && plan.settings.test_mode != TestMode::Exploration {
        let expected = match plan.settings.test_mode {
            TestMode::Optimization => {
                format!("a function {}opt_*() returns (int256)", plan.settings.prefix)
            }
            _ => format!("a function {}*() returns (bool)", plan.settings.prefix),
        };
        return Err(DeployError::NoTests { contract: name(), expected });
    }
    Ok(())
}

/// Every function's selector stands in the code that dispatches it.
fn check_selectors(contract: &Contract, functions: &[Function]) -> Result<(), DeployError> {
    let code = &contract.runtime.bytes;
    let is_missing = |function: &&Function| {
        // Leading zeros are not pushed.
        let digits = function.selector.iter().position(|&byte| byte != 0).unwrap_or(3);
        let wanted = &function.selector[digits..];
        !code.windows(wanted.len()).any(|window| window == wanted)
    };
    let mut missing = functions.iter().filter(is_missing);
    let Some(first) = missing.next() else { return Ok(()) };
    Err(DeployError::Mismatch {
        contract: contract.name.clone(),
        count: 1 + missing.count(),
        first: first.signature.clone(),
    })
}

/// Functions that belong to the machinery of tests.
fn is_special(function: &Function, plan: &Plan<'_>) -> bool {
    function.signature == "setUp()"
        || function.signature == "failed()"
        || function.signature == "IS_TEST()"
        || (plan.settings.test_mode != TestMode::Optimization
            && function.inputs.is_empty()
            && function.name.starts_with(&plan.settings.prefix))
}

fn test_of(
    function: &Function,
    id: FunctionId,
    contract: &Contract,
    plan: &Plan<'_>,
) -> Option<Test> {
    let is_bare = function.inputs.is_empty();
    let named = |suffix: &str| {
        function
            .name
            .strip_prefix(&plan.settings.prefix)
            .is_some_and(|rest| rest.starts_with(suffix))
    };
    let kind = match plan.settings.test_mode {
        TestMode::Property | TestMode::Foundry => {
            if is_bare && named("revert_") {
                TestKind::MustRevert { function: id }
            } else if is_bare && named("") && function.outputs == [Type::Bool] {
                TestKind::Property { function: id }
            } else if is_bare && function.name.starts_with("invariant") {
                TestKind::Invariant { function: id }
            } else if plan.settings.test_mode == TestMode::Foundry
                && function.name.starts_with("test")
            {
                TestKind::Unit { function: id }
            } else {
                return None;
            }
        }
        TestMode::Optimization if is_bare && named("") && function.outputs == [Type::Int(256)] => {
            TestKind::Maximum { function: id }
        }
        TestMode::Assertion if !is_special(function, plan) => TestKind::Assertion { function: id },
        TestMode::Overflow if !is_special(function, plan) => TestKind::Overflow { function: id },
        TestMode::Assertion
        | TestMode::Overflow
        | TestMode::Optimization
        | TestMode::Exploration => return None,
    };
    let name = if kind.is_own_call() { function.name.clone() } else { function.signature.clone() };
    Some(Test { name, contract: contract.name.clone(), kind })
}

/// Whether the settings let a function be called.
fn allows(filter: &Filter, contract: &str, signature: &str) -> bool {
    let is_named = filter.functions.iter().any(|name| {
        name == signature
            || name.strip_prefix(contract).and_then(|rest| rest.strip_prefix('.'))
                == Some(signature)
    });
    is_named != filter.excludes
}
