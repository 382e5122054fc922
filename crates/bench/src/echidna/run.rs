//! One run: a contract with its settings becomes the outcomes of its tests.

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

/// What became of a run.
#[derive(Debug)]
pub(crate) enum Ran {
    Refused(Refusal),
    Ended(Vec<Outcome>),
}

/// Why nothing ran.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Echidna's name for the reason; None where it has none.
    pub(crate) exception: Option<&'static str>,
    pub(crate) why: String,
}

/// A test and what was found of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) test: String,
    pub(crate) found: Found,
}

#[derive(Debug)]
pub(crate) enum Found {
    Holds,
    /// The smallest sequence of each place where it fails.
    Fails(Vec<Vec<Shown>>),
    Largest(I256),
}

/// A call as it is compared and printed.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// None where no function is called.
    pub(crate) function: Option<String>,
    /// None where an argument is no single word.
    pub(crate) words: Option<Vec<U256>>,
    pub(crate) is_idle: bool,
    pub(crate) text: String,
}

/// The contract that Echidna would take: the one that is named, or the first by name.
pub(crate) fn choose(build: &Build, file: &str, name: Option<&str>) -> Result<usize, Refusal> {
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
    chosen.copied().ok_or_else(|| Refusal {
        exception: Some("ContractNotFound"),
        why: format!("there is no contract `{}`", name.unwrap_or("")),
    })
}

/// Fuzzes a contract of the build with one worker.
pub(crate) fn run(build: &Arc<Build>, contract: usize, settings: Settings) -> Result<Ran> {
    let target = match deploy(build.clone(), contract, &settings) {
        Ok(target) => Arc::new(target),
        Err(error) => return Ok(Ran::Refused(refusal(&error))),
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
    let summary = Campaign::start(start).context("starting a worker")?.wait();
    if summary.ended.contains(&Ended::Crashed) {
        let why = "the worker crashed".to_owned();
        return Ok(Ran::Refused(Refusal { exception: None, why }));
    }
    Ok(Ran::Ended(outcomes(&target, &summary)))
}

fn refusal(error: &DeployError) -> Refusal {
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
    Refusal { exception, why: error.to_string() }
}

fn outcomes(target: &Target, summary: &Summary) -> Vec<Outcome> {
    let tests = target.tests.iter().enumerate();
    let outcome = |(index, test): (usize, &fuzz::target::Test)| {
        let largest = summary.best.iter().find(|best| best.test == index);
        let failures = summary.failures.iter().filter(|failure| failure.test == index);
        let sequences: Vec<Vec<Shown>> = failures
            .map(|failure| failure.calls.iter().map(|call| shown(target, call)).collect())
            .collect();
        let found = match (largest, sequences.is_empty()) {
            (Some(largest), _) => Found::Largest(largest.value),
            (None, false) => Found::Fails(sequences),
            (None, true) => Found::Holds,
        };
        Outcome { test: test.name.clone(), found }
    };
    tests.map(outcome).collect()
}

fn shown(target: &Target, call: &Call) -> Shown {
    let text = reproducer::solidity::call(call, target);
    match &call.what {
        What::Function { function, args } => {
            let word = |value: &Value| match value {
                Value::Word(word) => Some(*word),
                Value::Bytes(_) | Value::List(_) => None,
            };
            let function = Some(target.function(*function).name.clone());
            Shown { function, words: args.iter().map(word).collect(), is_idle: false, text }
        }
        What::Data(_) => Shown { function: None, words: None, is_idle: false, text },
        What::Nothing => Shown { function: None, words: None, is_idle: true, text },
    }
}

impl Outcome {
    /// The name without the types of arguments, which Echidna's tests leave out.
    pub(crate) fn bare_name(&self) -> &str {
        self.test.split('(').next().unwrap_or(&self.test)
    }

    pub(crate) fn sequences(&self) -> &[Vec<Shown>] {
        match &self.found {
            Found::Fails(sequences) => sequences,
            Found::Holds | Found::Largest(_) => &[],
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Holds => out.write_str("passes"),
            Found::Largest(value) => write!(out, "at least {value}"),
            Found::Fails(sequences) => {
                let shortest = sequences.iter().min_by_key(|calls| calls.len());
                let calls = shortest.map_or(&[][..], Vec::as_slice);
                let texts: Vec<_> = calls.iter().map(|call| call.text.as_str()).collect();
                write!(out, "fails, {} calls: {}", calls.len(), texts.join("; "))
            }
        }
    }
}
