//! Interface to remote chains, from whose state forks start.
//!
//! The fuzzer neither opens connections nor knows URLs. The crate `remote-chain` implements these traits over JSON-RPC.

use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

/// Header of the block that a fork starts from, as far as contracts can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteBlock {
    pub number: u64,
    pub hash: B256,
    pub timestamp: u64,
    pub gas_limit: u64,
    /// 0 on chains without a base fee.
    pub base_fee: u64,
    pub beneficiary: Address,
    pub difficulty: U256,
    /// Zero on chains that do not have it.
    pub prev_randao: B256,
    pub excess_blob_gas: Option<u64>,
}

/// An account of a remote chain, without its storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteAccount {
    pub balance: U256,
    pub nonce: u64,
    pub code: Bytes,
}

/// Reason that remote state is unknown.
///
/// It is displayed as a fragment. It names the host, but no other part of a URL: API keys are there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{0}")]
pub struct RemoteError(String);

impl RemoteError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// State of a remote chain after one block. It never changes, so that a campaign is reproducible.
///
/// Calls block until the state is known. After the first error, every state that is not known yet is an error too.
pub trait RemoteState: fmt::Debug + Send + Sync {
    /// Name of the endpoint without secrets: its host, and a digest after `#`.
    fn endpoint(&self) -> &str;

    fn chain_id(&self) -> u64;

    fn block(&self) -> &RemoteBlock;

    /// Returns an account; one that does not exist is empty.
    fn account(&self, address: Address) -> Result<RemoteAccount, RemoteError>;

    fn storage(&self, address: Address, slot: U256) -> Result<U256, RemoteError>;

    /// Returns the hash of this block or an earlier one.
    fn block_hash(&self, number: u64) -> Result<B256, RemoteError>;

    /// Returns the state of the same chain after another block.
    fn at_block(&self, number: u64) -> Result<Arc<dyn RemoteState>, RemoteError>;

    /// Stores what was fetched, for later campaigns.
    fn save(&self);
}

/// Opens remote chains for cheat codes.
pub trait RemoteChains: fmt::Debug + Send + Sync {
    /// Returns the state of a chain, given the URL or the name of its endpoint. Without a block, it is the latest one when
    /// the endpoint was opened first.
    fn open(&self, endpoint: &str, block: Option<u64>)
    -> Result<Arc<dyn RemoteState>, RemoteError>;

    /// Returns the names of the endpoints.
    fn names(&self) -> Vec<String>;
}

/// What a chain may know of remote ones.
#[derive(Clone, Debug, Default)]
pub struct ForkAccess {
    /// State that the chain starts from.
    pub base: Option<Arc<dyn RemoteState>>,
    /// Opens chains for cheat codes; `None` if they are not allowed to.
    pub chains: Option<Arc<dyn RemoteChains>>,
}

/// Compares by identity: equal settings are copies of each other.
impl PartialEq for ForkAccess {
    fn eq(&self, other: &Self) -> bool {
        fn is_same<T: ?Sized>(own: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
            match (own, other) {
                (None, None) => true,
                (Some(own), Some(other)) => Arc::ptr_eq(own, other),
                _ => false,
            }
        }
        is_same(&self.base, &other.base) && is_same(&self.chains, &other.chains)
    }
}
