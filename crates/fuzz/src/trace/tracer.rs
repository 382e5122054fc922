//! Makes calls on a chain of its own and writes down what they do.

use std::time::Duration;

use alloy_primitives::{Bytes, U256};

use super::decode::Trace;
use super::lines::{self, Line};
use super::names::Names;
use crate::call::Call;
use crate::chain::{Limits, Machine, Outcome, Transaction};
use crate::config::Settings;
use crate::reproducer::solidity;
use crate::target::{Target, TestKind};

/// Gas bounds a call; this is for a limit of gas that does not.
pub const CALL_TIME: Duration = Duration::from_secs(60);

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The call itself, as in a reproducer.
    pub line: String,
    /// None where only time went by.
    pub done: Option<Done>,
}

/// What a call did.
#[derive(Clone, Debug)]
pub struct Done {
    pub outcome: Outcome,
    pub trace: Trace,
}

impl Done {
    pub fn is_success(&self) -> bool {
        self.outcome.is_success()
    }

    /// The calls within it as a tree, the events, and how it ended.
    pub fn lines(&self) -> Vec<Line> {
        lines::of(self)
    }
}

/// See the module. Each call finds what those before it left.
pub struct Tracer<'a> {
    target: &'a Target,
    settings: &'a Settings,
    /// For each call.
    time: Duration,
    names: Names<'a>,
    machine: Machine,
    buffer: Vec<u8>,
}

impl<'a> Tracer<'a> {
    /// A call that takes longer than `time` runs out of gas.
    pub fn new(target: &'a Target, settings: &'a Settings, time: Duration) -> Self {
        let limits = Limits { gas: settings.call_gas, time };
        let names = Names::new(target);
        let (state, codes) = (target.state.clone(), target.codes.clone());
        let machine = Machine::new(state, codes, names.topics(), limits);
        Self { target, settings, time, names, machine, buffer: Vec::new() }
    }

    pub fn call(&mut self, call: &Call) -> Traced {
        self.machine.wait(call.delay.seconds, call.delay.blocks);
        let transaction = call.transaction(self.target, &mut self.buffer);
        let done =
            transaction.map(|transaction| traced(&mut self.machine, &mut self.names, &transaction));
        Traced { line: solidity::line(call, self.target), done }
    }

    /// What a test says now, if it is a call of its own. Nothing of it stays.
    pub fn ask(&mut self, test: usize) -> Option<Done> {
        let (TestKind::Property { function }
        | TestKind::MustRevert { function }
        | TestKind::Invariant { function }) = &self.target.tests.get(test)?.kind
        else {
            return None;
        };
        let function = self.target.function(*function);
        let limits = Limits { gas: self.settings.property_gas, time: self.time };
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
