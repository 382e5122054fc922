//! Makes calls again, on a chain of its own, and writes down what they do.

use std::time::Duration;

use ::fuzz::call::Call;
use ::fuzz::chain::{Limits, Machine, Outcome, Transaction};
use ::fuzz::config::Settings;
use ::fuzz::reproducer::solidity;
use ::fuzz::target::{Target, TestKind};
use alloy_primitives::{Bytes, U256};

use super::names::Names;
use super::trace::Trace;

/// Gas bounds a call; this is for a limit of gas that does not.
const CALL_TIME: Duration = Duration::from_secs(60);

/// A call that was made again.
pub(super) struct Replayed {
    pub(super) line: String,
    /// None where only time went by.
    pub(super) done: Option<Done>,
}

/// What a call did.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) trace: Trace,
}

impl Done {
    pub(super) fn is_success(&self) -> bool {
        self.outcome.is_success()
    }
}

pub(super) struct Again<'a> {
    target: &'a Target,
    settings: &'a Settings,
    names: Names<'a>,
    machine: Machine,
    buffer: Vec<u8>,
}

impl<'a> Again<'a> {
    pub(super) fn new(target: &'a Target, settings: &'a Settings) -> Self {
        let limits = Limits { gas: settings.call_gas, time: CALL_TIME };
        let names = Names::new(target);
        let (state, codes) = (target.state.clone(), target.codes.clone());
        let machine = Machine::new(state, codes, names.topics(), limits);
        Self { target, settings, names, machine, buffer: Vec::new() }
    }

    pub(super) fn call(&mut self, call: &Call) -> Replayed {
        self.machine.wait(call.delay.seconds, call.delay.blocks);
        let transaction = call.transaction(self.target, &mut self.buffer);
        let done =
            transaction.map(|transaction| traced(&mut self.machine, &mut self.names, &transaction));
        Replayed { line: solidity::line(call, self.target), done }
    }

    /// What a test says now, if it is a call of its own. Nothing of it stays.
    pub(super) fn ask(&mut self, test: usize) -> Option<Done> {
        let (TestKind::Property { function }
        | TestKind::MustRevert { function }
        | TestKind::Invariant { function }) = &self.target.tests[test].kind
        else {
            return None;
        };
        let function = self.target.function(*function);
        let limits = Limits { gas: self.settings.property_gas, time: CALL_TIME };
        let (state, codes) = (self.machine.state(), self.target.codes.clone());
        let mut machine = Machine::new(state, codes, self.names.topics(), limits);
        let transaction = Transaction {
            from: self.settings.property_sender,
            to: function.address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::copy_from_slice(&function.selector),
        };
        Some(traced(&mut machine, &mut self.names, &transaction))
    }
}

fn traced(machine: &mut Machine, names: &mut Names<'_>, transaction: &Transaction) -> Done {
    let (outcome, frames) = machine.trace(transaction);
    let emitted = std::mem::take(&mut machine.probe_mut().emitted);
    Done { outcome, trace: Trace::new(names, &frames, &emitted) }
}
