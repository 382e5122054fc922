//! `read_logs`: returns the most recent events.

use contract::{CallContext, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::campaign::{CampaignEvent, EVENT_CAPACITY};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::whole_number::WholeNumber;
use super::{CampaignToolSpec, build_example, invalid_argument};
use crate::events::{self, EventRenderer};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadLogsInput {
    count: usize,
    event_type: Option<String>,
    worker_id: Option<WholeNumber>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadLogsOutput {
    events: Vec<Value>,
    total_count: usize,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Read the campaign's events",
        description: "Returns the last events of the campaign, newest first: failed properties with their \
                      counterexample, transactions of injected sequences, new coverage with the lines it reached, and \
                      workers that started or stopped. Filters combine. The campaign keeps its last 2,500 events; \
                      `totalCount` is the number of kept events.",
        examples: vec![
            build_example(
                "failed properties",
                json!({"count": 50, "eventType": "PropertyFalsified"}),
                json!({
                    "events": [{
                        "timestamp": "2026-01-15T10:35:12.250Z",
                        "eventType": "PropertyFalsified",
                        "workerId": 2,
                        "data": {
                            "property": "echidna_nobody_owns_more_than_there_is",
                            "contract": "Vault",
                            "counterexample": ["deposit(1)", "move(0x0000000000000000000000000000000000010000, 1)"],
                            "gasUsed": 45000,
                            "shrunk": true,
                        },
                    }],
                    "totalCount": 1523,
                }),
            ),
            build_example(
                "events of worker 0",
                json!({"count": 10, "workerId": 0}),
                json!({"events": [], "totalCount": 0}),
            ),
        ],
        check: |campaign, arguments| {
            let ReadLogsInput { worker_id, .. } = parse_arguments(arguments.clone())?;
            check_worker(campaign, worker_id)
        },
        ..CampaignToolSpec::new(
            "read_logs",
            ToolSchemas::from_contract_json(include_str!("../schemas/read_logs.json")),
            read_logs,
        )
    }
}

fn check_worker(campaign: &CampaignView, worker: Option<WholeNumber>) -> Result<(), ToolError> {
    let workers = campaign.shared.worker_count() as u64;
    match worker {
        Some(WholeNumber(worker)) if worker >= workers => {
            let known: Vec<String> = (0..workers.min(64)).map(|id| id.to_string()).collect();
            let message = format!(
                "unknown `workerId` {worker}; the workers of this campaign are {}",
                known.join(", ")
            );
            Err(invalid_argument("workerId", message).with_detail("workers", workers))
        }
        _ => Ok(()),
    }
}

fn read_logs(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let ReadLogsInput { count, event_type, worker_id } = parse_arguments(arguments)?;
    let is_wanted = |event: &CampaignEvent| {
        worker_id.is_none_or(|WholeNumber(id)| event.worker as u64 == id)
            && event_type.as_deref().is_none_or(|kind| events::event_type(&event.kind) == kind)
    };
    to_output(&read_events(campaign, count, is_wanted))
}

/// Returns the newest `count` events that match, newest first.
pub(crate) fn read_events(
    campaign: &CampaignView,
    count: usize,
    is_wanted: impl Fn(&CampaignEvent) -> bool,
) -> ReadLogsOutput {
    let mut last = campaign.shared.events.last_events(EVENT_CAPACITY);
    let total_count = last.len();
    last.retain(is_wanted);
    last.truncate(count);
    let (covered, corpus) =
        (campaign.coverage.any_snapshot(), campaign.corpus.current_snapshot(&campaign.shared));
    let teller = EventRenderer { campaign, report: &covered.report, corpus: &corpus };
    ReadLogsOutput {
        events: last.iter().map(|event| teller.render_event(event)).collect(),
        total_count,
    }
}
