//! State of one chain after one block: in memory, in the cache, or at the node.

use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::{Address, B256, U256};
use fuzz::chain::{RemoteAccount, RemoteBlock, RemoteError, RemoteState};
use parking_lot::Mutex;

use crate::cache::{BlockCache, ForkCache};
use crate::chains::SharedChains;
use crate::client::{RequestError, RpcClient};
use crate::entries::StateEntry;
use crate::flight::FlightMap;
use crate::wire::{self, RpcCall};

/// Maximum values that one campaign may fetch of a block. They are kept in memory.
const MAX_VALUES: usize = 2_000_000;

/// Words in errors of nodes that do not keep the state of old blocks.
const PRUNED_TEXTS: [&str; 5] =
    ["missing trie node", "pruned", "not available", "historical state", "archive"];

/// State of a chain after a block. Values are fetched once, whichever thread needs them first.
#[derive(Debug)]
pub(crate) struct RpcState {
    client: Arc<RpcClient>,
    label: String,
    chain_id: u64,
    block: RemoteBlock,
    accounts: FlightMap<Address, RemoteAccount>,
    slots: FlightMap<(Address, U256), U256>,
    hashes: FlightMap<u64, B256>,
    files: Option<BlockCache>,
    cache: Option<ForkCache>,
    /// The node was asked for the block, so that it has the chain that the cache is about.
    is_checked: Mutex<bool>,
    /// The first failure. Later requests fail like it, at once.
    failure: OnceLock<RemoteError>,
    chains: Weak<SharedChains>,
}

/// Result of comparing a cached block with the node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeAgreement {
    Same,
    /// The node has another chain, or another block with this number.
    Different,
}

/// A block, and where its state comes from.
pub(crate) struct StateSource {
    pub(crate) client: Arc<RpcClient>,
    pub(crate) chain_id: u64,
    pub(crate) block: RemoteBlock,
    /// The node sent the block just now.
    pub(crate) is_fresh: bool,
    pub(crate) cache: Option<ForkCache>,
    pub(crate) chains: Weak<SharedChains>,
}

impl RpcState {
    pub(crate) fn new(source: StateSource) -> Self {
        let StateSource { client, chain_id, block, is_fresh, cache, chains } = source;
        let opened = cache.as_ref().map(|cache| cache.open_block(chain_id, &block));
        let (files, entries) = opened.unzip();
        let state = Self {
            label: client.url.label(),
            client,
            chain_id,
            block,
            accounts: FlightMap::default(),
            slots: FlightMap::default(),
            hashes: FlightMap::default(),
            files,
            cache,
            is_checked: Mutex::new(is_fresh),
            failure: OnceLock::new(),
            chains,
        };
        for entry in entries.into_iter().flatten() {
            match entry {
                StateEntry::Account { address, balance, nonce, code, .. } => {
                    state.accounts.insert(address, RemoteAccount { balance, nonce, code });
                }
                StateEntry::Slot { address, slot, value } => {
                    state.slots.insert((address, slot), value);
                }
                StateEntry::Hash { number, hash } => state.hashes.insert(number, hash),
            }
        }
        state
    }

    /// Asks the node whether it has the chain and the block.
    pub(crate) fn compare_with_node(&self) -> Result<NodeAgreement, RequestError> {
        let calls = [RpcCall::chain_id(), RpcCall::block(Some(self.block.number))];
        let results = self.client.try_call(&calls)?;
        let chain_id = results.first().and_then(|result| wire::decode_count(result));
        let block = results.get(1).and_then(|result| wire::decode_block(result).ok().flatten());
        let is_same = chain_id == Some(self.chain_id)
            && block.is_some_and(|block| block.hash == self.block.hash);
        Ok(if is_same { NodeAgreement::Same } else { NodeAgreement::Different })
    }

