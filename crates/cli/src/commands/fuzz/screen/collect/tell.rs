//! Events and commands in words.

use ::fuzz::campaign::{Command, Happening, Injection};
use ::fuzz::reproducer::solidity;
use ::fuzz::target::Target;

pub(super) fn event(what: &Happening, target: &Target) -> String {
    match what {
        Happening::WorkerStarted => "started".to_owned(),
        Happening::WorkerStopped { reason } => format!("ended: {reason}"),
        Happening::CoverageIncreased { entry, corpus } => {
            let branches = entry.edges.len();
            let noun = if branches == 1 { "branch" } else { "branches" };
            let last = entry.calls.last().map(|call| solidity::call(call, target));
            format!("+{branches} {noun} by {}, corpus {corpus}", last.unwrap_or_default())
        }
        Happening::TestFailed { test, calls, is_shrunk, .. } => {
            let name = target.tests.get(*test).map_or("a test", |test| &test.name);
            let how = if *is_shrunk { "made small" } else { "falsified" };
            format!("{name} {how}: {}", count(calls.len()))
        }
        Happening::TransactionExecuted { call, gas, is_success, is_injected } => {
            let begin = if *is_injected { "injected " } else { "" };
            let end = if *is_success { "" } else { ", reverted" };
            format!("{begin}{}: {gas} gas{end}", solidity::call(call, target))
        }
    }
}

pub(super) fn command(command: &Command, target: &Target) -> String {
    match command {
        Command::Inject(Injection { steps, .. }) => {
            let lines: Vec<_> = steps.iter().map(|step| step.text(target)).collect();
            format!("inject {}: {}", count(steps.len()), lines.join("; "))
        }
        Command::Prioritize(id) => {
            let function = target.function(*id);
            let contract = &target.contracts[function.contract].name;
            format!("prioritize {contract}.{}", function.signature)
        }
        Command::ClearPriorities => "clear the priorities".to_owned(),
    }
}

fn count(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}
