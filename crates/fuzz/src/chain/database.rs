//! State that the journal does not hold yet: that of the active fork, or nothing.

use std::convert::Infallible;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, U256};
use revm::database_interface::{Database, EmptyDB};
use revm::state::{AccountInfo, Bytecode};

use super::remote::{RemoteAccount, RemoteError, RemoteState};
use super::{CHEATCODE_ADDRESS, CONSOLE_ADDRESS};

/// Source of accounts and storage.
///
/// State that cannot be fetched reads as empty, and [`Self::failure`] is set. The result of the transaction is unknown
/// then, and the journal that took the value must not be used anymore. An error instead would end frames like a revert,
/// which contracts could observe before the transaction is discarded.
#[derive(Clone, Debug, Default)]
pub(super) struct ChainDatabase {
    remote: Option<Arc<dyn RemoteState>>,
    /// Number of the journal in use; see [`super::forks::ForkRegistry`].
    epoch: usize,
    /// The first failure, and the epoch in which it happened.
    failure: Option<(RemoteError, usize)>,
    /// Time spent waiting for remote state since the transaction began.
    waited: Duration,
    /// Time after which nothing is waited for.
    end: Option<Instant>,
    /// Some state was not known at the end.
    is_cut_off: bool,
}

impl ChainDatabase {
    pub(super) fn new(remote: Option<Arc<dyn RemoteState>>) -> Self {
        Self { remote, ..Self::default() }
    }

    /// Switches to other state.
    pub(super) fn set_remote(&mut self, remote: Option<Arc<dyn RemoteState>>, epoch: usize) {
        self.remote = remote;
        self.epoch = epoch;
        // The journal that took a wrong value is gone.
        self.failure.take_if(|(_, failed)| *failed > epoch);
    }

    /// Returns the reason that some state in the journal is not what it should be.
    pub(super) fn failure(&self) -> Option<&RemoteError> {
        self.failure.as_ref().map(|(error, _)| error)
    }

    pub(super) fn reset_waiting(&mut self) {
        self.waited = Duration::ZERO;
    }

    /// Returns the time spent waiting since the last call.
    pub(super) fn take_waiting(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Sets the time after which nothing is waited for.
    pub(super) fn set_end(&mut self, end: Option<Instant>) {
        self.end = end;
    }

    /// Returns true if some state in the journal is not what it should be, because it was not known at the end.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Asks the remote chain, if there is one.
    fn ask<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&dyn RemoteState) -> Result<T, RemoteError> + Send + 'static,
    ) -> Option<T> {
        let remote = self.remote.clone()?;
        let answer = self.wait_for(move || question(&*remote))?;
        match answer {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure.get_or_insert((error, self.epoch));
                None
            }
        }
    }

    /// Waits for something that comes from a remote chain, but not past the end. Returns `None` then.
    pub(super) fn wait_for<T: Send + 'static>(
        &mut self,
        fetch: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let begin = Instant::now();
        let answer = match self.end {
            _ if self.is_cut_off => None,
            None => Some(fetch()),
            Some(end) => fetch_until(end, fetch),
        };
        self.waited += begin.elapsed();
        self.is_cut_off |= answer.is_none();
        answer
    }
}

/// Runs a function that may block on a thread of its own, and waits until this time at most.
fn fetch_until<T: Send + 'static>(
    end: Instant,
    fetch: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let left = end.checked_duration_since(Instant::now())?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = thread::Builder::new().name("fuzz-fetch".to_owned());
    // The receiver may be gone.
    thread.spawn(move || drop(sender.send(fetch()))).ok()?;
    receiver.recv_timeout(left).ok()
}

impl Database for ChainDatabase {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        // These exist for the fuzzer only.
        if address == CHEATCODE_ADDRESS || address == CONSOLE_ADDRESS {
            return Ok(None);
        }
        let Some(account) = self.ask(move |remote| remote.account(address)) else {
            return Ok(None);
        };
        Ok((account != RemoteAccount::default()).then(|| to_account_info(account)))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        // Accounts come with their code.
        EmptyDB::default().code_by_hash(hash)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(self.ask(move |remote| remote.storage(address, slot)).unwrap_or_default())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        // Later blocks exist on the fork only.
        let hash = match &self.remote {
            Some(remote) if number <= remote.block().number => {
                self.ask(move |remote| remote.block_hash(number))
            }
            _ => None,
        };
        hash.map_or_else(|| EmptyDB::default().block_hash(number), Ok)
    }
}

fn to_account_info(account: RemoteAccount) -> AccountInfo {
    let RemoteAccount { balance, nonce, code } = account;
    // Code that begins like a delegation, and is none, was deployed before that had a meaning.
    let code =
        Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code));
    AccountInfo::new(balance, nonce, code.hash_slow(), code)
}
