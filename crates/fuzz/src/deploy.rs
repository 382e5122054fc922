//! Brings contracts onto a chain: from a build to a [`Target`].
//!
//! Libraries go first, then what the configuration names, then the contract under test, whose `setUp()` is run. Whatever
//! is on the chain then, and was compiled, is part of the target. [`place`] puts contracts on the chain, [`find`] says what
//! of them is called and what is a test.

mod choose;
mod find;
mod place;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use alloy_dyn_abi::DynSolType;
use alloy_primitives::Address;
use solidity::{Build, Unchecked};

pub use self::choose::{ChooseError, choose_contract, find_contract};
pub use self::place::arguments;
use self::place::{Chain, Placed};
use crate::abi::UnknownType;
use crate::chain::{CHEAT_ERROR, Codes, Hits, Known, Limits, Machine, Outcome, Part, Setup, State};
use crate::config::{Settings, TestMode};
use crate::target::{Deployed, Target};

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
        "the constructor of `{contract}` takes {}, not {given}; set them with constructorArgs",
        arguments_in_words(*.expected)
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
    #[error("`{contract}`: `{function}` cannot be a test: {reason}")]
    NoTest { contract: String, function: String, reason: Malformed },
    #[error("`{contract}` has no test: write {expected}, or choose another test mode")]
    NoTests { contract: String, expected: String },
    #[error("`{contract}` has no function that could be called")]
    NoFunctions { contract: String },
    #[error("`{contract}`: {source}")]
    Type { contract: String, source: UnknownType },
}

/// Why a function that is called as a test cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("it takes arguments, which nobody could choose")]
    TakesArguments,
    #[error("it must return (bool)")]
    ReturnsNoBool,
    #[error("it must return (int256)")]
    ReturnsNoNumber,
}

fn arguments_in_words(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
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
    let libraries = place::libraries(&build, plan);
    let codes = Arc::new(codes(&build, &libraries, plan));
    let setup = Setup {
        timestamp: FIRST_TIMESTAMP,
        block: FIRST_BLOCK,
        code_size: usize::try_from(settings.code_size).unwrap_or(usize::MAX),
        cheats: true,
        ffi: settings.allow_ffi,
    };
    let mut machine = Machine::new(State::new(&setup), codes.clone(), Vec::new(), LIMITS);
    let Placed { places, warnings } = Chain::new(&build, &libraries, &mut machine, plan).fill()?;
    let contracts = deployed(&mut machine, &build, &codes, &places, plan);
    let mut target = Target {
        build,
        codes,
        state: machine.state(),
        hits: Arc::new(Hits::of(machine.probe())),
        contracts,
        functions: Vec::new(),
        callable: Vec::new(),
        tests: Vec::new(),
        units: HashSet::new(),
        open: Vec::new(),
        warnings,
    };
    find::functions(&mut target, plan)?;
    Ok(target)
}

/// All code of the build, that of the contract under test first: of two that are alike it is the one that is meant.
fn codes(build: &Build, libraries: &BTreeMap<String, Address>, plan: &Plan<'_>) -> Codes {
    let unchecked = match plan.settings.test_mode {
        TestMode::Overflow => Unchecked::of(build),
        _ => Unchecked::default(),
    };
    let main = plan.contract;
    let mut known = Vec::new();
    let mut selectors = HashSet::new();
    let others = (0..build.contracts.len()).filter(|index| *index != main);
    for index in [main].into_iter().chain(others) {
        let contract = &build.contracts[index];
        selectors.extend(contract.abi.functions().map(|function| function.selector().0));
        // A contract whose library is missing cannot be deployed, which matters only if someone wants it.
        let (Ok(creation), Ok(runtime)) =
            (contract.creation.linked(libraries), contract.runtime.linked(libraries))
        else {
            continue;
        };
        let creation = (Part::Creation, creation, Vec::new(), &contract.creation);
        let mut holes = contract.immutables.clone();
        holes.sort_by_key(|hole| hole.start);
        let runtime = (Part::Runtime, runtime, holes, &contract.runtime);
        known.extend([creation, runtime].map(|(part, bytes, holes, code)| {
            let unchecked = unchecked.instructions(code);
            Known { contract: index, part, bytes, holes, unchecked }
        }));
    }
    Codes::new(known, selectors)
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
fn deployed(
    machine: &mut Machine,
    build: &Build,
    codes: &Codes,
    places: &BTreeMap<Address, usize>,
    plan: &Plan<'_>,
) -> Vec<Deployed> {
    let mut found = Vec::new();
    for address in machine.contracts() {
        let code = machine.code(address);
        let Some(index) = codes.find(Part::Runtime, &code) else { continue };
        // Two contracts may have the same code; the one that was put here is known.
        let contract = places.get(&address).copied().unwrap_or(codes.known()[index].contract);
        found.push(Deployed { name: build.contracts[contract].name.clone(), contract, address });
    }
    found.sort_by_key(|deployed| {
        (deployed.address != plan.settings.contract_address, deployed.address)
    });
    found
}
