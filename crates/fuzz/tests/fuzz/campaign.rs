//! Campaigns on targets with known faults: every fault is found and fully shrunk, nothing else is reported, and a run is
//! reproducible.

use std::collections::BTreeMap;

use alloy_primitives::{Bytes, U256};
use fuzz::call::SequenceCall;
use fuzz::campaign::{TestFailure, WorkerEndReason};
use fuzz::chain::{CallLimits, EvmMachine, EvmTransaction};
use fuzz::config::CampaignSettings;
use fuzz::reproducer;
use fuzz::target::{FuzzTarget, TestKind};

use crate::suite::expectation::{Expectation, MinimalSequence, describe_calls};
use crate::suite::{FinishedRun, TargetSubject, subject, subjects};

/// Returns the differences of a run from its expectations, one per line.
fn differences(subject: &TargetSubject, seed: u64) -> Vec<String> {
    let ran = subject.run(seed, 1);
    let mut found: BTreeMap<&str, Vec<FoundSequence<'_>>> = BTreeMap::new();
    for failure in &ran.summary.failures {
        let name = ran.target.tests[failure.test].name.split('(').next().unwrap_or_default();
        found.entry(name).or_default().push(FoundSequence::of(failure));
    }
    for best in &ran.summary.best {
        let name = ran.target.tests[best.test].name.as_str();
        let is_shrunk = best.is_shrunk;
        found.entry(name).or_default().push(FoundSequence { calls: &best.calls, is_shrunk });
    }
    let mut lines = Vec::new();
    for expectation in &subject.expectations {
        let found = found.remove(expectation.function.as_str()).unwrap_or_default();
        compare(subject, &ran, expectation, &found, &mut lines);
    }
    for (name, found) in found {
        lines.push(format!("{name}: {} unexpected failures", found.len()));
    }
    if ran.summary.ended.contains(&WorkerEndReason::Crashed) {
        lines.push("a worker crashed".to_owned());
    }
    lines.into_iter().map(|line| format!("{}, seed {seed}: {line}", subject.name)).collect()
}

/// A sequence that a campaign ended with.
struct FoundSequence<'a> {
    calls: &'a [SequenceCall],
    is_shrunk: bool,
}

impl<'a> FoundSequence<'a> {
    fn of(failure: &'a TestFailure) -> Self {
        Self { calls: &failure.calls, is_shrunk: failure.is_shrunk }
    }
}

