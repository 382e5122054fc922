//! A replay for programs.

use ::fuzz::trace::{Done, End, Event, Told, Trace, Traced};
use alloy_primitives::hex;
use serde_json::{Value, json};

use super::judge::{Broken, Judged};

/// Letters of one value; a program that needs more of it runs the call itself.
const MAX_LETTERS: usize = 10_000;

pub(super) fn of(replayed: &[Traced], judged: Option<&Judged>) -> Value {
    let broken = judged.map_or(&[][..], |judged| &judged.broken);
    let call = |(index, it): (usize, &Traced)| {
        let fails = broken.iter().filter(|broken| broken.after == index + 1);
        let fails: Vec<_> = fails.map(|broken| &broken.name).collect();
        call(it, &fails)
    };
    let reached = judged.map_or(&[][..], |judged| &judged.reached).iter();
    let reached = reached.map(|(name, value)| json!({"name": name, "value": value.to_string()}));
    json!({
        // null if nobody can say
        "success": judged.map(|judged| judged.broken.is_empty()),
        "calls": replayed.iter().enumerate().map(call).collect::<Vec<_>>(),
        "tests": broken.iter().map(test).collect::<Vec<_>>(),
        "reached": reached.collect::<Vec<_>>(),
    })
}

fn test(broken: &Broken) -> Value {
    let trace = broken.done.as_ref().map(|done| frames(&done.trace));
    json!({"name": broken.name, "after": broken.after, "reason": broken.place, "trace": trace})
}

fn call(replayed: &Traced, fails: &[&String]) -> Value {
    let done = replayed.done.as_ref();
    let trace = done.map(|done| &done.trace);
    let first = trace.and_then(|trace| trace.frames.first());
    json!({
        "text": replayed.line,
        "success": done.map(Done::is_success),
        "gas": done.map(|done| done.outcome.gas_used),
        "output": done.map(|done| bytes(&done.outcome.output)),
        "reason": first.and_then(reason),
        "fails": fails,
        "trace": trace.map(frames),
        "events": trace.map(|trace| trace.events.iter().map(event).collect::<Vec<_>>()),
        // What is not among them, because it would be too much.
        "leftOut": trace.map(
            |trace| json!({"trace": trace.frames_left_out, "events": trace.events_left_out}),
        ),
    })
}

fn frames(trace: &Trace) -> Vec<Value> {
    trace.frames.iter().map(frame).collect()
}

fn frame(told: &Told) -> Value {
    let returned = match &told.end {
        End::Returned(values) => values.as_ref().map(|values| shortened_all(values)),
        End::Failed(_) | End::Unknown => None,
    };
    let is_success = match &told.end {
        End::Returned(_) => Some(true),
        End::Failed(_) => Some(false),
        End::Unknown => None,
    };
    json!({
        "depth": told.depth,
        "kind": told.kind,
        "from": told.from,
        "to": told.to,
        "code": told.code,
        "contract": told.contract,
        "function": told.function,
        "arguments": told.arguments.as_ref().map(|values| shortened_all(values)),
        "value": told.value.to_string(),
        "input": bytes(&told.input),
        "success": is_success,
        "returned": returned,
        "output": bytes(&told.output),
        "reason": reason(told),
        "gas": told.gas,
    })
}

fn event(event: &Event) -> Value {
    json!({
        "contract": event.contract,
        "address": event.address,
        "name": event.name,
        // null for bytes that are not of the type
        "values": event.values.iter().map(|it| it.as_deref().map(shortened)).collect::<Vec<_>>(),
    })
}

fn reason(told: &Told) -> Option<String> {
    match &told.end {
        End::Failed(reason) => Some(shortened(reason)),
        End::Returned(_) | End::Unknown => None,
    }
}

fn bytes(bytes: &[u8]) -> String {
    shortened(&hex::encode_prefixed(bytes))
}

fn shortened_all(values: &[String]) -> Vec<String> {
    values.iter().map(|value| shortened(value)).collect()
}

fn shortened(text: &str) -> String {
    match text.len() > MAX_LETTERS {
        true => format!("{}…", &text[..text.floor_char_boundary(MAX_LETTERS)]),
        false => text.to_owned(),
    }
}
