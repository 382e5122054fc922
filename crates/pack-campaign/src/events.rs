//! Renders events as JSON: type, time, worker, and the data of each type.

use contract::time;
use coverage::CoverageReport;
use fuzz::call::SequenceCall;
use fuzz::campaign::{CampaignEvent, CampaignEventKind};
use serde_json::{Value, json};

use crate::corpus::CorpusSnapshot;
use crate::text;
use crate::view::CampaignView;

/// Returns the contract's name for an event type.
pub(crate) fn event_type(kind: &CampaignEventKind) -> &'static str {
    match kind {
        CampaignEventKind::TestFailed { .. } => "PropertyFalsified",
        CampaignEventKind::TransactionExecuted { .. } => "TransactionExecuted",
        CampaignEventKind::CoverageIncreased { .. } => "CoverageIncreased",
        CampaignEventKind::WorkerStarted => "WorkerStarted",
        CampaignEventKind::WorkerStopped { .. } => "WorkerStopped",
    }
}

/// Renders events as the contract's JSON objects.
pub(crate) struct EventRenderer<'a> {
    pub(crate) campaign: &'a CampaignView,
    /// Report that determines which lines are executable.
    pub(crate) report: &'a CoverageReport,
    pub(crate) corpus: &'a CorpusSnapshot,
}

impl EventRenderer<'_> {
    pub(crate) fn render_event(&self, event: &CampaignEvent) -> Value {
        json!({
            "timestamp": time::format_system_time(event.time),
            "eventType": event_type(&event.kind),
            "workerId": event.worker,
            "data": self.render_data(&event.kind),
        })
    }

    fn render_data(&self, kind: &CampaignEventKind) -> Value {
        let target = self.campaign.target();
        match kind {
            CampaignEventKind::WorkerStarted => json!({}),
            CampaignEventKind::WorkerStopped { reason } => {
                json!({"reason": text::truncate_text(reason)})
            }
            CampaignEventKind::TestFailed { test, calls, gas, is_shrunk } => {
                let test = &target.tests[*test];
                json!({
                    "property": text::truncate_text(&test.name),
                    "contract": text::truncate_text(&test.contract),
                    "counterexample": text::format_calls(calls, target),
                    "gasUsed": gas,
                    "shrunk": is_shrunk,
                })
            }
            CampaignEventKind::CoverageIncreased { entry, corpus } => {
                let call = entry.calls.last();
                json!({
                    "call": call.map(|call| text::format_call(call, target)),
                    "function": call.and_then(|call| text::called_signature(call, target)),
                    "newBranches": entry.edges.len(),
                    "newLines": self.campaign.branch_locations.branch_lines(&entry.edges, self.report),
                    "corpusSize": self.corpus.count_up_to(*corpus),
                })
            }
            CampaignEventKind::TransactionExecuted { call, gas, is_success, is_injected } => {
                self.render_transaction(call, *gas, *is_success, *is_injected)
            }
        }
    }

    fn render_transaction(
        &self,
        call: &SequenceCall,
        gas: u64,
        is_success: bool,
        is_injected: bool,
    ) -> Value {
        let target = self.campaign.target();
        json!({
            "call": text::format_call(call, target),
            "function": text::called_signature(call, target),
            "sender": text::format_address(call.from),
            "value": call.value.to_string(),
            "gasUsed": gas,
            "success": is_success,
            "injected": is_injected,
        })
    }
}
