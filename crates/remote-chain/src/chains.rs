//! Opens chains by URL or by the name of their endpoint.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use alloy_primitives::B256;
use disk::Disk;
use fuzz::chain::{RemoteBlock, RemoteChains, RemoteError, RemoteState};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::RpcUrl;
use crate::cache::ForkCache;
use crate::client::{RpcClient, RpcLimits};
use crate::flight::FlightMap;
use crate::state::{NodeAgreement, RpcState, StateSource};
use crate::wire::{self, RpcCall};

/// Options of [`RpcChains`].
#[derive(Debug)]
pub struct RpcOptions {
    /// The user's cache folder; without one, nothing is kept.
    pub cache: Option<PathBuf>,
    pub disk: Arc<dyn Disk>,
    /// URLs of endpoints by name, or the reason that one has none.
    pub endpoints: BTreeMap<String, Result<RpcUrl, String>>,
    /// Blocks that were the latest in an earlier run, by the label of their endpoint.
    pub pins: BTreeMap<String, PinnedBlock>,
    pub limits: RpcLimits,
}

/// A block that was the latest of its chain when it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedBlock {
    pub chain_id: u64,
    pub block: u64,
    pub block_hash: B256,
}

/// The remote chains of a campaign. Each is opened once.
#[derive(Clone, Debug)]
pub struct RpcChains {
    shared: Arc<SharedChains>,
}

/// A URL, and a block or the latest one.
type ChainKey = (B256, Option<u64>);

#[derive(Debug)]
pub(crate) struct SharedChains {
    own: Weak<Self>,
    cache: Option<ForkCache>,
    endpoints: BTreeMap<String, Result<RpcUrl, String>>,
    limits: RpcLimits,
    /// Bytes that all endpoints sent.
    received: Arc<AtomicU64>,
    pins: Mutex<BTreeMap<String, PinnedBlock>>,
    clients: Mutex<HashMap<String, Arc<RpcClient>>>,
    opened: FlightMap<ChainKey, Arc<RpcState>>,
    /// A chain that could not be opened is not tried again: waiting for it once is enough.
    failed: Mutex<HashMap<ChainKey, RemoteError>>,
}

impl RpcChains {
    pub fn new(options: RpcOptions) -> Self {
        let RpcOptions { cache, disk, endpoints, pins, limits } = options;
        let shared = Arc::new_cyclic(|own| SharedChains {
            own: own.clone(),
            cache: cache.map(|folder| ForkCache::new(&folder, disk)),
            endpoints,
            limits,
            received: Arc::default(),
            pins: Mutex::new(pins),
            clients: Mutex::default(),
            opened: FlightMap::default(),
            failed: Mutex::default(),
        });
        Self { shared }
    }

    /// Returns the state of a chain. Without a block, it is the latest one, or the one of an earlier run.
    pub fn open_url(
        &self,
        url: &RpcUrl,
        block: Option<u64>,
    ) -> Result<Arc<dyn RemoteState>, RemoteError> {
        Ok(self.shared.open_url(url, block)?)
    }

    /// Returns the blocks that were opened as the latest, by the label of their endpoint.
    pub fn pins(&self) -> BTreeMap<String, PinnedBlock> {
        self.shared.pins.lock().clone()
    }

    /// Returns warnings about the cache since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        self.shared.cache.as_ref().map(ForkCache::take_warnings).unwrap_or_default()
    }
}

impl RemoteChains for RpcChains {
    fn open(
        &self,
        endpoint: &str,
        block: Option<u64>,
    ) -> Result<Arc<dyn RemoteState>, RemoteError> {
        let url = self.shared.find_url(endpoint)?;
        self.open_url(&url, block)
    }

    fn names(&self) -> Vec<String> {
        self.shared.endpoints.keys().cloned().collect()
    }
}

impl SharedChains {
    fn find_url(&self, endpoint: &str) -> Result<RpcUrl, RemoteError> {
        match self.endpoints.get(endpoint) {
            Some(Ok(url)) => Ok(url.clone()),
            Some(Err(reason)) => {
                Err(RemoteError::new(format!("endpoint `{endpoint}` has no URL: {reason}")))
            }
            None if RpcUrl::is_like(endpoint) => RpcUrl::parse(endpoint)
                .map_err(|error| RemoteError::new(format!("invalid URL of a node: {error}"))),
            // A URL without its scheme may contain an API key.
            None if !is_name(endpoint) => Err(RemoteError::new(
                "invalid endpoint: expected a URL such as https://host/key, or a name of [rpc_endpoints] in foundry.toml",
            )),
            None => Err(RemoteError::new(format!(
                "unknown endpoint `{endpoint}`; add it to [rpc_endpoints] in foundry.toml"
            ))),
        }
    }

