//! Permissions bind whoever runs the tests, the superuser too.

use std::thread;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Runs the work on a thread that has lost the right to read what its mode forbids, as have all threads it starts.
pub(crate) fn as_a_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let bound = || {
        let mut own = capabilities(None).unwrap();
        own.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, own).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(bound).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
