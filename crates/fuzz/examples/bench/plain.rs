//! Deploys a contract on plain `revm`, without hooks, the fuzzer's journal or any other part of the fuzzer.

use alloy_primitives::{Address, Bytes, TxKind, U256, address};
use revm::context::result::ExecutionResult;
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::database::{CacheDB, EmptyDB};
use revm::handler::{MainnetContext, MainnetEvm};
use revm::state::AccountInfo;
use revm::{ExecuteCommitEvm as _, MainBuilder as _, MainContext as _};
use solidity::SolidityContract;

use super::Result;

/// Echidna's default senders.
pub(super) const SENDERS: [Address; 3] = [
    address!("0x0000000000000000000000000000000000010000"),
    address!("0x0000000000000000000000000000000000020000"),
    address!("0x0000000000000000000000000000000000030000"),
];
const DEPLOYER: Address = SENDERS[2];
const BALANCE: U256 = U256::from_limbs([0xffff_ffff, 0, 0, 0]);
const GAS: u64 = 12_500_000;

pub(super) type Chain<I = ()> = MainnetEvm<MainnetContext<CacheDB<EmptyDB>>, I>;

/// Deploys the contract. Returns the chain and the contract's address.
pub(super) fn deploy<I>(contract: &SolidityContract, inspector: I) -> Result<(Chain<I>, Address)> {
    let mut database = CacheDB::new(EmptyDB::default());
    for sender in SENDERS {
        let info = AccountInfo { balance: BALANCE, ..AccountInfo::default() };
        database.insert_account_info(sender, info);
    }
    let context = Context::mainnet()
        .with_db(database)
        .modify_block_chained(|block: &mut BlockEnv| {
            block.number = U256::from(4_370_000);
            block.timestamp = U256::from(1_524_785_992);
            block.gas_limit = u64::MAX;
        })
        .modify_cfg_chained(|cfg: &mut CfgEnv| cfg.disable_nonce_check = true);
    let mut chain = context.build_mainnet_with_inspector(inspector);
    let code = Bytes::copy_from_slice(&contract.creation.bytes);
    let result =
        chain.transact_commit(build_transaction(DEPLOYER, TxKind::Create, U256::ZERO, code))?;
    let name = &contract.name;
    let address = result.created_address();
    let address = address.ok_or_else(|| format!("`{name}` was not deployed: {result:?}"))?;
    Ok((chain, address))
}

pub(super) fn build_transaction(from: Address, kind: TxKind, value: U256, data: Bytes) -> TxEnv {
    TxEnv { caller: from, kind, value, data, gas_limit: GAS, ..TxEnv::default() }
}

/// Returns true if the call returned the word one.
pub(super) fn is_true(result: &ExecutionResult) -> bool {
    let output = result.output().and_then(|output| U256::try_from_be_slice(output));
    result.is_success() && output == Some(U256::ONE)
}
