//! Expectations that a target states in the comments above its tests.
//!
//! `/// holds`, `/// fails in 2` or `/// fails in 2: set(77); finish() by 2`. The number is the smallest number of calls
//! that break the test. The calls are stated only if the minimum is unique. A function with two assertions has a line
//! for each. A maximized number is stated as `reaches 1000 in 1`.

use alloy_primitives::I256;
use fuzz::abi::text;
use fuzz::call::{CallPayload, SequenceCall};
use fuzz::config::CampaignSettings;
use fuzz::target::FuzzTarget;

/// Expected result of one function.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) function: String,
    /// Empty if it holds.
    pub(crate) failures: Vec<MinimalSequence>,
    /// Expected maximum, if the function is optimized.
    pub(crate) reaches: Option<I256>,
}

/// The smallest failing sequence.
#[derive(Clone, Debug)]
pub(crate) struct MinimalSequence {
    pub(crate) calls: usize,
    pub(crate) text: Option<String>,
}

/// Expectations collected since the last function.
#[derive(Default)]
struct PendingExpectation {
    holds: bool,
    failures: Vec<MinimalSequence>,
    reaches: Option<I256>,
}

/// Returns all expectations of a source.
pub(crate) fn read_expectations(name: &str, source: &str) -> Vec<Expectation> {
    let mut found = Vec::new();
    let mut pending = PendingExpectation::default();
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("function ") {
            let function = rest.split('(').next().unwrap_or_default();
            found.extend(std::mem::take(&mut pending).into_expectation(name, function));
        } else {
            pending.add(line);
        }
    }
    assert!(!found.is_empty(), "{name}: no expectations");
    found
}

impl PendingExpectation {
    fn add(&mut self, line: &str) {
        if line == "/// holds" {
            self.holds = true;
        } else if let Some(rest) = line.strip_prefix("/// fails in ") {
            self.failures.push(parse_minimal_sequence(rest));
        } else if let Some(rest) = line.strip_prefix("/// reaches ") {
            let (number, rest) = rest.split_once(" in ").unwrap();
            self.reaches = Some(number.parse().unwrap());
            self.failures.push(parse_minimal_sequence(rest));
        }
    }

    /// Returns the expectation of a function; None if it is not a test.
    fn into_expectation(self, name: &str, function: &str) -> Option<Expectation> {
        let Self { holds, failures, reaches } = self;
        assert!(!holds || failures.is_empty(), "{name}: {function} both holds and fails");
        if !holds && failures.is_empty() {
            assert!(!function.starts_with("echidna_"), "{name}: {function} has no expectation");
            return None;
        }
        Some(Expectation { function: function.to_owned(), failures, reaches })
    }
}

fn parse_minimal_sequence(text: &str) -> MinimalSequence {
    let (calls, text) = match text.split_once(": ") {
        Some((calls, text)) => (calls, Some(text.to_owned())),
        None => (text, None),
    };
    MinimalSequence { calls: calls.parse().unwrap(), text }
}

/// Formats a sequence as expectations state it: `set(77); finish() by 2 with 5 after 10 s, 3 blocks`.
pub(crate) fn describe_calls(
    calls: &[SequenceCall],
    target: &FuzzTarget,
    settings: &CampaignSettings,
) -> String {
    let described: Vec<String> =
        calls.iter().map(|call| describe_call(call, target, settings)).collect();
    described.join("; ")
}

fn describe_call(call: &SequenceCall, target: &FuzzTarget, settings: &CampaignSettings) -> String {
    let mut out = match &call.payload {
        CallPayload::Function { function, args } => {
            let function = target.function(*function);
            text::format_call(&function.name, &function.inputs, args)
        }
        CallPayload::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        CallPayload::Data(data) => {
            format!("*fallback*({})", alloy_primitives::hex::encode_prefixed(data))
        }
        CallPayload::WaitOnly => "*wait*".to_owned(),
    };
    let sender = settings.senders.iter().position(|sender| *sender == call.from);
    // Unit tests of Foundry have one sender.
    let is_default = sender == Some(0) || call.from == settings.foundry.sender;
    if !is_default {
        out.push_str(&format!(" by {}", sender.map_or(0, |index| index + 1)));
    }
    if !call.value.is_zero() {
        out.push_str(&format!(" with {}", call.value));
    }
    match (call.delay.seconds, call.delay.blocks) {
        (0, 0) => {}
        (seconds, 0) => out.push_str(&format!(" after {seconds} s")),
        (seconds, blocks) => out.push_str(&format!(" after {seconds} s, {blocks} blocks")),
    }
    out
}
