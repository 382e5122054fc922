//! Replay results as JSON.

use ::fuzz::trace::{CallExecution, CallTrace, FrameEnd, TracedCall, TracedEvent, TracedFrame};
use alloy_primitives::hex;
use serde_json::{Value, json};

use super::evaluate::{FailedTest, ReplayVerdict};

/// Maximum bytes of a printed value. A program that needs more can run the call itself.
const MAX_VALUE_BYTES: usize = 10_000;

pub(super) fn replay_to_json(replayed: &[TracedCall], judged: Option<&ReplayVerdict>) -> Value {
    let broken = judged.map_or(&[][..], |judged| &judged.broken);
    let call = |(index, it): (usize, &TracedCall)| {
        let fails = broken.iter().filter(|broken| broken.after == index + 1);
        let fails: Vec<_> = fails.map(|broken| &broken.name).collect();
        call_to_json(it, &fails)
    };
    let reached = judged.map_or(&[][..], |judged| &judged.reached).iter();
    let reached = reached.map(|(name, value)| json!({"name": name, "value": value.to_string()}));
    let not_run = judged.map_or(&[][..], |judged| &judged.not_run).iter();
    let not_run = not_run.map(|(name, reason)| json!({"name": name, "reason": reason}));
    json!({
        // null if the verdicts are unknown
        "success": judged.map(|judged| {
            judged.broken.is_empty() && super::find_not_run_reason(replayed, judged).is_none()
        }),
        "calls": replayed.iter().enumerate().map(call).collect::<Vec<_>>(),
        "tests": broken.iter().map(failed_test_to_json).collect::<Vec<_>>(),
        "reached": reached.collect::<Vec<_>>(),
        "notRun": not_run.collect::<Vec<_>>(),
    })
}

fn failed_test_to_json(broken: &FailedTest) -> Value {
    let trace = broken.done.as_ref().map(|done| frames_to_json(&done.trace));
    json!({"name": broken.name, "after": broken.after, "reason": broken.location, "trace": trace})
}

fn call_to_json(replayed: &TracedCall, fails: &[&String]) -> Value {
    let done = replayed.done.as_ref();
    let trace = done.map(|done| &done.trace);
    let first = trace.and_then(|trace| trace.frames.first());
    json!({
        "text": replayed.line,
        "success": done.map(CallExecution::is_success),
        "gas": done.map(|done| done.outcome.gas_used),
        "output": done.map(|done| format_bytes(&done.outcome.output)),
        "reason": first.and_then(failure_reason),
        "fails": fails,
        "trace": trace.map(frames_to_json),
        "events": trace.map(|trace| trace.events.iter().map(event_to_json).collect::<Vec<_>>()),
        // Number of entries left out of the two lists above.
        "leftOut": trace.map(
            |trace| json!({"trace": trace.frames_left_out, "events": trace.events_left_out}),
        ),
    })
}

fn frames_to_json(trace: &CallTrace) -> Vec<Value> {
    trace.frames.iter().map(frame_to_json).collect()
}

fn frame_to_json(frame: &TracedFrame) -> Value {
    let returned = match &frame.end {
        FrameEnd::Returned(values) => values.as_ref().map(|values| truncate_all(values)),
        FrameEnd::Failed(_) | FrameEnd::Unknown => None,
    };
    let is_success = match &frame.end {
        FrameEnd::Returned(_) => Some(true),
        FrameEnd::Failed(_) => Some(false),
        FrameEnd::Unknown => None,
    };
    json!({
        "depth": frame.depth,
        "kind": frame.kind,
        "from": frame.from,
        "to": frame.to,
        "code": frame.code,
        "contract": frame.contract,
        "function": frame.function,
        "arguments": frame.arguments.as_ref().map(|values| truncate_all(values)),
        "value": frame.value.to_string(),
        "input": format_bytes(&frame.input),
        "success": is_success,
        "returned": returned,
        "output": format_bytes(&frame.output),
        "reason": failure_reason(frame),
        "gas": frame.gas,
    })
}

fn event_to_json(event: &TracedEvent) -> Value {
    json!({
        "contract": event.contract,
        "address": event.address,
        "name": event.name,
        // null for values that cannot be decoded
        "values": event.values.iter().map(|it| it.as_deref().map(truncate_text)).collect::<Vec<_>>(),
    })
}

fn failure_reason(frame: &TracedFrame) -> Option<String> {
    match &frame.end {
        FrameEnd::Failed(reason) => Some(truncate_text(reason)),
        FrameEnd::Returned(_) | FrameEnd::Unknown => None,
    }
}

fn format_bytes(bytes: &[u8]) -> String {
    truncate_text(&hex::encode_prefixed(bytes))
}

fn truncate_all(values: &[String]) -> Vec<String> {
    values.iter().map(|value| truncate_text(value)).collect()
}

fn truncate_text(text: &str) -> String {
    match text.len() > MAX_VALUE_BYTES {
        true => format!("{}…", &text[..text.floor_char_boundary(MAX_VALUE_BYTES)]),
        false => text.to_owned(),
    }
}
