//! Campaigns on targets of which it is known what fails: every fault is found and made as small as it can be, nothing
//! else is reported, and a run can be repeated.

use std::collections::BTreeMap;

use alloy_primitives::{Bytes, U256};
use fuzz::call::Call;
use fuzz::campaign::{Ended, Failure};
use fuzz::chain::{Limits, Machine, Transaction};
use fuzz::config::Settings;
use fuzz::reproducer;
use fuzz::target::{Target, TestKind};

use crate::suite::expectation::{Expectation, Minimum, described};
use crate::suite::{Ran, Subject, subject, subjects};

/// What a run did otherwise than expected, a line each.
fn differences(subject: &Subject, seed: u64) -> Vec<String> {
    let ran = subject.run(seed, 1);
    let mut found: BTreeMap<&str, Vec<Found<'_>>> = BTreeMap::new();
    for failure in &ran.summary.failures {
        let name = ran.target.tests[failure.test].name.split('(').next().unwrap_or_default();
        found.entry(name).or_default().push(Found::of(failure));
    }
    for best in &ran.summary.best {
        let name = ran.target.tests[best.test].name.as_str();
        let is_shrunk = best.is_shrunk;
        found.entry(name).or_default().push(Found { calls: &best.calls, is_shrunk });
    }
    let mut lines = Vec::new();
    for expectation in &subject.expectations {
        let found = found.remove(expectation.function.as_str()).unwrap_or_default();
        compare(subject, &ran, expectation, &found, &mut lines);
    }
    for (name, found) in found {
        lines.push(format!("{name}: nobody expects {} failures of it", found.len()));
    }
    if ran.summary.ended.contains(&Ended::Crashed) {
        lines.push("a worker crashed".to_owned());
    }
    lines.into_iter().map(|line| format!("{}, seed {seed}: {line}", subject.name)).collect()
}

/// A sequence that a campaign ended with.
struct Found<'a> {
    calls: &'a [Call],
    is_shrunk: bool,
}

impl<'a> Found<'a> {
    fn of(failure: &'a Failure) -> Self {
        Self { calls: &failure.calls, is_shrunk: failure.is_shrunk }
    }
}

