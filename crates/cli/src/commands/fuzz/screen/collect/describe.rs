//! Formats campaign events and agent commands as text.

use ::fuzz::campaign::{CampaignCommand, CampaignEventKind, SequenceInjection};
use ::fuzz::reproducer::solidity;
use ::fuzz::target::FuzzTarget;

pub(super) fn describe_event(event: &CampaignEventKind, target: &FuzzTarget) -> String {
    match event {
        CampaignEventKind::WorkerStarted => "started".to_owned(),
        CampaignEventKind::WorkerStopped { reason } => format!("ended: {reason}"),
        CampaignEventKind::CoverageIncreased { entry, corpus } => {
            let branches = entry.edges.len();
            let noun = if branches == 1 { "branch" } else { "branches" };
            let last = entry.calls.last().map(|call| solidity::format_call(call, target));
            format!("+{branches} {noun} by {}, corpus {corpus}", last.unwrap_or_default())
        }
        CampaignEventKind::TestFailed { test, calls, is_shrunk, .. } => {
            let name = target.tests.get(*test).map_or("a test", |test| &test.name);
            let state = if *is_shrunk { "shrunk" } else { "falsified" };
            format!("{name} {state}: {}", format_call_count(calls.len()))
        }
        CampaignEventKind::TransactionExecuted { call, gas, is_success, is_injected } => {
            let begin = if *is_injected { "injected " } else { "" };
            let end = if *is_success { "" } else { ", reverted" };
            format!("{begin}{}: {gas} gas{end}", solidity::format_call(call, target))
        }
    }
}

pub(super) fn describe_command(command: &CampaignCommand, target: &FuzzTarget) -> String {
    match command {
        CampaignCommand::Inject(SequenceInjection { steps, .. }) => {
            let lines: Vec<_> = steps.iter().map(|step| step.to_text(target)).collect();
            format!("inject {}: {}", format_call_count(steps.len()), lines.join("; "))
        }
        CampaignCommand::Prioritize(id) => {
            let function = target.function(*id);
            let contract = &target.contracts[function.contract].name;
            format!("prioritize {contract}.{}", function.signature)
        }
        CampaignCommand::ClearPriorities => "clear priorities".to_owned(),
    }
}

fn format_call_count(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}
