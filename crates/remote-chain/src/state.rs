//! State of one chain after one block: in memory, in the cache, or at the node.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::{Address, B256, U256};
use fuzz::chain::{RemoteAccount, RemoteBlock, RemoteError, RemoteState};
use parking_lot::Mutex;

use crate::cache::{BlockCache, ForkCache};
use crate::chains::SharedChains;
use crate::client::{RequestError, RpcClient};
use crate::entries::StateEntry;
use crate::flight::FlightMap;
use crate::wire::{self, BlockName, RpcCall};

/// Maximum values that one campaign may fetch of a block. They are kept in memory.
const MAX_VALUES: usize = 2_000_000;

/// Words in errors of nodes that do not keep the state of old blocks.
const PRUNED_TEXTS: [&str; 5] =
    ["missing trie node", "pruned", "not available", "historical state", "archive"];
/// Words in errors of nodes that do not have a block.
const MISSING_TEXTS: [&str; 5] =
    ["block not found", "header not found", "hash not found", "not canonical", "unknown block"];

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
    /// The node does not understand all requests that name the block by its hash.
    is_asked_by_number: AtomicBool,
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
        let endpoint = client.url.digest();
        let opened = cache.as_ref().map(|cache| cache.open_block(&endpoint, chain_id, &block));
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
            is_asked_by_number: AtomicBool::new(false),
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

    /// Errors if the node does not have the block, or is one of another chain.
    fn check_block(&self) -> Result<(), RemoteError> {
        let agreement =
            self.compare_with_node().map_err(|error| self.client.error(error.message()))?;
        if agreement == NodeAgreement::Same {
            return Ok(());
        }
        Err(self.describe_lost_block())
    }

    /// Forgets the block, which the node does not have, and returns the error.
    fn describe_lost_block(&self) -> RemoteError {
        if let Some(cache) = &self.cache {
            cache.forget_block(&self.client.url.digest(), self.block.number);
        }
        let RemoteBlock { number, hash, .. } = self.block;
        self.client.error(&format!(
            "no longer has block {number} with hash {hash} of chain {}; run again to fetch the block that it has",
            self.chain_id
        ))
    }

    /// Checks before the first request that the node has the chain that the cache is about. Values of two chains must never
    /// be mixed.
    fn check_node(&self) -> Result<(), RemoteError> {
        let mut is_checked = self.is_checked.lock();
        if !*is_checked {
            self.check_block()?;
            *is_checked = true;
        }
        Ok(())
    }

    /// Fetches a value. The first failure is final.
    fn fetch<T>(&self, request: impl FnOnce() -> Result<T, RemoteError>) -> Result<T, RemoteError> {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        let fetched = self.check_limits().and_then(|()| self.check_node()).and_then(|()| request());
        fetched.map_err(|error| self.failure.get_or_init(|| error).clone())
    }

    fn check_limits(&self) -> Result<(), RemoteError> {
        if self.accounts.len() + self.slots.len() + self.hashes.len() > MAX_VALUES {
            let text = format!("was asked for {MAX_VALUES} values, which is the limit");
            return Err(self.client.error(&text));
        }
        Ok(())
    }

    fn invalid_result(&self, method: &str) -> RemoteError {
        self.client.error(&format!("sent an invalid result of {method}"))
    }

    /// Makes calls about the state of the block.
    ///
    /// The block is named by its hash: the chain may be reorganized during a campaign, and its number then means another
    /// one. A node that does not understand that is asked by number, and each time whether it still has the block.
    fn request(
        &self,
        calls: impl Fn(BlockName) -> Vec<RpcCall>,
    ) -> Result<Vec<String>, RemoteError> {
        let RemoteBlock { number, hash, .. } = self.block;
        if !self.is_asked_by_number.load(Ordering::Relaxed) {
            match self.client.try_call(&calls(BlockName::Hash(hash))) {
                Ok(results) => return Ok(results),
                Err(error) if error.is_refusal() => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
        let results = self.client.try_call(&calls(BlockName::Number(number)));
        let results = results.map_err(|error| self.explain(&error))?;
        self.check_block()?;
        self.is_asked_by_number.store(true, Ordering::Relaxed);
        Ok(results)
    }

    /// Adds what helps if the node does not have the block or its state.
    fn explain(&self, error: &RequestError) -> RemoteError {
        let number = self.block.number;
        let lower = error.message().to_ascii_lowercase();
        let says = |texts: &[&str]| texts.iter().any(|part| lower.contains(part));
        let more = if says(&PRUNED_TEXTS) {
            format!("; only an archive node has the state of block {number}")
        } else if says(&MISSING_TEXTS) {
            format!("; the node lost block {number}, so run again, or choose an older block")
        } else {
            String::new()
        };
        self.client.error(&format!("{}{more}", error.message()))
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
            let calls = |block| {
                vec![
                    RpcCall::balance(address, block),
                    RpcCall::nonce(address, block),
                    RpcCall::code(address, block),
                ]
            };
            let decode = |results: &[String]| {
                let [balance, nonce, code] = results else { return None };
                Some(RemoteAccount {
                    balance: wire::decode_number(balance)?,
                    nonce: wire::decode_count(nonce)?,
                    code: wire::decode_code(code)?,
                })
            };
            let account = self.fetch(|| {
                let results = self.request(calls)?;
                decode(&results).ok_or_else(|| self.invalid_result("an account"))
            })?;
            self.store(StateEntry::from_account(address, &account));
            Ok(account)
        })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, RemoteError> {
        self.slots.get_or_compute((address, slot), || {
            let calls = |block| vec![RpcCall::storage(address, slot, block)];
            let value = self.fetch(|| {
                let results = self.request(calls)?;
                let value = results.first().and_then(|result| wire::decode_number(result));
                value.ok_or_else(|| self.invalid_result("eth_getStorageAt"))
            })?;
            self.store(StateEntry::Slot { address, slot, value });
            Ok(value)
        })
    }

    fn block_hash(&self, number: u64) -> Result<B256, RemoteError> {
        if number == self.block.number {
            return Ok(self.block.hash);
        }
        self.hashes.get_or_compute(number, || {
            // Both, because only a block below this one counts.
            let calls = [RpcCall::block(Some(number)), RpcCall::block(Some(self.block.number))];
            let hash = self.fetch(|| {
                let results = self.client.try_call(&calls).map_err(|error| self.explain(&error))?;
                let decode = |result: &String| wire::decode_block(result).ok().flatten();
                let blocks: Vec<_> = results.iter().filter_map(decode).collect();
                match blocks.as_slice() {
                    [wanted, own] if own.hash != self.block.hash && wanted.number == number => {
                        Err(self.describe_lost_block())
                    }
                    [wanted, _] if wanted.number == number => Ok(wanted.hash),
                    _ => Err(self.invalid_result("eth_getBlockByNumber")),
                }
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