fn compare(
    subject: &Subject,
    ran: &Ran,
    expectation: &Expectation,
    found: &[Found<'_>],
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
    // Several failures of one function are compared by their lengths, the shortest first.
    let mut found: Vec<&Found<'_>> = found.iter().collect();
    found.sort_by_key(|found| found.calls.len());
    for (found, Minimum { calls, text }) in found.iter().zip(failures) {
        let described = described(found.calls, &ran.target, &subject.settings);
        if !found.is_shrunk {
            lines.push(format!("{function}: not shrunk to the end: {described}"));
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
fn every_fault_is_found_and_nothing_else_with_seed_1() {
    check(1);
}

#[test]
fn every_fault_is_found_and_nothing_else_with_seed_2() {
    check(2);
}

#[test]
fn every_fault_is_found_and_nothing_else_with_seed_3() {
    check(3);
}

#[test]
fn there_are_enough_targets() {
    let subjects = subjects();
    let expectations = || subjects.iter().flat_map(|subject| &subject.expectations);
    let holding = expectations().filter(|expectation| expectation.failures.is_empty()).count();
    assert!(subjects.len() >= 28, "{}", subjects.len());
    assert!(holding >= 8, "{holding}");
}

/// Everything that a run may tell, in an order that does not depend on who was first.
fn told(ran: &Ran, settings: &Settings) -> Vec<String> {
    let describe = |calls: &[Call]| described(calls, &ran.target, settings);
    let failures = ran.summary.failures.iter().map(|failure| {
        let test = &ran.target.tests[failure.test].name;
        let (found, calls) = (describe(&failure.found), describe(&failure.calls));
        format!("{test} at {:?} by {}: {calls}; found as {found}", failure.site, failure.worker)
    });
    let corpus = ran.corpus.iter().map(|entry| {
        format!("{} with {:?} shows {:?}", describe(&entry.calls), entry.gas, entry.edges)
    });
    let mut told: Vec<String> = failures.chain(corpus).collect();
    told.sort();
    told.push(format!("{} calls, {:?}", ran.summary.calls, ran.summary.ended));
    told
}

/// Targets with states, senders, time and several faults, some of which two workers find at the same time.
const VARIED: [&str; 6] = ["Preimage", "SaysSo", "Shares", "Structs", "TwoAsserts", "Waiting"];

/// How often a run is repeated: threads do not come in another order each time.
const REPEATS: usize = 3;

#[test]
fn a_seed_gives_the_same_run_whatever_the_threads_do() {
    for name in VARIED {
        let subject = subject(name);
        let told = |seed| told(&subject.run(seed, 2), &subject.settings);
        let first = told(5);
        for _ in 0..REPEATS {
            let again = told(5);
            let differs = first.iter().zip(&again).find(|(first, again)| first != again);
            assert!(first.len() == again.len() && differs.is_none(), "{name}: {differs:#?}");
        }
    }
}

#[test]
fn another_seed_gives_other_sequences() {
    for name in VARIED {
        let subject = subject(name);
        let told = |seed| told(&subject.run(seed, 1), &subject.settings);
        assert_ne!(told(1), told(2), "{name}");
    }
}

/// Runs the calls and asks the property, with nothing of the campaign but the machine.
fn breaks(target: &Target, test: usize, calls: &[Call], settings: &Settings) -> bool {
    let limits = Limits { gas: settings.call_gas, time: std::time::Duration::from_secs(60) };
    let mut machine = Machine::new(target.state.clone(), target.codes.clone(), Vec::new(), limits);
    for call in calls {
        machine.wait(call.delay.seconds, call.delay.blocks);
        if let Some(transaction) = call.transaction(target, &mut Vec::new()) {
            machine.call(&transaction);
        }
    }
    let TestKind::Property { function } = target.tests[test].kind else {
        panic!("{} is no property", target.tests[test].name)
    };
    let function = target.function(function);
    let outcome = machine.call(&Transaction {
        from: settings.property_sender,
        to: function.address,
        value: U256::ZERO,
        gas_price: 0,
        data: Bytes::copy_from_slice(&function.selector),
    });
    !outcome.is_success() || U256::try_from_be_slice(&outcome.output) != Some(U256::ONE)
}

#[test]
fn what_was_found_and_what_it_was_shrunk_to_fail_alike() {
    let names = ["Combination", "Waiting", "Reentrancy", "Shares", "Deposits", "Receiver"];
    for subject in names.map(subject) {
        let ran = subject.run(1, 1);
        assert!(!ran.summary.failures.is_empty(), "{}", subject.name);
        for failure in &ran.summary.failures {
            let name = &ran.target.tests[failure.test].name;
            for calls in [&failure.found, &failure.calls] {
                let described = described(calls, &ran.target, &subject.settings);
                let breaks = breaks(&ran.target, failure.test, calls, &subject.settings);
                assert!(breaks, "{}: {name} holds after {described}", subject.name);
            }
            assert!(failure.calls.len() <= failure.found.len(), "{}: {name}", subject.name);
        }
    }
}

#[test]
fn a_failure_of_an_earlier_campaign_is_told_without_new_calls() {
    let mut subject = subject("Combination");
    let earlier = subject.run(1, 1);
    let corpus: Vec<Vec<Call>> =
        earlier.summary.failures.iter().map(|failure| failure.found.clone()).collect();
    assert_eq!(corpus.len(), 2);
    subject.settings.test_limit = 1;
    let told = |ran: &Ran| -> Vec<String> {
        let calls = ran.summary.failures.iter().map(|failure| &failure.calls);
        calls.map(|calls| described(calls, &ran.target, &subject.settings)).collect()
    };
    assert_eq!(told(&subject.run_from(corpus, 2, 1)), told(&earlier));
    assert!(told(&subject.run(2, 1)).is_empty());
}

#[test]
fn the_first_failure_ends_the_campaign_where_that_is_wanted() {
    let mut subject = subject("Combination");
    subject.settings.stop_on_fail = true;
    let ran = subject.run(1, 1);
    let [failure] = &*ran.summary.failures else { panic!("{:?}", ran.summary.failures) };
    assert!(failure.is_shrunk);
    assert_eq!(ran.summary.ended, [Ended::Stopped]);
    assert!(ran.summary.calls < subject.settings.test_limit);
}

#[test]
fn a_contract_that_destroys_itself_is_a_failure_where_that_is_wanted() {
    let mut subject = subject("Destroyed");
    assert!(subject.run(1, 1).summary.failures.is_empty());
    subject.settings.test_destruction = true;
    let Ran { target, summary, .. } = subject.run(1, 1);
    let [failure] = &summary.failures[..] else { panic!("{:?}", summary.failures) };
    let test = &target.tests[failure.test].name;
    let calls: Vec<_> =
        failure.calls.iter().map(|call| reproducer::solidity::call(call, &target)).collect();
    assert_eq!(
        (test.as_str(), calls.join("; ")),
        ("Destroyed is not self-destructed", "arm(); fire()".into())
    );
}

#[test]
fn without_coverage_nothing_is_kept() {
    let mut subject = subject("Magic");
    subject.settings.coverage = false;
    subject.settings.test_limit = 2_000;
    assert_eq!(subject.run(1, 1).corpus.len(), 0);
}