fn compare(
    subject: &TargetSubject,
    ran: &FinishedRun,
    expectation: &Expectation,
    found: &[FoundSequence<'_>],
    lines: &mut Vec<String>,
) {
    let Expectation { function, failures, reaches } = expectation;
    if found.len() != failures.len() {
        let (found, calls) = (found.len(), ran.summary.calls);
        let expected = failures.len();
        lines.push(format!("{function}: {found} failures, not {expected}, in {calls} calls"));
        return;
    }
    if let Some(reaches) = reaches {
        let best =
            ran.summary.best.iter().find(|best| ran.target.tests[best.test].name == *function);
        let value = best.map(|best| best.value);
        if value != Some(*reaches) {
            lines.push(format!("{function}: reaches {value:?}, not {reaches}"));
            return;
        }
    }
    // Several failures of one function are compared by their lengths, shortest first.
    let mut found: Vec<&FoundSequence<'_>> = found.iter().collect();
    found.sort_by_key(|found| found.calls.len());
    for (found, MinimalSequence { calls, text }) in found.iter().zip(failures) {
        let described = describe_calls(found.calls, &ran.target, &subject.settings);
        if !found.is_shrunk {
            lines.push(format!("{function}: not fully shrunk: {described}"));
        } else if found.calls.len() != *calls {
            let length = found.calls.len();
            lines.push(format!("{function}: {length} calls, not {calls}: {described}"));
        } else if text.as_ref().is_some_and(|text| *text != described) {
            let text = text.as_deref().unwrap_or_default();
            lines.push(format!("{function}: `{described}`, not `{text}`"));
        }
    }
}

fn check(seed: u64) {
    let differences: Vec<String> =
        subjects().iter().flat_map(|subject| differences(subject, seed)).collect();
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn finds_every_fault_and_nothing_else_with_seed_1() {
    check(1);
}

#[test]
fn finds_every_fault_and_nothing_else_with_seed_2() {
    check(2);
}

#[test]
fn finds_every_fault_and_nothing_else_with_seed_3() {
    check(3);
}

#[test]
fn suite_has_enough_targets() {
    let subjects = subjects();
    let expectations = || subjects.iter().flat_map(|subject| &subject.expectations);
    let holding = expectations().filter(|expectation| expectation.failures.is_empty()).count();
    assert!(subjects.len() >= 28, "{}", subjects.len());
    assert!(holding >= 8, "{holding}");
}

/// Summarizes a run independently of the order of workers.
fn summarize_run(ran: &FinishedRun, settings: &CampaignSettings) -> Vec<String> {
    let describe = |calls: &[SequenceCall]| describe_calls(calls, &ran.target, settings);
    let failures = ran.summary.failures.iter().map(|failure| {
        let test = &ran.target.tests[failure.test].name;
        let (found, calls) = (describe(&failure.found), describe(&failure.calls));
        format!("{test} at {:?} by {}: {calls}; found as {found}", failure.site, failure.worker)
    });
    let corpus = ran.corpus.iter().map(|entry| {
        format!("{} with {:?} shows {:?}", describe(&entry.calls), entry.gas, entry.edges)
    });
    let mut lines: Vec<String> = failures.chain(corpus).collect();
    lines.sort();
    lines.push(format!("{} calls, {:?}", ran.summary.calls, ran.summary.ended));
    lines
}

/// Targets with states, senders, time and several faults, some of which two workers find at the same time.
const VARIED: [&str; 6] = ["Preimage", "SaysSo", "Shares", "Structs", "TwoAsserts", "Waiting"];

/// Repetitions of a run; thread scheduling differs only in some of them.
const REPEATS: usize = 3;

#[test]
fn same_seed_gives_same_run_regardless_of_threads() {
    for name in VARIED {
        let subject = subject(name);
        let summary = |seed| summarize_run(&subject.run(seed, 2), &subject.settings);
        let first = summary(5);
        for _ in 0..REPEATS {
            let again = summary(5);
            let differs = first.iter().zip(&again).find(|(first, again)| first != again);
            assert!(first.len() == again.len() && differs.is_none(), "{name}: {differs:#?}");
        }
    }
}

#[test]
fn different_seeds_give_different_sequences() {
    for name in VARIED {
        let subject = subject(name);
        let summary = |seed| summarize_run(&subject.run(seed, 1), &subject.settings);
        assert_ne!(summary(1), summary(2), "{name}");
    }
}

/// Runs the calls and checks the property, using only the machine.
fn breaks_property(
    target: &FuzzTarget,
    test: usize,
    calls: &[SequenceCall],
    settings: &CampaignSettings,
) -> bool {
    let limits = CallLimits { gas: settings.call_gas, time: std::time::Duration::from_secs(60) };
    let mut machine =
        EvmMachine::new(target.state.clone(), target.codes.clone(), Vec::new(), limits);
    for call in calls {
        machine.advance_time(call.delay.seconds, call.delay.blocks);
        if let Some(transaction) = call.to_transaction(target, &mut Vec::new()) {
            machine.call(&transaction);
        }
    }
    let TestKind::Property { function } = target.tests[test].kind else {
        panic!("{} is not a property", target.tests[test].name)
    };
    let function = target.function(function);
    let outcome = machine.call(&EvmTransaction {
        from: settings.property_sender,
        to: function.address,
        value: U256::ZERO,
        gas_price: 0,
        data: Bytes::copy_from_slice(&function.selector),
    });
    !outcome.is_success() || U256::try_from_be_slice(&outcome.output) != Some(U256::ONE)
}

#[test]
fn found_and_shrunk_sequences_both_fail() {
    let names = ["Combination", "Waiting", "Reentrancy", "Shares", "Deposits", "Receiver"];
    for subject in names.map(subject) {
        let ran = subject.run(1, 1);
        assert!(!ran.summary.failures.is_empty(), "{}", subject.name);
        for failure in &ran.summary.failures {
            let name = &ran.target.tests[failure.test].name;
            for calls in [&failure.found, &failure.calls] {
                let described = describe_calls(calls, &ran.target, &subject.settings);
                let breaks = breaks_property(&ran.target, failure.test, calls, &subject.settings);
                assert!(breaks, "{}: {name} holds after {described}", subject.name);
            }
            assert!(failure.calls.len() <= failure.found.len(), "{}: {name}", subject.name);
        }
    }
}

#[test]
fn reports_failures_of_an_earlier_campaign_without_new_calls() {
    let mut subject = subject("Combination");
    let earlier = subject.run(1, 1);
    let corpus: Vec<Vec<SequenceCall>> =
        earlier.summary.failures.iter().map(|failure| failure.found.clone()).collect();
    assert_eq!(corpus.len(), 2);
    subject.settings.test_limit = 1;
    let shrunk = |ran: &FinishedRun| -> Vec<String> {
        let calls = ran.summary.failures.iter().map(|failure| &failure.calls);
        calls.map(|calls| describe_calls(calls, &ran.target, &subject.settings)).collect()
    };
    assert_eq!(shrunk(&subject.run_from(corpus, 2, 1)), shrunk(&earlier));
    assert!(shrunk(&subject.run(2, 1)).is_empty());
}

#[test]
fn stop_on_fail_ends_the_campaign_at_the_first_failure() {
    let mut subject = subject("Combination");
    subject.settings.stop_on_fail = true;
    let ran = subject.run(1, 1);
    let [failure] = &*ran.summary.failures else { panic!("{:?}", ran.summary.failures) };
    assert!(failure.is_shrunk);
    assert_eq!(ran.summary.ended, [WorkerEndReason::FirstTestFailed]);
    assert!(ran.summary.calls < subject.settings.test_limit);
}

#[test]
fn test_destruction_reports_self_destruct() {
    let mut subject = subject("Destroyed");
    assert!(subject.run(1, 1).summary.failures.is_empty());
    subject.settings.test_destruction = true;
    let FinishedRun { target, summary, .. } = subject.run(1, 1);
    let [failure] = &summary.failures[..] else { panic!("{:?}", summary.failures) };
    let test = &target.tests[failure.test].name;
    let calls: Vec<_> =
        failure.calls.iter().map(|call| reproducer::solidity::format_call(call, &target)).collect();
    assert_eq!(
        (test.as_str(), calls.join("; ")),
        ("Destroyed is not self-destructed", "arm(); fire()".into())
    );
}

#[test]
fn keeps_no_sequences_without_coverage() {
    let mut subject = subject("Magic");
    subject.settings.coverage = false;
    subject.settings.test_limit = 2_000;
    assert_eq!(subject.run(1, 1).corpus.len(), 0);
}
