//! Samples the next calls of a function on request.
//!
//! The cost without samples is one atomic load per call, which tells the worker if its function is being sampled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use alloy_primitives::{I256, U256};
use parking_lot::{Condvar, Mutex};

use crate::abi::{AbiType, AbiValue, decode_values};
use crate::chain::TransactionOutcome;
use crate::target::{FunctionId, FuzzTarget, TargetFunction};

/// Maximum calls of one sample.
pub const MAX_SAMPLED_CALLS: u64 = 1_000_000;

/// A sample in progress. Dropping it ends the sample.
#[derive(Debug)]
pub struct FunctionSample {
    samples: Arc<SampleRegistry>,
    tally: Arc<SampleTally>,
}

/// Result of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSummary {
    pub calls: u64,
    pub reverts: u64,
    /// Minimum and maximum gas of a call.
    pub gas: Option<(u64, u64)>,
    /// One entry for each value that the function returns.
    pub outputs: Vec<SampledOutput>,
}

/// Observed range of one return value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledOutput {
    pub ty: AbiType,
    /// Minimum and maximum of a number, boolean or address; `None` for other types and if no call returned.
    pub range: Option<(AbiValue, AbiValue)>,
}

/// All samples in progress.
#[derive(Debug)]
pub(super) struct SampleRegistry {
    /// Number of samples in progress, by function.
    wanted: Vec<AtomicU32>,
    running: Mutex<Vec<Arc<SampleTally>>>,
    /// No more calls will be made.
    is_closed: AtomicBool,
}

/// The counters of one sample.
#[derive(Debug)]
struct SampleTally {
    function: FunctionId,
    /// Calls to observe.
    wanted: u64,
    seen: Mutex<SampleSummary>,
    changed: Condvar,
}

impl SampleRegistry {
    pub(super) fn new(target: &FuzzTarget) -> Self {
        let wanted = target.functions.iter().map(|_| AtomicU32::new(0)).collect();
        Self { wanted, running: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    pub(super) fn start_sample(
        self: &Arc<Self>,
        target: &FuzzTarget,
        id: FunctionId,
        calls: u64,
    ) -> FunctionSample {
        let output = |ty: &AbiType| SampledOutput { ty: ty.clone(), range: None };
        let outputs = target.function(id).outputs.iter().map(output).collect();
        let tally = Arc::new(SampleTally {
            function: id,
            wanted: calls.clamp(1, MAX_SAMPLED_CALLS),
            seen: Mutex::new(SampleSummary { calls: 0, reverts: 0, gas: None, outputs }),
            changed: Condvar::new(),
        });
        self.running.lock().push(tally.clone());
        self.wanted[id.0 as usize].fetch_add(1, Ordering::Relaxed);
        FunctionSample { samples: self.clone(), tally }
    }

    /// Returns true if the function is being sampled.
    pub(super) fn is_sampled(&self, function: FunctionId) -> bool {
        self.wanted[function.0 as usize].load(Ordering::Relaxed) > 0
    }

    /// Counts a call in every sample of its function.
    pub(super) fn record_call(
        &self,
        id: FunctionId,
        function: &TargetFunction,
        outcome: &TransactionOutcome,
    ) {
        let mut running = self.running.lock();
        let is_full =
            |tally: &Arc<SampleTally>| tally.function == id && tally.record_call(function, outcome);
        let before = running.len();
        running.retain(|tally| !is_full(tally));
        let ended = u32::try_from(before - running.len()).unwrap_or_default();
        self.wanted[id.0 as usize].fetch_sub(ended, Ordering::Relaxed);
    }

    /// Wakes all waiting callers, because no more calls will be made.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        for tally in self.running.lock().iter() {
            let _seen = tally.seen.lock();
            tally.changed.notify_all();
        }
    }

    fn remove_tally(&self, tally: &Arc<SampleTally>) {
        let mut running = self.running.lock();
        if let Some(index) = running.iter().position(|other| Arc::ptr_eq(other, tally)) {
            running.swap_remove(index);
            self.wanted[tally.function.0 as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl SampleTally {
    /// Counts a call. Returns true if the sample is complete.
    fn record_call(&self, function: &TargetFunction, outcome: &TransactionOutcome) -> bool {
        let mut seen = self.seen.lock();
        seen.record_call(function, outcome);
        let is_full = seen.calls >= self.wanted;
        if is_full {
            self.changed.notify_all();
        }
        is_full
    }
}

impl SampleSummary {
    fn record_call(&mut self, function: &TargetFunction, outcome: &TransactionOutcome) {
        self.calls += 1;
        let gas = outcome.gas_used;
        let (least, most) = self.gas.unwrap_or((gas, gas));
        self.gas = Some((least.min(gas), most.max(gas)));
        if !outcome.is_success() {
            self.reverts += 1;
            return;
        }
        let returned = decode_values(&function.outputs, &outcome.output).unwrap_or_default();
        for (output, value) in self.outputs.iter_mut().zip(returned) {
            output.record_value(value);
        }
    }
}

impl SampledOutput {
    fn record_value(&mut self, value: AbiValue) {
        let AbiValue::Word(word) = value else { return };
        if !matches!(self.ty, AbiType::Uint(_) | AbiType::Int(_) | AbiType::Bool | AbiType::Address)
        {
            return;
        }
        let is_signed = matches!(self.ty, AbiType::Int(_));
        let is_less = |a: U256, b: U256| match is_signed {
            true => I256::from_raw(a) < I256::from_raw(b),
            false => a < b,
        };
        let (AbiValue::Word(min), AbiValue::Word(max)) =
            self.range.get_or_insert((AbiValue::Word(word), AbiValue::Word(word)))
        else {
            return;
        };
        if is_less(word, *min) {
            *min = word;
        }
        if is_less(*max, word) {
            *max = word;
        }
    }
}

impl FunctionSample {
    /// Waits until the sample is complete, the timeout has elapsed or the campaign has ended, and returns the result so far.
    pub fn wait(&self, timeout: Duration) -> SampleSummary {
        let Self { samples, tally } = self;
        let is_incomplete = |seen: &mut SampleSummary| {
            seen.calls < tally.wanted && !samples.is_closed.load(Ordering::Relaxed)
        };
        let mut seen = tally.seen.lock();
        tally.changed.wait_while_for(&mut seen, is_incomplete, timeout);
        seen.clone()
    }
}

impl Drop for FunctionSample {
    fn drop(&mut self) {
        self.samples.remove_tally(&self.tally);
    }
}
