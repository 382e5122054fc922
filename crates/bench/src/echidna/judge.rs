//! Whether what a run found is what a test of Echidna expects.

use alloy_primitives::{I256, U256};

use super::run::{Found, Outcome, Ran, Shown};
use super::spec::{ExpectedCall, Wanted};

/// What was found, in words, and whether it is right.
pub(crate) struct Verdict {
    pub(crate) got: String,
    pub(crate) is_right: bool,
}

pub(crate) fn judge(wanted: &Wanted, ran: &Ran) -> Verdict {
    match (wanted, ran) {
        (Wanted::Refused(expected), Ran::Refused(refusal)) => Verdict {
            got: format!("refused: {}", refusal.why),
            is_right: refusal.exception == Some(expected.as_str()),
        },
        (_, Ran::Refused(refusal)) => wrong(format!("refused: {}", refusal.why)),
        (Wanted::Refused(_), Ran::Ended(_)) => wrong("it runs".to_owned()),
        (Wanted::AllHold, Ran::Ended(outcomes)) => all_hold(outcomes),
        (Wanted::SolvedUsing { function, .. }, Ran::Ended(outcomes)) => using(function, outcomes),
        (_, Ran::Ended(outcomes)) => of_test(wanted, outcomes),
    }
}

fn wrong(got: String) -> Verdict {
    Verdict { got, is_right: false }
}

fn all_hold(outcomes: &[Outcome]) -> Verdict {
    let failed = outcomes.iter().filter(|outcome| !matches!(outcome.found, Found::Holds));
    let failed: Vec<_> = failed.map(|outcome| outcome.test.as_str()).collect();
    match failed.is_empty() {
        true => Verdict { got: "all hold".to_owned(), is_right: !outcomes.is_empty() },
        false => wrong(format!("fail: {}", failed.join(", "))),
    }
}

/// Echidna has one test for all events, and one for all overflows; here each function has its own.
fn using(function: &str, outcomes: &[Outcome]) -> Verdict {
    let is_call = |call: &Shown| call.function.as_deref() == Some(function);
    let by_function = |calls: &&Vec<Shown>| calls.iter().any(is_call);
    match outcomes.iter().find(|outcome| outcome.sequences().iter().any(|it| by_function(&it))) {
        Some(outcome) => Verdict { got: outcome.found.to_string(), is_right: true },
        None => wrong(format!("nothing fails by {function}")),
    }
}

fn of_test(wanted: &Wanted, outcomes: &[Outcome]) -> Verdict {
    let named =
        |outcome: &&Outcome| outcome.test == wanted.test() || outcome.bare_name() == wanted.test();
    let mut same = outcomes.iter().filter(named);
    let Some(first) = same.next() else {
        let is_right = matches!(wanted, Wanted::Absent(_));
        return Verdict { got: "is no test".to_owned(), is_right };
    };
    // Of functions that differ in their arguments only, one that fails is enough.
    let outcome = std::iter::once(first).chain(same).max_by_key(|it| it.sequences().len());
    let outcome = outcome.unwrap_or(first);
    let is_right = match wanted {
        Wanted::Passed(_) => matches!(outcome.found, Found::Holds),
        Wanted::Solved(_) => !outcome.sequences().is_empty(),
        Wanted::SolvedLen { calls, .. } => any(outcome, |it| it.len() == *calls),
        Wanted::SolvedWith { call, .. } => any(outcome, |it| it.iter().any(|one| is(call, one))),
        Wanted::SolvedWithoutIdling(_) => any(outcome, |it| it.iter().all(|call| !call.is_idle)),
        Wanted::AtLeast { value, .. } => match outcome.found {
            Found::Largest(largest) => I256::try_from(*value).is_ok_and(|value| largest >= value),
            _ => false,
        },
        Wanted::Absent(_)
        | Wanted::AllHold
        | Wanted::Refused(_)
        | Wanted::SolvedUsing { .. }
        | Wanted::NotAnOutcome(_) => false,
    };
    Verdict { got: outcome.found.to_string(), is_right }
}

fn any(outcome: &Outcome, holds: impl Fn(&[Shown]) -> bool) -> bool {
    outcome.sequences().iter().any(|calls| holds(calls))
}

fn is(expected: &ExpectedCall, call: &Shown) -> bool {
    let word = |&number: &i128| {
        let magnitude = U256::from(number.unsigned_abs());
        if number < 0 { magnitude.wrapping_neg() } else { magnitude }
    };
    let words: Vec<U256> = expected.arguments.iter().map(word).collect();
    call.function.as_deref() == Some(expected.function.as_str())
        && call.words.as_deref() == Some(words.as_slice())
}
