//! Campaigns that somebody steers and watches: what is injected is run and gone on from, what is preferred is called more
//! often, and a steered run can be repeated.

use std::collections::BTreeSet;
use std::time::Duration;

use alloy_primitives::U256;
use fastrand::Rng;
use fuzz::abi::{Type, Value};
use fuzz::call::{Call, What};
use fuzz::campaign::{Command, Event, Happening, Injection, MAX_SAMPLED};
use fuzz::config::{Settings, TestMode};
use fuzz::generate::{Choice, Dictionary, Generator};
use fuzz::reproducer::solidity;
use fuzz::script;
use fuzz::target::{FunctionId, Target};

use crate::suite::expectation::described;
use crate::suite::{Ran, Subject, subject};
use crate::targets::{self, SENDER};

/// Longer than any campaign here takes; nobody waits so long.
const LONG: Duration = Duration::from_secs(600);

fn inject(target: &Target, calls: &[&str]) -> Command {
    let steps = calls.iter().map(|call| script::read(call, target).unwrap()).collect();
    Command::Inject(Injection { steps, sender: SENDER, value: U256::from(7) })
}

fn prioritize(target: &Target, signature: &str) -> Command {
    Command::Prioritize(target.find(signature, None).unwrap())
}

/// A target of which nothing fails, so that campaigns reach their limits.
fn explored(name: &str, calls: u64) -> Subject {
    let mut subject = subject(name);
    subject.settings.test_mode = TestMode::Exploration;
    subject.settings.test_limit = calls;
    subject
}

fn events(ran: &Ran) -> Vec<Event> {
    ran.shared.events.last(usize::MAX)
}

