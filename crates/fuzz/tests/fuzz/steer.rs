//! Tests of steered campaigns: injected sequences run and are mutated, prioritized functions are called more often, and
//! a steered run is reproducible.

use std::collections::BTreeSet;
use std::time::Duration;

use alloy_primitives::U256;
use fastrand::Rng;
use fuzz::abi::{AbiType, AbiValue};
use fuzz::call::{CallPayload, SequenceCall};
use fuzz::campaign::{
    CampaignCommand, CampaignEvent, CampaignEventKind, MAX_SAMPLED_CALLS, SequenceInjection,
};
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::generate::{CallGenerator, FunctionChoice, ValueDictionary};
use fuzz::reproducer::solidity;
use fuzz::script;
use fuzz::target::{FunctionId, FuzzTarget};

use crate::suite::expectation::describe_calls;
use crate::suite::{FinishedRun, TargetSubject, subject};
use crate::targets::{self, SENDER};

/// Longer than any campaign here takes.
const LONG: Duration = Duration::from_secs(600);

fn inject(target: &FuzzTarget, calls: &[&str]) -> CampaignCommand {
    let steps = calls.iter().map(|call| script::parse_call(call, target).unwrap()).collect();
    CampaignCommand::Inject(SequenceInjection { steps, sender: SENDER, value: U256::from(7) })
}

fn prioritize(target: &FuzzTarget, signature: &str) -> CampaignCommand {
    CampaignCommand::Prioritize(target.find_function(signature, None).unwrap())
}

/// Returns a target without failures, so that campaigns reach their limits.
fn exploration_subject(name: &str, calls: u64) -> TargetSubject {
    let mut subject = subject(name);
    subject.settings.test_mode = TestMode::Exploration;
    subject.settings.test_limit = calls;
    subject
}

fn events(ran: &FinishedRun) -> Vec<CampaignEvent> {
    ran.shared.events.last_events(usize::MAX)
}

