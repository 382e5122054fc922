//! Compares the outcomes of a run with the expectation of a test of Echidna.

use alloy_primitives::{I256, U256};

use super::run::{PrintedCall, SuiteRun, TestFinding, TestOutcome};
use super::spec::{ExpectedCall, ExpectedOutcome};

/// A description of the outcome, and whether it is the expected one.
pub(crate) struct Judgment {
    pub(crate) got: String,
    pub(crate) is_right: bool,
}

pub(crate) fn judge_outcome(wanted: &ExpectedOutcome, ran: &SuiteRun) -> Judgment {
    match (wanted, ran) {
        (ExpectedOutcome::Refused(expected), SuiteRun::Refused(refusal)) => Judgment {
            got: format!("refused: {}", refusal.why),
            is_right: refusal.exception == Some(expected.as_str()),
        },
        (_, SuiteRun::Refused(refusal)) => reject(format!("refused: {}", refusal.why)),
        (ExpectedOutcome::Refused(_), SuiteRun::Ended(_)) => reject("it runs".to_owned()),
        (ExpectedOutcome::AllHold, SuiteRun::Ended(outcomes)) => judge_all_hold(outcomes),
        (ExpectedOutcome::SolvedUsing { function, .. }, SuiteRun::Ended(outcomes)) => {
            judge_function(function, outcomes)
        }
        (_, SuiteRun::Ended(outcomes)) => judge_test(wanted, outcomes),
    }
}

fn reject(got: String) -> Judgment {
    Judgment { got, is_right: false }
}

fn judge_all_hold(outcomes: &[TestOutcome]) -> Judgment {
    let failed = outcomes.iter().filter(|outcome| !matches!(outcome.found, TestFinding::Holds));
    let failed: Vec<_> = failed.map(|outcome| outcome.test.as_str()).collect();
    match failed.is_empty() {
        true => Judgment { got: "all hold".to_owned(), is_right: !outcomes.is_empty() },
        false => reject(format!("fail: {}", failed.join(", "))),
    }
}

/// Judges whether a call of the function fails some test. Echidna has one test for all events and one for all overflows;
/// here each function has its own.
fn judge_function(function: &str, outcomes: &[TestOutcome]) -> Judgment {
    let is_call = |call: &PrintedCall| call.function.as_deref() == Some(function);
    let by_function = |calls: &&Vec<PrintedCall>| calls.iter().any(is_call);
    match outcomes.iter().find(|outcome| outcome.sequences().iter().any(|it| by_function(&it))) {
        Some(outcome) => Judgment { got: outcome.found.to_string(), is_right: true },
        None => reject(format!("nothing fails by {function}")),
    }
}

fn judge_test(wanted: &ExpectedOutcome, outcomes: &[TestOutcome]) -> Judgment {
    let named = |outcome: &&TestOutcome| {
        outcome.test == wanted.test() || outcome.bare_name() == wanted.test()
    };
    let mut same = outcomes.iter().filter(named);
    let Some(first) = same.next() else {
        let is_right = matches!(wanted, ExpectedOutcome::Absent(_));
        return Judgment { got: "is no test".to_owned(), is_right };
    };
    // Of overloaded functions, one that fails is enough.
    let outcome = std::iter::once(first).chain(same).max_by_key(|it| it.sequences().len());
    let outcome = outcome.unwrap_or(first);
    let is_right = match wanted {
        ExpectedOutcome::Passed(_) => matches!(outcome.found, TestFinding::Holds),
        ExpectedOutcome::Solved(_) => !outcome.sequences().is_empty(),
        ExpectedOutcome::SolvedLen { calls, .. } => any_sequence(outcome, |it| it.len() == *calls),
        ExpectedOutcome::SolvedWith { call, .. } => {
            any_sequence(outcome, |it| it.iter().any(|one| is_expected_call(call, one)))
        }
        ExpectedOutcome::SolvedWithoutIdling(_) => {
            any_sequence(outcome, |it| it.iter().all(|call| !call.is_idle))
        }
        ExpectedOutcome::AtLeast { value, .. } => match outcome.found {
            TestFinding::Largest(largest) => {
                I256::try_from(*value).is_ok_and(|value| largest >= value)
            }
            _ => false,
        },
        ExpectedOutcome::Absent(_)
        | ExpectedOutcome::AllHold
        | ExpectedOutcome::Refused(_)
        | ExpectedOutcome::SolvedUsing { .. }
        | ExpectedOutcome::NotAnOutcome(_) => false,
    };
    Judgment { got: outcome.found.to_string(), is_right }
}

fn any_sequence(outcome: &TestOutcome, holds: impl Fn(&[PrintedCall]) -> bool) -> bool {
    outcome.sequences().iter().any(|calls| holds(calls))
}

fn is_expected_call(expected: &ExpectedCall, call: &PrintedCall) -> bool {
    let word = |&number: &i128| {
        let magnitude = U256::from(number.unsigned_abs());
        if number < 0 { magnitude.wrapping_neg() } else { magnitude }
    };
    let words: Vec<U256> = expected.arguments.iter().map(word).collect();
    call.function.as_deref() == Some(expected.function.as_str())
        && call.words.as_deref() == Some(words.as_slice())
}
