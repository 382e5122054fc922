//! `read_logs`: what happened last.

use contract::{CallContext, Output, ToolError, parse, to_output};
use fuzz::campaign::{CAPACITY, Event};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::whole::Whole;
use super::{Spec, example, invalid};
use crate::events::{self, Teller};
use crate::running::Running;
use crate::schema::Schemas;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    count: usize,
    event_type: Option<String>,
    worker_id: Option<Whole>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told {
    events: Vec<Value>,
    total_count: usize,
}

pub(super) fn spec() -> Spec {
    Spec {
        title: "Read the campaign's events",
        description: "The last events of the campaign, newest first: failed properties with their counterexample, \
                      transactions of injected sequences, new coverage with the lines it led to, workers that started \
                      or stopped. Filters combine. The campaign keeps its last 2,500 events; `totalCount` says how \
                      many there are.",
        examples: vec![
            example(
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
            example(
                "what worker 0 did",
                json!({"count": 10, "workerId": 0}),
                json!({"events": [], "totalCount": 0}),
            ),
        ],
        check: |running, arguments| {
            let Input { worker_id, .. } = parse(arguments.clone())?;
            check_worker(running, worker_id)
        },
        ..Spec::new("read_logs", Schemas::agreed(include_str!("../schemas/read_logs.json")), run)
    }
}

fn check_worker(running: &Running, worker: Option<Whole>) -> Result<(), ToolError> {
    let workers = running.shared.workers() as u64;
    match worker {
        Some(Whole(worker)) if worker >= workers => {
            let known: Vec<String> = (0..workers.min(64)).map(|id| id.to_string()).collect();
            let message = format!(
                "`workerId` {worker} is no worker of this campaign; its workers are {}",
                known.join(", ")
            );
            Err(invalid("workerId", message).with("workers", workers))
        }
        _ => Ok(()),
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let Input { count, event_type, worker_id } = parse(arguments)?;
    let is_wanted = |event: &Event| {
        worker_id.is_none_or(|Whole(id)| event.worker as u64 == id)
            && event_type.as_deref().is_none_or(|kind| events::kind(&event.what) == kind)
    };
    to_output(&told(running, count, is_wanted))
}

/// The newest first, of those that are wanted.
pub(crate) fn told(running: &Running, count: usize, is_wanted: impl Fn(&Event) -> bool) -> Told {
    let mut last = running.shared.events.last(CAPACITY);
    let total_count = last.len();
    last.retain(is_wanted);
    last.truncate(count);
    let (covered, corpus) = (running.cover.any(), running.corpus.now(&running.shared));
    let teller = Teller { running, report: &covered.report, corpus: &corpus };
    Told { events: last.iter().map(|event| teller.tell(event)).collect(), total_count }
}
