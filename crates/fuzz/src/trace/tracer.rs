//! Runs calls on its own chain and records their traces.

use std::time::Duration;

use alloy_primitives::{Bytes, U256};

use super::decode::CallTrace;
use super::lines::{self, TraceLine};
use super::names::NameResolver;
use crate::call::SequenceCall;
use crate::chain::{CallLimits, EvmMachine, EvmTransaction, TransactionOutcome};
use crate::config::CampaignSettings;
use crate::reproducer::solidity;
use crate::target::{FuzzTarget, TestKind};

/// Default time limit of a call, needed if its gas limit is too high to bound time.
pub const CALL_TIME: Duration = Duration::from_secs(60);

/// A call with its trace.
#[derive(Clone, Debug)]
pub struct TracedCall {
    /// The call as formatted in a reproducer.
    pub line: String,
    /// None if the call only advanced time.
    pub done: Option<CallExecution>,
}

/// Outcome and trace of a call.
#[derive(Clone, Debug)]
pub struct CallExecution {
    pub outcome: TransactionOutcome,
    pub trace: CallTrace,
}

impl CallExecution {
    pub fn is_success(&self) -> bool {
        self.outcome.is_success()
    }

    /// Returns the call tree, the events and the outcome as lines.
    pub fn lines(&self) -> Vec<TraceLine> {
        lines::format_trace(self)
    }
}

/// Runs calls in order; each sees the state left by the previous ones.
pub struct Tracer<'a> {
    target: &'a FuzzTarget,
    settings: &'a CampaignSettings,
    /// Time limit of each call.
    time: Duration,
    names: NameResolver<'a>,
    machine: EvmMachine,
    buffer: Vec<u8>,
}

impl<'a> Tracer<'a> {
    /// Creates a tracer. A call that exceeds `time` runs out of gas.
    pub fn new(target: &'a FuzzTarget, settings: &'a CampaignSettings, time: Duration) -> Self {
        let limits = CallLimits { gas: settings.call_gas, time };
        let names = NameResolver::new(target);
        let (state, codes) = (target.state.clone(), target.codes.clone());
        let machine = EvmMachine::new(state, codes, names.topics(), limits);
        Self { target, settings, time, names, machine, buffer: Vec::new() }
    }

    pub fn trace_call(&mut self, call: &SequenceCall) -> TracedCall {
        self.machine.advance_time(call.delay.seconds, call.delay.blocks);
        let transaction = call.to_transaction(self.target, &mut self.buffer);
        let done = transaction
            .map(|transaction| execute_traced(&mut self.machine, &mut self.names, &transaction));
        TracedCall { line: solidity::format_line(call, self.target), done }
    }

    /// Runs a test that is a call of its own on a copy of the state. Returns None for other kinds of tests.
    pub fn check_test(&mut self, test: usize) -> Option<CallExecution> {
        let (TestKind::Property { function }
        | TestKind::MustRevert { function }
        | TestKind::Invariant { function }
        | TestKind::AfterInvariant { function }) = &self.target.tests.get(test)?.kind
        else {
            return None;
        };
        let function = self.target.function(*function);
        let limits = CallLimits { gas: self.settings.property_gas, time: self.time };
        let (state, codes) = (self.machine.copy_state(), self.target.codes.clone());
        let mut machine = EvmMachine::new(state, codes, self.names.topics(), limits);
        let transaction = EvmTransaction {
            from: self.settings.property_sender,
            to: function.address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::copy_from_slice(&function.selector),
        };
        Some(execute_traced(&mut machine, &mut self.names, &transaction))
    }
}

fn execute_traced(
    machine: &mut EvmMachine,
    names: &mut NameResolver<'_>,
    transaction: &EvmTransaction,
) -> CallExecution {
    let (outcome, frames) = machine.trace_call(transaction);
    let emitted = std::mem::take(&mut machine.probe_mut().emitted);
    CallExecution { outcome, trace: CallTrace::new(names, &frames, &emitted) }
}
