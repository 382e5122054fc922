//! Events and commands in words.

use ::fuzz::campaign::{Command, Happening};
use ::fuzz::reproducer::solidity;
use ::fuzz::target::Target;

pub(super) fn event(what: &Happening, target: &Target) -> String {
    match what {
        Happening::WorkerStarted => "started".to_owned(),
        Happening::WorkerStopped { reason } => format!("ended: {reason}"),
        Happening::CoverageIncreased { call, branches, corpus } => {
            let noun = if *branches == 1 { "branch" } else { "branches" };
            format!("+{branches} {noun} by {call}, corpus {corpus}")
        }
        Happening::TestFailed { test, calls, is_shrunk } => {
            let name = target.tests.get(*test).map_or("a test", |test| &test.name);
            let how = if *is_shrunk { "made small" } else { "falsified" };
            format!("{name} {how}: {}", count(calls.len()))
        }
        Happening::TransactionExecuted { call, gas, is_success } => {
            let end = if *is_success { "" } else { ", reverted" };
            format!("{call}: {gas} gas{end}")
        }
    }
}

pub(super) fn command(command: &Command, target: &Target) -> String {
    match command {
        Command::Inject(calls) => {
            let lines: Vec<_> = calls.iter().map(|call| solidity::call(call, target)).collect();
            format!("inject {}: {}", count(calls.len()), lines.join("; "))
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
