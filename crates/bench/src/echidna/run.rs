//! One run: fuzzes a smart contract with its settings and returns the outcomes of its tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{I256, U256};
use anyhow::{Context, Result};
use fuzz::abi::AbiValue;
use fuzz::call::{CallPayload, SequenceCall};
use fuzz::campaign::{Campaign, CampaignOptions, CampaignSummary, WorkerEndReason};
use fuzz::config::CampaignSettings;
use fuzz::deploy::{DeployError, TestSignatureError, deploy_target};
use fuzz::generate::ValueDictionary;
use fuzz::reproducer;
use fuzz::target::FuzzTarget;
use solidity::SolidityBuild;

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
    build: &SolidityBuild,
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
    build: &Arc<SolidityBuild>,
    contract: usize,
    settings: CampaignSettings,
) -> Result<SuiteRun> {
    let target = match deploy_target(build.clone(), contract, &settings) {
        Ok(target) => Arc::new(target),
        Err(error) => return Ok(SuiteRun::Refused(describe_refusal(&error))),
    };
    let start = CampaignOptions {
        dictionary: ValueDictionary::from_target(&target, &settings),
        target: target.clone(),
        settings: Arc::new(settings),
        workers: 1,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    };
    let summary = Campaign::start(start).context("failed to start a worker")?.wait();
    if summary.ended.contains(&WorkerEndReason::Crashed) {
        let why = "the worker crashed".to_owned();
        return Ok(SuiteRun::Refused(RunRefusal { exception: None, why }));
    }
    Ok(SuiteRun::Ended(collect_outcomes(&target, &summary)))
}

fn describe_refusal(error: &DeployError) -> RunRefusal {
    let exception = match error {
        DeployError::Abstract(_) => Some("NoBytecode"),
        DeployError::UnknownContract(_) => Some("ContractNotFound"),
        DeployError::ArgumentCount { .. } => Some("ConstructorArgs"),
        DeployError::ConstructorFailed { .. } | DeployError::TooLarge { .. } => {
            Some("DeploymentFailed")
        }
        DeployError::NoTests { .. } => Some("NoTests"),
        DeployError::InvalidTest { reason, .. } => Some(match reason {
            TestSignatureError::TakesArguments => "TestArgsFound",
            TestSignatureError::ReturnsNoBool => "PropertyWithoutReturn",
            TestSignatureError::ReturnsNoInteger => "OptimizationWithWrongReturn",
        }),
        DeployError::NoFunctions { .. } => Some("NoFuncs"),
        _ => None,
    };
    RunRefusal { exception, why: error.to_string() }
}

fn collect_outcomes(target: &FuzzTarget, summary: &CampaignSummary) -> Vec<TestOutcome> {
    let tests = target.tests.iter().enumerate();
    let outcome = |(index, test): (usize, &fuzz::target::TargetTest)| {
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

fn print_call(target: &FuzzTarget, call: &SequenceCall) -> PrintedCall {
    let text = reproducer::solidity::format_call(call, target);
    match &call.payload {
        CallPayload::Function { function, args } => {
            let word = |value: &AbiValue| match value {
                AbiValue::Word(word) => Some(*word),
                AbiValue::Bytes(_) | AbiValue::List(_) => None,
            };
            let function = Some(target.function(*function).name.clone());
            PrintedCall { function, words: args.iter().map(word).collect(), is_idle: false, text }
        }
        CallPayload::Data(_) => PrintedCall { function: None, words: None, is_idle: false, text },
        CallPayload::WaitOnly => PrintedCall { function: None, words: None, is_idle: true, text },
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