    pub(crate) fn open_url(
        &self,
        url: &RpcUrl,
        block: Option<u64>,
    ) -> Result<Arc<RpcState>, RemoteError> {
        let key = (alloy_primitives::keccak256(url.as_url().as_str()), block);
        if let Some(failure) = self.failed.lock().get(&key) {
            return Err(failure.clone());
        }
        let opened = self.opened.get_or_compute(key, || self.open_chain(url, block));
        opened.inspect_err(|error| {
            self.failed.lock().insert(key, error.clone());
        })
    }

    fn open_chain(&self, url: &RpcUrl, block: Option<u64>) -> Result<Arc<RpcState>, RemoteError> {
        let client = self.client(url);
        let pin = block.is_none().then(|| self.pins.lock().get(&url.label()).copied()).flatten();
        let number = block.or(pin.map(|pin| pin.block));
        let cached = number.map(|number| self.open_cached(&client, number)).transpose()?.flatten();
        let state = match cached {
            Some(state) => state,
            None => self.open_fresh(&client, number)?,
        };
        let found = PinnedBlock {
            chain_id: state.chain_id(),
            block: state.block().number,
            block_hash: state.block().hash,
        };
        if let Some(pin) = pin
            && pin != found
        {
            return Err(client.error(&format!(
                "has another block {} than the earlier run: hash {} of chain {}, not {} of chain {}",
                pin.block, found.block_hash, found.chain_id, pin.block_hash, pin.chain_id
            )));
        }
        if block.is_none() {
            self.pins.lock().insert(url.label(), found);
        }
        Ok(Arc::new(state))
    }

    fn client(&self, url: &RpcUrl) -> Arc<RpcClient> {
        let mut clients = self.clients.lock();
        let received = || Arc::clone(&self.received);
        let new = || Arc::new(RpcClient::new(url.clone(), self.limits.clone(), received()));
        Arc::clone(clients.entry(url.as_url().to_string()).or_insert_with(new))
    }

    /// Returns the state of a block that the cache has. A node of this machine may have been started anew with another
    /// chain, so it is asked whether it still has the block, unless it is not running.
    fn open_cached(
        &self,
        client: &Arc<RpcClient>,
        number: u64,
    ) -> Result<Option<RpcState>, RemoteError> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let Some(stored) = cache.find_block(&client.url.digest(), number) else { return Ok(None) };
        let state = self.new_state(client, (stored.chain_id, stored.to_block()), false);
        if client.url.is_loopback() {
            match state.compare_with_node() {
                Ok(NodeAgreement::Same) => {}
                Ok(NodeAgreement::Different) => return Ok(None),
                Err(error) if error.is_unreachable() => {}
                Err(error) => return Err(client.error(error.message())),
            }
        }
        Ok(Some(state))
    }

    /// Asks the node for a block, or for the latest one.
    fn open_fresh(
        &self,
        client: &Arc<RpcClient>,
        number: Option<u64>,
    ) -> Result<RpcState, RemoteError> {
        let results = client.call(&[RpcCall::chain_id(), RpcCall::block(number)])?;
        let invalid = |method: &str| client.error(&format!("sent an invalid result of {method}"));
        let [chain_id, block] = results.as_slice() else { return Err(invalid("eth_chainId")) };
        let chain_id = wire::decode_count(chain_id).ok_or_else(|| invalid("eth_chainId"))?;
        let block = wire::decode_block(block).map_err(|()| invalid("eth_getBlockByNumber"))?;
        let block = block.ok_or_else(|| {
            let name = number.map_or_else(|| "latest block".to_owned(), |it| format!("block {it}"));
            client.error(&format!("has no {name} (chain {chain_id})"))
        })?;
        if number.is_some_and(|number| number != block.number) {
            return Err(client.error(&format!(
                "sent block {} instead of block {}",
                block.number,
                number.unwrap_or_default()
            )));
        }
        if let Some(cache) = &self.cache {
            cache.remember_block(&client.url.digest(), chain_id, &block);
        }
        Ok(self.new_state(client, (chain_id, block), true))
    }

    fn new_state(
        &self,
        client: &Arc<RpcClient>,
        (chain_id, block): (u64, RemoteBlock),
        is_fresh: bool,
    ) -> RpcState {
        RpcState::new(StateSource {
            client: Arc::clone(client),
            chain_id,
            block,
            is_fresh,
            cache: self.cache.clone(),
            chains: self.own.clone(),
        })
    }
}

/// Returns true if a text is like the name of an endpoint. API keys are longer: they have 32 characters or more.
fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=24).contains(&text.len()) && text.chars().all(is_plain)
}