    /// Checks before the first request that the node has the chain that the cache is about. Values of two chains must never
    /// be mixed.
    fn check_node(&self) -> Result<(), RemoteError> {
        let mut is_checked = self.is_checked.lock();
        if *is_checked {
            return Ok(());
        }
        let agreement =
            self.compare_with_node().map_err(|error| self.client.error(error.message()))?;
        if agreement == NodeAgreement::Different {
            if let Some(cache) = &self.cache {
                cache.forget_block(&self.client.url.digest(), self.block.number);
            }
            let RemoteBlock { number, hash, .. } = self.block;
            return Err(self.client.error(&format!(
                "no longer has block {number} with hash {hash} of chain {}, which the cache is about; run again to fetch the block that it has",
                self.chain_id
            )));
        }
        *is_checked = true;
        Ok(())
    }

    /// Fetches a value.
    fn fetch<T>(
        &self,
        calls: &[RpcCall],
        decode: impl FnOnce(&[String]) -> Option<T>,
    ) -> Result<T, RemoteError> {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        let fetched = self.try_fetch(calls, decode);
        fetched.map_err(|error| self.failure.get_or_init(|| error).clone())
    }

    fn try_fetch<T>(
        &self,
        calls: &[RpcCall],
        decode: impl FnOnce(&[String]) -> Option<T>,
    ) -> Result<T, RemoteError> {
        if self.accounts.len() + self.slots.len() + self.hashes.len() > MAX_VALUES {
            let text = format!("was asked for {MAX_VALUES} values, which is the limit");
            return Err(self.client.error(&text));
        }
        self.check_node()?;
        let results = self.client.call(calls).map_err(|error| self.explain_pruning(error))?;
        decode(&results).ok_or_else(|| {
            let method = calls.first().map_or("a call", |call| call.method);
            self.client.error(&format!("sent an invalid result of {method}"))
        })
    }

    /// Adds what helps if the node does not keep the state of old blocks.
    fn explain_pruning(&self, error: RemoteError) -> RemoteError {
        let text = error.to_string();
        let lower = text.to_ascii_lowercase();
        match PRUNED_TEXTS.iter().any(|part| lower.contains(part)) {
            true => RemoteError::new(format!(
                "{text}; only an archive node has the state of block {}",
                self.block.number
            )),
            false => error,
        }
    }

    fn store(&self, entry: StateEntry) {
        if let Some(files) = &self.files {
            files.push(entry);
        }
    }
}

impl RemoteState for RpcState {
    fn endpoint(&self) -> &str {
        &self.label
    }

    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn block(&self) -> &RemoteBlock {
        &self.block
    }

    fn account(&self, address: Address) -> Result<RemoteAccount, RemoteError> {
        self.accounts.get_or_compute(address, || {
            let number = self.block.number;
            let calls = [
                RpcCall::balance(address, number),
                RpcCall::nonce(address, number),
                RpcCall::code(address, number),
            ];
            let account = self.fetch(&calls, |results| {
                let [balance, nonce, code] = results else { return None };
                Some(RemoteAccount {
                    balance: wire::decode_number(balance)?,
                    nonce: wire::decode_count(nonce)?,
                    code: wire::decode_code(code)?,
                })
            })?;
            self.store(StateEntry::from_account(address, &account));
            Ok(account)
        })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, RemoteError> {
        self.slots.get_or_compute((address, slot), || {
            let calls = [RpcCall::storage(address, slot, self.block.number)];
            let value = self.fetch(&calls, |results| wire::decode_number(results.first()?))?;
            self.store(StateEntry::Slot { address, slot, value });
            Ok(value)
        })
    }

    fn block_hash(&self, number: u64) -> Result<B256, RemoteError> {
        if number == self.block.number {
            return Ok(self.block.hash);
        }
        self.hashes.get_or_compute(number, || {
            let hash = self.fetch(&[RpcCall::block(Some(number))], |results| {
                let block = wire::decode_block(results.first()?).ok()??;
                (block.number == number).then_some(block.hash)
            })?;
            self.store(StateEntry::Hash { number, hash });
            Ok(hash)
        })
    }

    fn at_block(&self, number: u64) -> Result<Arc<dyn RemoteState>, RemoteError> {
        match self.chains.upgrade() {
            Some(chains) => Ok(chains.open_url(&self.client.url, Some(number))?),
            None => Err(self.client.error("is no longer used")),
        }
    }

    fn save(&self) {
        if let Some(files) = &self.files {
            files.flush();
        }
    }
}
