//! What the cache stores of a chain: one JSON value per line.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use fuzz::chain::{RemoteAccount, RemoteBlock};
use serde::{Deserialize, Serialize};

/// One value that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum StateEntry {
    Account { address: Address, balance: U256, nonce: u64, code: Bytes, code_hash: B256 },
    Slot { address: Address, slot: U256, value: U256 },
    Hash { number: u64, hash: B256 },
}

impl StateEntry {
    pub(crate) fn from_account(address: Address, account: &RemoteAccount) -> Self {
        let RemoteAccount { balance, nonce, ref code } = *account;
        let code_hash = keccak256(code);
        Self::Account { address, balance, nonce, code: code.clone(), code_hash }
    }

    /// Returns true if the entry is consistent in itself.
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Account { code, code_hash, .. } => keccak256(code) == *code_hash,
            Self::Slot { .. } | Self::Hash { .. } => true,
        }
    }
}

/// A block header with the chain that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredBlock {
    pub(crate) chain_id: u64,
    number: u64,
    pub(crate) hash: B256,
    timestamp: u64,
    gas_limit: u64,
    base_fee: u64,
    beneficiary: Address,
    difficulty: U256,
    prev_randao: B256,
    excess_blob_gas: Option<u64>,
}

impl StoredBlock {
    pub(crate) fn new(chain_id: u64, block: &RemoteBlock) -> Self {
        let RemoteBlock { number, hash, timestamp, gas_limit, base_fee, .. } = *block;
        let RemoteBlock { beneficiary, difficulty, prev_randao, excess_blob_gas, .. } = *block;
        Self {
            chain_id,
            number,
            hash,
            timestamp,
            gas_limit,
            base_fee,
            beneficiary,
            difficulty,
            prev_randao,
            excess_blob_gas,
        }
    }

    pub(crate) fn to_block(&self) -> RemoteBlock {
        let Self { number, hash, timestamp, gas_limit, base_fee, .. } = *self;
        let Self { beneficiary, difficulty, prev_randao, excess_blob_gas, .. } = *self;
        RemoteBlock {
            number,
            hash,
            timestamp,
            gas_limit,
            base_fee,
            beneficiary,
            difficulty,
            prev_randao,
            excess_blob_gas,
        }
    }
}
