//! One run: fuzzes a smart contract with its settings and returns the outcomes of its tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{I256, U256};
use anyhow::{Context, Result};
use fuzz::abi::Value;
use fuzz::call::{Call, What};
use fuzz::campaign::{Campaign, Ended, Start, Summary};
use fuzz::config::Settings;
use fuzz::deploy::{DeployError, Malformed, deploy};
use fuzz::generate::Dictionary;
use fuzz::reproducer;
use fuzz::target::Target;
use solidity::Build;

/// Result of a run.
#[derive(Debug)]
pub(crate) enum SuiteRun {
    Refused(RunRefusal),
    Ended(Vec<TestOutcome>),
}

/// The reason why a run was refused.
#[derive(Debug)]
pub(crate) struct RunRefusal {
    /// Echidna's name for the reason, if it has one.
    pub(crate) exception: Option<&'static str>,
    pub(crate) why: String,
}

/// A test and its finding.
#[derive(Debug)]
pub(crate) struct TestOutcome {
    pub(crate) test: String,
    pub(crate) found: TestFinding,
}

#[derive(Debug)]
pub(crate) enum TestFinding {
    Holds,
    /// The smallest sequence for each location where it fails.
    Fails(Vec<Vec<PrintedCall>>),
    Largest(I256),
}

/// A call in a form to compare and to print.
#[derive(Clone, Debug)]
pub(crate) struct PrintedCall {
    /// `None` if no function is called.
    pub(crate) function: Option<String>,
    /// `None` if an argument is not a single word.
    pub(crate) words: Option<Vec<U256>>,
    pub(crate) is_idle: bool,
    pub(crate) text: String,
}

/// Returns the smart contract that Echidna would choose: the named one, or the first by name.
pub(crate) fn choose_contract(
    build: &Build,
    file: &str,
    name: Option<&str>,
) -> Result<usize, RunRefusal> {
    let mut own: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, contract) in build.contracts.iter().enumerate() {
        if contract.source == file || name == Some(contract.name.as_str()) {
            own.insert(&contract.name, index);
        }
    }
    let chosen = match name {
        Some(name) => own.get(name),
        None => own.values().next(),
    };
    chosen.copied().ok_or_else(|| RunRefusal {
        exception: Some("ContractNotFound"),
        why: format!("there is no contract `{}`", name.unwrap_or("")),
    })
}

/// Fuzzes a smart contract of the build with one worker.
pub(crate) fn fuzz_contract(
    build: &Arc<Build>,
    contract: usize,
    settings: Settings,
) -> Result<SuiteRun> {
    let target = match deploy(build.clone(), contract, &settings) {
        Ok(target) => Arc::new(target),
        Err(error) => return Ok(SuiteRun::Refused(describe_refusal(&error))),
    };
    let start = Start {
        dictionary: Dictionary::of(&target, &settings),
        target: target.clone(),
        settings: Arc::new(settings),
        workers: 1,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    };
    let summary = Campaign::start(start).context("failed to start a worker")?.wait();
    if summary.ended.contains(&Ended::Crashed) {
        let why = "the worker crashed".to_owned();
        return Ok(SuiteRun::Refused(RunRefusal { exception: None, why }));
    }
    Ok(SuiteRun::Ended(collect_outcomes(&target, &summary)))
}

fn describe_refusal(error: &DeployError) -> RunRefusal {
    let exception = match error {
        DeployError::Abstract(_) => Some("NoBytecode"),
        DeployError::NoSuchContract(_) => Some("ContractNotFound"),
        DeployError::Arguments { .. } => Some("ConstructorArgs"),
        DeployError::Constructor { .. } | DeployError::TooLarge { .. } => Some("DeploymentFailed"),
        DeployError::NoTests { .. } => Some("NoTests"),
        DeployError::NoTest { reason, .. } => Some(match reason {
            Malformed::TakesArguments => "TestArgsFound",
            Malformed::ReturnsNoBool => "PropertyWithoutReturn",
            Malformed::ReturnsNoNumber => "OptimizationWithWrongReturn",
        }),
        DeployError::NoFunctions { .. } => Some("NoFuncs"),
        _ => None,
    };
    RunRefusal { exception, why: error.to_string() }
}

fn collect_outcomes(target: &Target, summary: &Summary) -> Vec<TestOutcome> {
    let tests = target.tests.iter().enumerate();
    let outcome = |(index, test): (usize, &fuzz::target::Test)| {
        let largest = summary.best.iter().find(|best| best.test == index);
        let failures = summary.failures.iter().filter(|failure| failure.test == index);
        let sequences: Vec<Vec<PrintedCall>> = failures
            .map(|failure| failure.calls.iter().map(|call| print_call(target, call)).collect())
            .collect();
        let found = match (largest, sequences.is_empty()) {
            (Some(largest), _) => TestFinding::Largest(largest.value),
            (None, false) => TestFinding::Fails(sequences),
            (None, true) => TestFinding::Holds,
        };
        TestOutcome { test: test.name.clone(), found }
    };
    tests.map(outcome).collect()
}

fn print_call(target: &Target, call: &Call) -> PrintedCall {
    let text = reproducer::solidity::call(call, target);
    match &call.what {
        What::Function { function, args } => {
            let word = |value: &Value| match value {
                Value::Word(word) => Some(*word),
                Value::Bytes(_) | Value::List(_) => None,
            };
            let function = Some(target.function(*function).name.clone());
            PrintedCall { function, words: args.iter().map(word).collect(), is_idle: false, text }
        }
        What::Data(_) => PrintedCall { function: None, words: None, is_idle: false, text },
        What::Nothing => PrintedCall { function: None, words: None, is_idle: true, text },
    }
}

impl TestOutcome {
    /// Returns the name without argument types, as Echidna's tests write it.
    pub(crate) fn bare_name(&self) -> &str {
        self.test.split('(').next().unwrap_or(&self.test)
    }

    pub(crate) fn sequences(&self) -> &[Vec<PrintedCall>] {
        match &self.found {
            TestFinding::Fails(sequences) => sequences,
            TestFinding::Holds | TestFinding::Largest(_) => &[],
        }
    }
}

impl std::fmt::Display for TestFinding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TestFinding::Holds => out.write_str("passes"),
            TestFinding::Largest(value) => write!(out, "at least {value}"),
            TestFinding::Fails(sequences) => {
                let shortest = sequences.iter().min_by_key(|calls| calls.len());
                let calls = shortest.map_or(&[][..], Vec::as_slice);
                let texts: Vec<_> = calls.iter().map(|call| call.text.as_str()).collect();
                write!(out, "fails, {} calls: {}", calls.len(), texts.join("; "))
            }
        }
    }
}
