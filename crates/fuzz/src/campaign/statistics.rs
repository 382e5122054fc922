//! Counts calls, reverts and gas by function.

/// Statistics of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionStatistics {
    pub calls: u64,
    pub reverts: u64,
    pub gas: u64,
    pub max_gas: u64,
    /// Sequences that reached new branches and ended with this function.
    pub news: u64,
}

impl FunctionStatistics {
    pub(super) fn record_call(&mut self, gas: u64, is_success: bool) {
        self.calls += 1;
        self.reverts += u64::from(!is_success);
        self.gas += gas;
        self.max_gas = self.max_gas.max(gas);
    }

    /// Returns the combined statistics.
    #[must_use]
    pub(crate) fn combine_with(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            reverts: self.reverts + other.reverts,
            gas: self.gas + other.gas,
            max_gas: self.max_gas.max(other.max_gas),
            news: self.news + other.news,
        }
    }
}