/// Returns the injected calls that a worker ran, in order.
fn injected_calls(ran: &FinishedRun, worker: usize) -> Vec<(SequenceCall, bool)> {
    let events = events(ran);
    let of_worker = events.iter().rev().filter(|event| event.worker == worker);
    let calls = of_worker.filter_map(|event| match &event.kind {
        CampaignEventKind::TransactionExecuted { call, is_success, is_injected: true, .. } => {
            Some((call.clone(), *is_success))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn every_worker_runs_injected_calls_unchanged() {
    let subject = exploration_subject("Combination", 1_000);
    let written = ["blue(90210)", "red(5521)", "green(17)", "white(4)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 3);
    for worker in 0..3 {
        let calls = injected_calls(&ran, worker);
        let texts: Vec<_> =
            calls.iter().map(|(call, _)| solidity::format_call(call, &ran.target)).collect();
        assert_eq!(texts, written, "worker {worker}");
        let is_plain = |call: &SequenceCall| {
            call.from == SENDER && call.value.is_zero() && call.delay.is_zero()
        };
        assert!(calls.iter().all(|(call, is_success)| *is_success && is_plain(call)));
    }
}

#[test]
fn each_worker_fills_holes_differently() {
    let subject = exploration_subject("Token", 1_000);
    let written = ["transfer(?, 5)", "approve(0x0000000000000000000000000000000000020000, ?)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 4);
    let mut filled = BTreeSet::new();
    for worker in 0..4 {
        let calls = injected_calls(&ran, worker);
        let [(transfer, _), (approve, _)] = &calls[..] else { panic!("{calls:?}") };
        let [CallPayload::Function { args: first, .. }, CallPayload::Function { args: second, .. }] =
            [&transfer.payload, &approve.payload]
        else {
            panic!("{calls:?}")
        };
        assert_eq!(first[1], AbiValue::Word(U256::from(5)));
        assert_eq!(second[0], AbiValue::Word(U256::from(0x20000)));
        assert!(first[0].matches_type(&AbiType::Address));
        filled.insert((first[0].clone(), second[1].clone()));
    }
    assert!(filled.len() > 1, "{filled:?}");
}

#[test]
fn sends_value_only_to_payable_functions() {
    let subject = exploration_subject("Auction", 1_000);
    let ran = subject.run_steered(|target| vec![(0, inject(target, &["bid()", "refund()"]))], 1, 1);
    let values: Vec<_> = injected_calls(&ran, 0).iter().map(|(call, _)| call.value).collect();
    assert_eq!(values, [U256::from(7), U256::ZERO]);
}

/// Most calls burn all their gas, so sequences take long.
#[test]
fn every_worker_starts_commands_while_calls_are_slow() {
    let campaign = exploration_subject("Endless", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared().clone();
    let give = |command| shared.issue_command(command, |_| Ok::<(), ()>(())).unwrap();
    let mut subscription = shared.events.subscribe();
    give(prioritize(&shared.target, "burn(bool)"));
    for _ in 0..3 {
        give(inject(&shared.target, &["rest()"]));
        let mut workers: BTreeSet<usize> = (0..2).collect();
        while !workers.is_empty() {
            for event in subscription.next_batch(LONG).events {
                if matches!(
                    event.kind,
                    CampaignEventKind::TransactionExecuted { is_injected: true, .. }
                ) {
                    workers.remove(&event.worker);
                }
            }
        }
    }
    shared.kill();
    campaign.wait();
}

/// Ten calls find nothing without the injection.
#[test]
fn injected_sequence_with_new_coverage_is_kept_and_breaks_tests() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 10;
    let written = ["blue(90210)", "red(5521)", "green(17)", "white(4)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 1);
    let is_whole = |calls: &[SequenceCall]| {
        let calls: Vec<_> = calls.iter().map(|it| solidity::format_call(it, &ran.target)).collect();
        calls == written
    };
    assert!(ran.corpus.iter().any(|entry| is_whole(&entry.calls)));
    assert_eq!(ran.summary.failures.len(), 2);
    let alone = subject.run(1, 1);
    assert!(alone.summary.failures.is_empty() && alone.corpus.len() < ran.corpus.len());
}

/// One number is off by one: mutation fixes it, while chance alone does not in so few calls.
#[test]
fn mutates_injected_sequences() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 1_000;
    let written = ["blue(90210)", "red(5521)", "green(18)", "white(4)"];
    let failures = |commands: Vec<CampaignCommand>| {
        let commands = commands.into_iter().map(|command| (0, command)).collect();
        subject.run_steered(|_| commands, 1, 1).summary.failures.len()
    };
    let target = subject.run(1, 1).target;
    assert_eq!((failures(vec![inject(&target, &written)]), failures(Vec::new())), (2, 1));
}

/// Summarizes a run independently of the order of workers.
fn summarize_run(ran: &FinishedRun, settings: &CampaignSettings) -> Vec<String> {
    let describe = |calls: &[SequenceCall]| describe_calls(calls, &ran.target, settings);
    let corpus = ran.corpus.iter().map(|entry| {
        format!("{} with {:?} shows {:?}", describe(&entry.calls), entry.gas, entry.edges)
    });
    let mut lines: Vec<String> = corpus.collect();
    lines.sort();
    lines.push(format!("{} calls, {:?}", ran.summary.calls, ran.summary.ended));
    lines.push(format!("{:?}", ran.shared.statistics()));
    for worker in 0..ran.shared.worker_count() {
        lines.push(format!("worker {worker} injected {:?}", injected_calls(ran, worker)));
    }
    lines
}

#[test]
fn steered_run_is_reproducible_with_its_commands() {
    let subject = exploration_subject("Token", 400_000);
    let commands = |target: &FuzzTarget| {
        vec![
            (1, inject(target, &["transfer(?, ?)", "burn(?)"])),
            (2, prioritize(target, "burn(uint256)")),
            (3, inject(target, &["approve(?, 1 ether)"])),
            (4, CampaignCommand::ClearPriorities),
        ]
    };
    let run = || {
        let ran = subject.run_steered(commands, 5, 2);
        assert!(ran.shared.rounds().iter().all(|round| *round > 4), "{:?}", ran.shared.rounds());
        summarize_run(&ran, &subject.settings)
    };
    let first = run();
    for _ in 0..3 {
        let again = run();
        let differs = first.iter().zip(&again).find(|(first, again)| first != again);
        assert!(first.len() == again.len() && differs.is_none(), "{differs:#?}");
    }
    assert_ne!(
        first,
        summarize_run(&subject.run(5, 2), &subject.settings),
        "commands change nothing"
    );
}

/// Returns eight functions that change state; view functions are called less often.
fn eight() -> FuzzTarget {
    let mut target = targets::target(&[
        "function a(uint256)",
        "function b(address,uint256)",
        "function c()",
        "function d(bool)",
        "function e(bytes)",
        "function f(string)",
        "function g(uint8)",
        "function h()",
    ]);
    target.callable = (0..8).map(FunctionId).collect();
    target
}

/// Nine of ten new calls are drawn from the prioritized set and one from all functions, including the set. So the share
/// of a set of k of n functions is 0.9 + 0.1 k/n.
#[test]
fn draws_nine_of_ten_new_calls_from_prioritized_functions() {
    const CALLS: usize = 40_000;
    let target = eight();
    let settings = CampaignSettings::default();
    for set in [vec![0], vec![2, 5]] {
        let set: Vec<_> = set.into_iter().map(FunctionId).collect();
        let mut choice = FunctionChoice::new(&target);
        choice.priorities.clone_from(&set);
        let dictionary = ValueDictionary::default();
        let mut rng = Rng::with_seed(11);
        let mut generator = CallGenerator {
            rng: &mut rng,
            dictionary: &dictionary,
            settings: &settings,
            target: &target,
            choice: &choice,
            returned: &[],
            created: &[],
        };
        let drawn: Vec<_> =
            (0..CALLS).filter_map(|_| generator.generate_call().function()).collect();
        let count = |wanted: &dyn Fn(&FunctionId) -> bool| {
            drawn.iter().filter(|it| wanted(it)).count() as f64 / CALLS as f64
        };
        let expected = 0.9 + 0.1 * set.len() as f64 / 8.0;
        let share = count(&|it| set.contains(it));
        assert!((share - expected).abs() < 0.015, "{share}, not {expected}");
        for one in &set {
            let share = count(&|it| it == one);
            let expected = expected / set.len() as f64;
            assert!((share - expected).abs() < 0.015, "{one:?}: {share}, not {expected}");
        }
        let others = (0..8).map(FunctionId).filter(|it| !set.contains(it));
        for other in others {
            let share = count(&|it| *it == other);
            assert!((share - 0.1 / 8.0).abs() < 0.005, "{other:?}: {share}");
        }
    }
}

/// Returns the share of calls to this function, with or without prioritizing it.
fn share(subject: &TargetSubject, signature: &str, is_preferred: bool) -> f64 {
    let commands = |target: &FuzzTarget| match is_preferred {
        true => vec![(1, prioritize(target, signature))],
        false => Vec::new(),
    };
    let ran = subject.run_steered(commands, 1, 2);
    let function = ran.target.find_function(signature, None).unwrap();
    let statistics = ran.shared.statistics();
    let all: u64 = statistics.iter().map(|it| it.calls).sum();
    statistics[function.0 as usize].calls as f64 / all as f64
}

/// The command takes effect after the first round, and mutated sequences contain other calls, too: hence the wider
/// bound.
#[test]
fn running_campaign_mostly_calls_prioritized_functions() {
    for (name, signature) in [("Token", "burn(uint256)"), ("Permissions", "spend(address,uint256)")]
    {
        let subject = exploration_subject(name, 600_000);
        let [with, without] = [true, false].map(|it| share(&subject, signature, it));
        assert!(with > 0.75 && without < 0.4, "{name}: {with} with, {without} without");
    }
}

#[test]
fn lists_and_clears_priorities() {
    let campaign = exploration_subject("Token", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared();
    let [burn, approve] = ["burn(uint256)", "approve(address,uint256)"]
        .map(|signature| shared.target.find_function(signature, None).unwrap());
    for function in [burn, approve, burn] {
        shared.issue_command(CampaignCommand::Prioritize(function), |_| Ok::<(), ()>(())).unwrap();
    }
    assert_eq!(shared.priorities(), [burn, approve]);
    shared.issue_command(CampaignCommand::ClearPriorities, |_| Ok::<(), ()>(())).unwrap();
    assert!(shared.priorities().is_empty() && shared.accepts_commands());
    shared.kill();
    let shared = shared.clone();
    campaign.wait();
    assert!(shared.has_ended() && !shared.accepts_commands());
}

#[test]
fn sample_reports_return_values() {
    let campaign = exploration_subject("Token", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared().clone();
    let transfer = shared.target.find_function("transfer(address,uint256)", None).unwrap();
    let sampled = shared.start_sample(transfer, 500).wait(LONG);
    assert_eq!(sampled.calls, 500);
    assert!(sampled.reverts <= 500);
    let (least, most) = sampled.gas.unwrap();
    assert!(least <= most && most > 0);
    let [output] = &sampled.outputs[..] else { panic!("{sampled:?}") };
    assert_eq!(output.ty, AbiType::Bool);
    let truth = AbiValue::Word(U256::ONE);
    assert!(output.range.as_ref().is_none_or(|range| *range == (truth.clone(), truth)));
    // The end of the campaign releases waiting samples.
    let endless = shared.start_sample(transfer, MAX_SAMPLED_CALLS);
    shared.kill();
    let rest = endless.wait(LONG);
    assert!(rest.calls < MAX_SAMPLED_CALLS);
    campaign.wait();
    let late = shared.start_sample(transfer, 1).wait(LONG);
    assert_eq!((late.calls, late.gas), (0, None));
}

#[test]
fn lists_all_kinds_of_events_newest_first() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 100_000;
    let commands = |target: &FuzzTarget| vec![(0, inject(target, &["blue(90210)", "red(5521)"]))];
    let ran = subject.run_steered(commands, 1, 2);
    let events = events(&ran);
    assert!(events.is_sorted_by(|a, b| a.time >= b.time));
    let kinds: BTreeSet<&str> = events.iter().map(|event| kind(&event.kind)).collect();
    let all = ["failed", "news", "ran", "started", "stopped"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
    let failed = events.iter().filter_map(|event| match &event.kind {
        CampaignEventKind::TestFailed { calls, gas, .. } => Some((calls.len(), *gas)),
        _ => None,
    });
    assert!(failed.into_iter().all(|(calls, gas)| calls > 0 && gas > 0));
    assert_eq!(ran.shared.events.len(), events.len());
}

fn kind(what: &CampaignEventKind) -> &'static str {
    match what {
        CampaignEventKind::WorkerStarted => "started",
        CampaignEventKind::WorkerStopped { .. } => "stopped",
        CampaignEventKind::CoverageIncreased { .. } => "news",
        CampaignEventKind::TestFailed { .. } => "failed",
        CampaignEventKind::TransactionExecuted { .. } => "ran",
    }
}

#[test]
fn counts_new_coverage_per_function() {
    let ran = exploration_subject("Token", 20_000).run(1, 2);
    let news: u64 = ran.shared.statistics().iter().map(|it| it.news).sum();
    assert_eq!(news, ran.corpus.len() as u64);
    let reported = events(&ran).into_iter().find_map(|event| {
        matches!(event.kind, CampaignEventKind::CoverageIncreased { .. }).then_some(event.time)
    });
    let (reported, last) = (reported.unwrap(), ran.shared.last_coverage_time().unwrap());
    assert!(reported.duration_since(last).unwrap_or_default() < Duration::from_secs(60));
}