/// Calls that were injected, as each worker ran them, in order.
fn injected(ran: &Ran, worker: usize) -> Vec<(Call, bool)> {
    let events = events(ran);
    let of_worker = events.iter().rev().filter(|event| event.worker == worker);
    let calls = of_worker.filter_map(|event| match &event.what {
        Happening::TransactionExecuted { call, is_success, is_injected: true, .. } => {
            Some((call.clone(), *is_success))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn every_worker_runs_what_is_injected_as_it_is_written() {
    let subject = explored("Combination", 1_000);
    let written = ["blue(90210)", "red(5521)", "green(17)", "white(4)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 3);
    for worker in 0..3 {
        let told = injected(&ran, worker);
        let calls: Vec<_> =
            told.iter().map(|(call, _)| solidity::call(call, &ran.target)).collect();
        assert_eq!(calls, written, "worker {worker}");
        let is_plain =
            |call: &Call| call.from == SENDER && call.value.is_zero() && call.delay.is_none();
        assert!(told.iter().all(|(call, is_success)| *is_success && is_plain(call)));
    }
}

#[test]
fn holes_are_filled_by_each_worker_in_its_own_way() {
    let subject = explored("Token", 1_000);
    let written = ["transfer(?, 5)", "approve(0x0000000000000000000000000000000000020000, ?)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 4);
    let mut filled = BTreeSet::new();
    for worker in 0..4 {
        let told = injected(&ran, worker);
        let [(transfer, _), (approve, _)] = &told[..] else { panic!("{told:?}") };
        let [What::Function { args: first, .. }, What::Function { args: second, .. }] =
            [&transfer.what, &approve.what]
        else {
            panic!("{told:?}")
        };
        assert_eq!(first[1], Value::Word(U256::from(5)));
        assert_eq!(second[0], Value::Word(U256::from(0x20000)));
        assert!(first[0].is_of(&Type::Address));
        filled.insert((first[0].clone(), second[1].clone()));
    }
    assert!(filled.len() > 1, "{filled:?}");
}

#[test]
fn wei_go_only_with_functions_that_take_them() {
    let subject = explored("Auction", 1_000);
    let ran = subject.run_steered(|target| vec![(0, inject(target, &["bid()", "refund()"]))], 1, 1);
    let values: Vec<_> = injected(&ran, 0).iter().map(|(call, _)| call.value).collect();
    assert_eq!(values, [U256::from(7), U256::ZERO]);
}

/// Most calls burn all the gas that they get, so sequences take long.
#[test]
fn what_is_given_while_calls_are_slow_is_begun_by_every_worker() {
    let campaign = explored("Endless", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared().clone();
    let give = |command| shared.give(command, |_| Ok::<(), ()>(())).unwrap();
    let mut subscription = shared.events.subscribe();
    give(prioritize(&shared.target, "burn(bool)"));
    for _ in 0..3 {
        give(inject(&shared.target, &["rest()"]));
        let mut workers: BTreeSet<usize> = (0..2).collect();
        while !workers.is_empty() {
            for event in subscription.next(LONG).events {
                if matches!(event.what, Happening::TransactionExecuted { is_injected: true, .. }) {
                    workers.remove(&event.worker);
                }
            }
        }
    }
    shared.kill();
    campaign.wait();
}

/// Ten calls: without the injection nothing is found in so few.
#[test]
fn an_injected_sequence_that_shows_something_is_kept_and_breaks_what_it_can() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 10;
    let written = ["blue(90210)", "red(5521)", "green(17)", "white(4)"];
    let ran = subject.run_steered(|target| vec![(0, inject(target, &written))], 1, 1);
    let is_whole = |calls: &[Call]| {
        let calls: Vec<_> = calls.iter().map(|it| solidity::call(it, &ran.target)).collect();
        calls == written
    };
    assert!(ran.corpus.iter().any(|entry| is_whole(&entry.calls)));
    assert_eq!(ran.summary.failures.len(), 2);
    let alone = subject.run(1, 1);
    assert!(alone.summary.failures.is_empty() && alone.corpus.len() < ran.corpus.len());
}

/// One number is one off: all that is locked opens all the same, which chance alone does not manage in so few calls.
#[test]
fn what_is_injected_is_gone_on_from_with_changes() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 1_000;
    let written = ["blue(90210)", "red(5521)", "green(18)", "white(4)"];
    let failures = |commands: Vec<Command>| {
        let commands = commands.into_iter().map(|command| (0, command)).collect();
        subject.run_steered(|_| commands, 1, 1).summary.failures.len()
    };
    let target = subject.run(1, 1).target;
    assert_eq!((failures(vec![inject(&target, &written)]), failures(Vec::new())), (2, 1));
}

/// Everything that a run may tell, in an order that does not depend on who was first.
fn told(ran: &Ran, settings: &Settings) -> Vec<String> {
    let describe = |calls: &[Call]| described(calls, &ran.target, settings);
    let corpus = ran.corpus.iter().map(|entry| {
        format!("{} with {:?} shows {:?}", describe(&entry.calls), entry.gas, entry.edges)
    });
    let mut told: Vec<String> = corpus.collect();
    told.sort();
    told.push(format!("{} calls, {:?}", ran.summary.calls, ran.summary.ended));
    told.push(format!("{:?}", ran.shared.statistics()));
    for worker in 0..ran.shared.workers() {
        told.push(format!("worker {worker} injected {:?}", injected(ran, worker)));
    }
    told
}

#[test]
fn a_steered_run_is_repeated_with_its_commands() {
    let subject = explored("Token", 400_000);
    let commands = |target: &Target| {
        vec![
            (1, inject(target, &["transfer(?, ?)", "burn(?)"])),
            (2, prioritize(target, "burn(uint256)")),
            (3, inject(target, &["approve(?, 1 ether)"])),
            (4, Command::ClearPriorities),
        ]
    };
    let run = || {
        let ran = subject.run_steered(commands, 5, 2);
        assert!(ran.shared.rounds().iter().all(|round| *round > 4), "{:?}", ran.shared.rounds());
        told(&ran, &subject.settings)
    };
    let first = run();
    for _ in 0..3 {
        let again = run();
        let differs = first.iter().zip(&again).find(|(first, again)| first != again);
        assert!(first.len() == again.len() && differs.is_none(), "{differs:#?}");
    }
    assert_ne!(first, told(&subject.run(5, 2), &subject.settings), "commands change nothing");
}

/// Functions that change something; those that do not are called less often.
fn eight() -> Target {
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

/// Nine of ten new calls are drawn from the set and one from all functions, those of the set included; so the share of
/// a set of k of n functions is 0.9 + 0.1 k/n.
#[test]
fn nine_of_ten_new_calls_are_drawn_from_the_set() {
    const CALLS: usize = 40_000;
    let target = eight();
    let settings = Settings::default();
    for set in [vec![0], vec![2, 5]] {
        let set: Vec<_> = set.into_iter().map(FunctionId).collect();
        let mut choice = Choice::new(&target);
        choice.priorities.clone_from(&set);
        let dictionary = Dictionary::default();
        let mut rng = Rng::with_seed(11);
        let mut generator = Generator {
            rng: &mut rng,
            dictionary: &dictionary,
            settings: &settings,
            target: &target,
            choice: &choice,
            returned: &[],
        };
        let drawn: Vec<_> = (0..CALLS).filter_map(|_| generator.call().function()).collect();
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

/// How much of a campaign's calls go to this function, with and without a command.
fn share(subject: &Subject, signature: &str, is_preferred: bool) -> f64 {
    let commands = |target: &Target| match is_preferred {
        true => vec![(1, prioritize(target, signature))],
        false => Vec::new(),
    };
    let ran = subject.run_steered(commands, 1, 2);
    let function = ran.target.find(signature, None).unwrap();
    let statistics = ran.shared.statistics();
    let all: u64 = statistics.iter().map(|it| it.calls).sum();
    statistics[function.0 as usize].calls as f64 / all as f64
}

/// The first round is over when the command takes effect, and sequences that are gone on from have other calls, too: hence
/// the wider bound.
#[test]
fn a_running_campaign_calls_what_is_preferred_most_of_the_time() {
    for (name, signature) in [("Token", "burn(uint256)"), ("Permissions", "spend(address,uint256)")]
    {
        let subject = explored(name, 600_000);
        let [with, without] = [true, false].map(|it| share(&subject, signature, it));
        assert!(with > 0.75 && without < 0.4, "{name}: {with} with, {without} without");
    }
}

#[test]
fn the_set_is_told_and_cleared() {
    let campaign = explored("Token", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared();
    let [burn, approve] = ["burn(uint256)", "approve(address,uint256)"]
        .map(|signature| shared.target.find(signature, None).unwrap());
    for function in [burn, approve, burn] {
        shared.give(Command::Prioritize(function), |_| Ok::<(), ()>(())).unwrap();
    }
    assert_eq!(shared.priorities(), [burn, approve]);
    shared.give(Command::ClearPriorities, |_| Ok::<(), ()>(())).unwrap();
    assert!(shared.priorities().is_empty() && shared.takes_commands());
    shared.kill();
    let shared = shared.clone();
    campaign.wait();
    assert!(shared.has_ended() && !shared.takes_commands());
}

#[test]
fn a_sample_says_what_a_function_returns() {
    let campaign = explored("Token", u64::MAX).start(Vec::new(), |_| Vec::new(), 1, 2);
    let shared = campaign.shared().clone();
    let transfer = shared.target.find("transfer(address,uint256)", None).unwrap();
    let sampled = shared.sample(transfer, 500).wait(LONG);
    assert_eq!(sampled.calls, 500);
    assert!(sampled.reverts <= 500);
    let (least, most) = sampled.gas.unwrap();
    assert!(least <= most && most > 0);
    let [output] = &sampled.outputs[..] else { panic!("{sampled:?}") };
    assert_eq!(output.ty, Type::Bool);
    let truth = Value::Word(U256::ONE);
    assert!(output.range.as_ref().is_none_or(|range| *range == (truth.clone(), truth)));
    // Whoever waits when the campaign ends waits no longer.
    let endless = shared.sample(transfer, MAX_SAMPLED);
    shared.kill();
    let rest = endless.wait(LONG);
    assert!(rest.calls < MAX_SAMPLED);
    campaign.wait();
    let late = shared.sample(transfer, 1).wait(LONG);
    assert_eq!((late.calls, late.gas), (0, None));
}

#[test]
fn all_kinds_of_events_are_told_newest_first() {
    let mut subject = subject("Combination");
    subject.settings.test_limit = 100_000;
    let commands = |target: &Target| vec![(0, inject(target, &["blue(90210)", "red(5521)"]))];
    let ran = subject.run_steered(commands, 1, 2);
    let events = events(&ran);
    assert!(events.is_sorted_by(|a, b| a.time >= b.time));
    let kinds: BTreeSet<&str> = events.iter().map(|event| kind(&event.what)).collect();
    let all = ["failed", "news", "ran", "started", "stopped"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
    let failed = events.iter().filter_map(|event| match &event.what {
        Happening::TestFailed { calls, gas, .. } => Some((calls.len(), *gas)),
        _ => None,
    });
    assert!(failed.into_iter().all(|(calls, gas)| calls > 0 && gas > 0));
    assert_eq!(ran.shared.events.len(), events.len());
}

fn kind(what: &Happening) -> &'static str {
    match what {
        Happening::WorkerStarted => "started",
        Happening::WorkerStopped { .. } => "stopped",
        Happening::CoverageIncreased { .. } => "news",
        Happening::TestFailed { .. } => "failed",
        Happening::TransactionExecuted { .. } => "ran",
    }
}

#[test]
fn who_found_what_was_new_is_counted() {
    let ran = explored("Token", 20_000).run(1, 2);
    let news: u64 = ran.shared.statistics().iter().map(|it| it.news).sum();
    assert_eq!(news, ran.corpus.len() as u64);
    let told = events(&ran).into_iter().find_map(|event| {
        matches!(event.what, Happening::CoverageIncreased { .. }).then_some(event.time)
    });
    let (told, last) = (told.unwrap(), ran.shared.last_news().unwrap());
    assert!(told.duration_since(last).unwrap_or_default() < Duration::from_secs(60));
}
