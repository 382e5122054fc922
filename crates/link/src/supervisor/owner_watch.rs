//! Notices that the owner, the process that started the supervisor, has exited or asks for the end.
//!
//! Standard input cannot say so by itself. The server reads from the same pipe and can open its writing end too
//! (`/proc/self/fd/0`); the pipe then never hangs up.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{PidfdFlags, getppid, pidfd_open};

/// Descriptors that become readable when the server must end.
pub(super) struct OwnerWatch {
    /// The owner. Unavailable in old kernels and some containers.
    pub(super) process: io::Result<OwnedFd>,
    /// SIGTERM, which the owner sends if closing standard input had no effect.
    termination: SignalFd,
}

impl OwnerWatch {
    /// Starts to watch. Must be called while the process has one thread, because threads inherit the blocked signal.
    pub(super) fn new() -> io::Result<Self> {
        let signals = SigSet::from(Signal::SIGTERM);
        signals.thread_block()?;
        let termination = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?;
        let owner = getppid().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let process = owner.and_then(|owner| Ok(pidfd_open(owner, PidfdFlags::empty())?));
        Ok(Self { process, termination })
    }

    /// Returns the descriptors to poll.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        let process = self.process.as_ref().ok().map(AsFd::as_fd);
        process.into_iter().chain([self.termination.as_fd()])
    }
}

/// Lets this process receive the signals that [`OwnerWatch::new`] blocks. Processes inherit the blocking.
pub(super) fn unblock_signals() -> io::Result<()> {
    Ok(SigSet::from(Signal::SIGTERM).thread_unblock()?)
}
