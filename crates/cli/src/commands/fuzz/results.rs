//! What a campaign came to, in the order in which people want to know it. How it is printed is for `text` and `json`.

use std::time::Duration;

use ::fuzz::campaign::{Ended, Failure, Shared, Statistics, Summary};
use ::fuzz::target::{Target, TestKind};
use alloy_primitives::I256;
use app::campaign::cover::Cover;
use app::campaign::plan::Plan;
use app::campaign::subject::Subject;
use coverage::Report;

use super::site;
use super::watch::Watched;

pub(super) struct Results {
    pub(super) contract: String,
    pub(super) seed: u64,
    pub(super) workers: usize,
    pub(super) tests: Vec<Tested>,
    pub(super) functions: Vec<Used>,
    pub(super) calls: u64,
    pub(super) gas: u64,
    pub(super) elapsed: Duration,
    pub(super) branches: usize,
    pub(super) corpus: usize,
    pub(super) report: Report,
    pub(super) ended: Vec<Ended>,
    /// What could not be kept.
    pub(super) trouble: Option<String>,
    /// The cheat code that made it end, because there is none such here.
    pub(super) unsupported: Option<String>,
}

/// A test, or one of the ways in which it failed.
pub(super) struct Tested {
    pub(super) contract: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) verdict: Verdict,
    /// Where it failed, as `path:line`.
    pub(super) place: Option<String>,
    pub(super) calls: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// It ended before the limit.
    Open,
    Failed {
        is_shrunk: bool,
    },
    /// The largest number that was reached; None if the function never returned one.
    Reached(Option<I256>),
}

/// One call, for people and for programs.
pub(super) struct Step {
    pub(super) line: String,
    pub(super) call: ::fuzz::call::Call,
    pub(super) contract: String,
    pub(super) function: String,
    pub(super) arguments: Vec<String>,
    pub(super) gas: u64,
}

/// A function and how it was used.
pub(super) struct Used {
    pub(super) name: String,
    pub(super) statistics: Statistics,
}

impl Results {
    pub(super) fn new(
        plan: &Plan,
        subject: &Subject,
        shared: &Shared,
        watched: Watched,
        cover: &Cover,
    ) -> Self {
        let Watched { summary, elapsed, is_interrupted } = watched;
        let unsupported = shared.unsupported();
        let is_cut_short =
            is_interrupted || unsupported.is_some() || summary.ended.contains(&Ended::Crashed);
        let teller = Teller { plan, target: &subject.target, is_cut_short };
        Self {
            contract: subject.name.clone(),
            seed: plan.seed,
            workers: shared.workers(),
            tests: teller.tests(&summary),
            functions: used(&subject.target, shared.statistics()),
            calls: summary.calls,
            gas: shared.gas(),
            elapsed,
            branches: cover.branches,
            corpus: shared.corpus_size(),
            report: cover.report.clone(),
            ended: summary.ended,
            trouble: shared.trouble(),
            unsupported,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.tests.iter().any(|test| matches!(test.verdict, Verdict::Failed { .. }))
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.ended.contains(&Ended::Crashed)
    }

    pub(super) fn calls_per_second(&self) -> u64 {
        let milliseconds = self.elapsed.as_millis().max(1);
        u64::try_from(u128::from(self.calls) * 1000 / milliseconds).unwrap_or(u64::MAX)
    }
}

struct Teller<'a> {
    plan: &'a Plan,
    target: &'a Target,
    is_cut_short: bool,
}

impl Teller<'_> {
    fn tests(&self, summary: &Summary) -> Vec<Tested> {
        let all = 0..self.target.tests.len();
        all.flat_map(|test| self.test(test, summary)).collect()
    }

    /// One for each way in which it failed, else one.
    fn test(&self, test: usize, summary: &Summary) -> Vec<Tested> {
        let failures = summary.failures.iter();
        let failures = failures.filter(|it| it.test == test && !is_repeated(it, &summary.failures));
        let failed: Vec<_> = failures.map(|failure| self.failed(failure)).collect();
        if !failed.is_empty() {
            return failed;
        }
        let is_maximum = matches!(self.target.tests[test].kind, TestKind::Maximum { .. });
        let best = summary.best.iter().find(|best| best.test == test);
        let verdict = match (is_maximum, self.is_cut_short) {
            (true, _) => Verdict::Reached(best.map(|best| best.value)),
            (false, true) => Verdict::Open,
            (false, false) => Verdict::Passed,
        };
        let calls = best.map_or(&[][..], |best| &best.calls);
        vec![self.told(test, verdict, None, calls)]
    }

    fn failed(&self, failure: &Failure) -> Tested {
        let verdict = Verdict::Failed { is_shrunk: failure.is_shrunk };
        let place = site::line(self.target, failure.site);
        self.told(failure.test, verdict, place, &failure.calls)
    }

    fn told(
        &self,
        test: usize,
        verdict: Verdict,
        place: Option<String>,
        calls: &[::fuzz::call::Call],
    ) -> Tested {
        let test = &self.target.tests[test];
        Tested {
            contract: test.contract.clone(),
            name: test.name.clone(),
            kind: kind(&test.kind),
            verdict,
            place,
            calls: calls.iter().map(|call| self.step(call)).collect(),
        }
    }

    fn step(&self, call: &::fuzz::call::Call) -> Step {
        use ::fuzz::abi::text;
        use ::fuzz::call::What;
        use ::fuzz::reproducer::solidity;
        let (function, arguments) = match &call.what {
            What::Function { function, args } => {
                let function = self.target.function(*function);
                let values = function.inputs.iter().zip(args);
                let values = values.map(|(ty, value)| text::value(ty, value)).collect();
                (function.name.clone(), values)
            }
            What::Data(data) => (alloy_primitives::hex::encode_prefixed(data), Vec::new()),
            What::Nothing => ("*wait*".to_owned(), Vec::new()),
        };
        let deployed = self.target.contracts.iter().find(|it| it.address == call.to);
        Step {
            line: solidity::line(call, self.target),
            call: call.clone(),
            contract: deployed.map(|deployed| deployed.name.clone()).unwrap_or_default(),
            function,
            arguments,
            gas: self.plan.settings.call_gas,
        }
    }
}

/// The same assertion, reached through another function, while this test has a failure of its own: it was not made small,
/// for it says nothing new.
pub(super) fn is_repeated(failure: &Failure, all: &[Failure]) -> bool {
    !failure.is_shrunk
        && failure.site != (0, 0)
        && all.iter().any(|it| it.test != failure.test && it.site == failure.site && it.is_shrunk)
        && all.iter().any(|it| it.test == failure.test && it.is_shrunk)
}

fn kind(kind: &TestKind) -> &'static str {
    match kind {
        TestKind::Property { .. }
        | TestKind::MustRevert { .. }
        | TestKind::Invariant { .. }
        | TestKind::Destruction { .. } => "property",
        TestKind::Assertion { .. } | TestKind::Event => "assertion",
        TestKind::Unit { .. } => "foundry",
        TestKind::Maximum { .. } => "optimization",
        TestKind::Overflow { .. } => "overflow",
    }
}

/// The functions that were called.
fn used(target: &Target, statistics: Vec<Statistics>) -> Vec<Used> {
    let functions = target.functions.iter().zip(statistics);
    let functions = functions.filter(|(_, statistics)| statistics.calls > 0);
    functions
        .map(|(function, statistics)| {
            let contract = &target.contracts[function.contract].name;
            Used { name: format!("{contract}.{}", function.signature), statistics }
        })
        .collect()
}
