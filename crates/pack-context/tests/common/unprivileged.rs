//! Runs code without superuser rights, so that file permissions apply even to tests run as root.

use std::thread;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Runs `work` on a thread without the capabilities that bypass file permissions; threads it starts inherit this.
pub(crate) fn run_unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let restricted = || {
        let mut own = capabilities(None).unwrap();
        own.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, own).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(restricted).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
