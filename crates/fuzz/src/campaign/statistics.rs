//! How often functions were called, and what it cost.

/// Of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub calls: u64,
    pub reverts: u64,
    pub gas: u64,
    pub max_gas: u64,
    /// Sequences that showed something new and ended with this function.
    pub news: u64,
}

impl Statistics {
    pub(super) fn add(&mut self, gas: u64, is_success: bool) {
        self.calls += 1;
        self.reverts += u64::from(!is_success);
        self.gas += gas;
        self.max_gas = self.max_gas.max(gas);
    }

    /// Both together.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            reverts: self.reverts + other.reverts,
            gas: self.gas + other.gas,
            max_gas: self.max_gas.max(other.max_gas),
            news: self.news + other.news,
        }
    }
}
