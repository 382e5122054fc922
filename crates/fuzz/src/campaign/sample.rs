//! What a function does in its next calls, for somebody who asks.
//!
//! A worker looks at one number for each call, which says whether anybody wants to know of its function.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use alloy_primitives::{I256, U256};
use parking_lot::{Condvar, Mutex};

use crate::abi::{Type, Value, decode};
use crate::chain::Outcome;
use crate::target::{Function, FunctionId, Target};

/// The most calls of one sample.
pub const MAX_SAMPLED: u64 = 1_000_000;

/// A sample that is being taken. It ends when it is dropped.
#[derive(Debug)]
pub struct Sample {
    samples: Arc<Samples>,
    tally: Arc<Tally>,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub calls: u64,
    pub reverts: u64,
    /// The least and the most gas of a call.
    pub gas: Option<(u64, u64)>,
    /// For each value that the function returns.
    pub outputs: Vec<Output>,
}

/// One of the values that a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub ty: Type,
    /// The least and the largest, if it is a number, a truth or an address, and was returned.
    pub range: Option<(Value, Value)>,
}

/// All samples that are being taken.
#[derive(Debug)]
pub(super) struct Samples {
    /// How many there are of each function.
    wanted: Vec<AtomicU32>,
    running: Mutex<Vec<Arc<Tally>>>,
    /// Nothing will be called any more.
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct Tally {
    function: FunctionId,
    wanted: u64,
    seen: Mutex<Sampled>,
    changed: Condvar,
}

impl Samples {
    pub(super) fn new(target: &Target) -> Self {
        let wanted = target.functions.iter().map(|_| AtomicU32::new(0)).collect();
        Self { wanted, running: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    pub(super) fn start(self: &Arc<Self>, target: &Target, id: FunctionId, calls: u64) -> Sample {
        let output = |ty: &Type| Output { ty: ty.clone(), range: None };
        let outputs = target.function(id).outputs.iter().map(output).collect();
        let tally = Arc::new(Tally {
            function: id,
            wanted: calls.clamp(1, MAX_SAMPLED),
            seen: Mutex::new(Sampled { calls: 0, reverts: 0, gas: None, outputs }),
            changed: Condvar::new(),
        });
        self.running.lock().push(tally.clone());
        self.wanted[id.0 as usize].fetch_add(1, Ordering::Relaxed);
        Sample { samples: self.clone(), tally }
    }

    /// True if somebody wants to know what the function does.
    pub(super) fn wants(&self, function: FunctionId) -> bool {
        self.wanted[function.0 as usize].load(Ordering::Relaxed) > 0
    }

    /// Counts a call in every sample of its function.
    pub(super) fn add(&self, id: FunctionId, function: &Function, outcome: &Outcome) {
        let mut running = self.running.lock();
        let is_full = |tally: &Arc<Tally>| tally.function == id && tally.add(function, outcome);
        let before = running.len();
        running.retain(|tally| !is_full(tally));
        let ended = u32::try_from(before - running.len()).unwrap_or_default();
        self.wanted[id.0 as usize].fetch_sub(ended, Ordering::Relaxed);
    }

    /// Nobody waits any longer: no more calls are made.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        for tally in self.running.lock().iter() {
            let _seen = tally.seen.lock();
            tally.changed.notify_all();
        }
    }

    fn end(&self, tally: &Arc<Tally>) {
        let mut running = self.running.lock();
        if let Some(index) = running.iter().position(|other| Arc::ptr_eq(other, tally)) {
            running.swap_remove(index);
            self.wanted[tally.function.0 as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Tally {
    /// Counts a call; true if it was the last that is wanted.
    fn add(&self, function: &Function, outcome: &Outcome) -> bool {
        let mut seen = self.seen.lock();
        seen.add(function, outcome);
        let is_full = seen.calls >= self.wanted;
        if is_full {
            self.changed.notify_all();
        }
        is_full
    }
}

impl Sampled {
    fn add(&mut self, function: &Function, outcome: &Outcome) {
        self.calls += 1;
        let gas = outcome.gas_used;
        let (least, most) = self.gas.unwrap_or((gas, gas));
        self.gas = Some((least.min(gas), most.max(gas)));
        if !outcome.is_success() {
            self.reverts += 1;
            return;
        }
        let returned = decode(&function.outputs, &outcome.output).unwrap_or_default();
        for (output, value) in self.outputs.iter_mut().zip(returned) {
            output.add(value);
        }
    }
}

impl Output {
    fn add(&mut self, value: Value) {
        let Value::Word(word) = value else { return };
        if !matches!(self.ty, Type::Uint(_) | Type::Int(_) | Type::Bool | Type::Address) {
            return;
        }
        let is_signed = matches!(self.ty, Type::Int(_));
        let is_less = |a: U256, b: U256| match is_signed {
            true => I256::from_raw(a) < I256::from_raw(b),
            false => a < b,
        };
        let (Value::Word(min), Value::Word(max)) =
            self.range.get_or_insert((Value::Word(word), Value::Word(word)))
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

impl Sample {
    /// What was seen so far; waits for all calls that are wanted, but no longer than this, nor past the campaign's end.
    pub fn wait(&self, most: Duration) -> Sampled {
        let Self { samples, tally } = self;
        let goes_on = |seen: &mut Sampled| {
            seen.calls < tally.wanted && !samples.is_closed.load(Ordering::Relaxed)
        };
        let mut seen = tally.seen.lock();
        tally.changed.wait_while_for(&mut seen, goes_on, most);
        seen.clone()
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.samples.end(&self.tally);
    }
}
