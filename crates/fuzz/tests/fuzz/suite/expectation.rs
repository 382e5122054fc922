//! What a source says of its own tests, in the comments above them.
//!
//! `/// holds`, `/// fails in 2` or `/// fails in 2: set(77); finish() by 2`. The number is the smallest number of calls
//! that break the test. The calls are told only where no others are as simple. A function with two assertions has a
//! line for each. A number that is to become large `reaches 1000 in 1`.

use alloy_primitives::I256;
use fuzz::abi::text;
use fuzz::call::{Call, What};
use fuzz::config::Settings;
use fuzz::target::Target;

/// What is expected of one function.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) function: String,
    /// Empty if it holds.
    pub(crate) failures: Vec<Minimum>,
    /// The number that is reached, where it is one that is to become large.
    pub(crate) reaches: Option<I256>,
}

/// The smallest sequence.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub(crate) calls: usize,
    pub(crate) text: Option<String>,
}

/// What was said since the last function.
#[derive(Default)]
struct Said {
    holds: bool,
    failures: Vec<Minimum>,
    reaches: Option<I256>,
}

/// All expectations of a source.
pub(crate) fn read(name: &str, source: &str) -> Vec<Expectation> {
    let mut found = Vec::new();
    let mut said = Said::default();
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("function ") {
            let function = rest.split('(').next().unwrap_or_default();
            found.extend(std::mem::take(&mut said).of(name, function));
        } else {
            said.add(line);
        }
    }
    assert!(!found.is_empty(), "{name}: nothing is expected");
    found
}

impl Said {
    fn add(&mut self, line: &str) {
        if line == "/// holds" {
            self.holds = true;
        } else if let Some(rest) = line.strip_prefix("/// fails in ") {
            self.failures.push(minimum(rest));
        } else if let Some(rest) = line.strip_prefix("/// reaches ") {
            let (number, rest) = rest.split_once(" in ").unwrap();
            self.reaches = Some(number.parse().unwrap());
            self.failures.push(minimum(rest));
        }
    }

    /// None if the function is no test.
    fn of(self, name: &str, function: &str) -> Option<Expectation> {
        let Self { holds, failures, reaches } = self;
        assert!(!holds || failures.is_empty(), "{name}: {function} both holds and fails");
        if !holds && failures.is_empty() {
            assert!(!function.starts_with("echidna_"), "{name}: nothing is said of {function}");
            return None;
        }
        Some(Expectation { function: function.to_owned(), failures, reaches })
    }
}

fn minimum(text: &str) -> Minimum {
    let (calls, text) = match text.split_once(": ") {
        Some((calls, text)) => (calls, Some(text.to_owned())),
        None => (text, None),
    };
    Minimum { calls: calls.parse().unwrap(), text }
}

/// A sequence as expectations write it: `set(77); finish() by 2 with 5 after 10 s, 3 blocks`.
pub(crate) fn described(calls: &[Call], target: &Target, settings: &Settings) -> String {
    let described: Vec<String> =
        calls.iter().map(|call| described_call(call, target, settings)).collect();
    described.join("; ")
}

fn described_call(call: &Call, target: &Target, settings: &Settings) -> String {
    let mut out = match &call.what {
        What::Function { function, args } => {
            let function = target.function(*function);
            text::call(&function.name, &function.inputs, args)
        }
        What::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        What::Data(data) => {
            format!("*fallback*({})", alloy_primitives::hex::encode_prefixed(data))
        }
        What::Nothing => "*wait*".to_owned(),
    };
    let sender = settings.senders.iter().position(|sender| *sender == call.from);
    if sender != Some(0) {
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
