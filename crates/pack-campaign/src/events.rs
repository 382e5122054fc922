//! Events as they are told: the kind, when and who, and what belongs to each kind.

use contract::time;
use coverage::Report;
use fuzz::call::Call;
use fuzz::campaign::{Event, Happening};
use serde_json::{Value, json};

use crate::corpus::Transactions;
use crate::running::Running;
use crate::text;

/// The name that the contract has for what happened.
pub(crate) fn kind(what: &Happening) -> &'static str {
    match what {
        Happening::TestFailed { .. } => "PropertyFalsified",
        Happening::TransactionExecuted { .. } => "TransactionExecuted",
        Happening::CoverageIncreased { .. } => "CoverageIncreased",
        Happening::WorkerStarted => "WorkerStarted",
        Happening::WorkerStopped { .. } => "WorkerStopped",
    }
}

/// Puts events into words.
pub(crate) struct Teller<'a> {
    pub(crate) running: &'a Running,
    /// Says which lines can run.
    pub(crate) report: &'a Report,
    pub(crate) corpus: &'a Transactions,
}

impl Teller<'_> {
    pub(crate) fn tell(&self, event: &Event) -> Value {
        json!({
            "timestamp": time::of_file(event.time),
            "eventType": kind(&event.what),
            "workerId": event.worker,
            "data": self.data(&event.what),
        })
    }

    fn data(&self, what: &Happening) -> Value {
        let target = self.running.target();
        match what {
            Happening::WorkerStarted => json!({}),
            Happening::WorkerStopped { reason } => json!({"reason": text::bounded(reason)}),
            Happening::TestFailed { test, calls, gas, is_shrunk } => {
                let test = &target.tests[*test];
                json!({
                    "property": text::bounded(&test.name),
                    "contract": text::bounded(&test.contract),
                    "counterexample": text::calls(calls, target),
                    "gasUsed": gas,
                    "shrunk": is_shrunk,
                })
            }
            Happening::CoverageIncreased { entry, corpus } => {
                let call = entry.calls.last();
                json!({
                    "call": call.map(|call| text::call(call, target)),
                    "function": call.and_then(|call| text::function(call, target)),
                    "newBranches": entry.edges.len(),
                    "newLines": self.running.places.lines(&entry.edges, self.report),
                    "corpusSize": self.corpus.up_to(*corpus),
                })
            }
            Happening::TransactionExecuted { call, gas, is_success, is_injected } => {
                self.executed(call, *gas, *is_success, *is_injected)
            }
        }
    }

    fn executed(&self, call: &Call, gas: u64, is_success: bool, is_injected: bool) -> Value {
        let target = self.running.target();
        json!({
            "call": text::call(call, target),
            "function": text::function(call, target),
            "sender": text::address(call.from),
            "value": call.value.to_string(),
            "gasUsed": gas,
            "success": is_success,
            "injected": is_injected,
        })
    }
}
