//! Cheat codes for the block and the transaction that code sees.

use alloy_primitives::{Bytes, U256};

use super::answer;
use super::table::Entry;

pub(super) const TABLE: &[Entry] = &[
    ("warp(uint256)", |call, args| {
        call.context.block.timestamp = args.uint()?;
        Ok(Bytes::new())
    }),
    ("roll(uint256)", |call, args| {
        call.context.block.number = args.uint()?;
        Ok(Bytes::new())
    }),
    ("fee(uint256)", |call, args| {
        call.context.block.basefee = args.small("a base fee")?;
        Ok(Bytes::new())
    }),
    ("coinbase(address)", |call, args| {
        call.context.block.beneficiary = args.address()?;
        Ok(Bytes::new())
    }),
    ("prevrandao(bytes32)", |call, args| {
        call.context.block.prevrandao = Some(args.word()?);
        Ok(Bytes::new())
    }),
    ("prevrandao(uint256)", |call, args| {
        call.context.block.prevrandao = Some(args.word()?);
        Ok(Bytes::new())
    }),
    // The instruction that gave the difficulty gives the random number since the merge.
    ("difficulty(uint256)", |call, args| {
        call.context.block.prevrandao = Some(args.word()?);
        Ok(Bytes::new())
    }),
    ("chainId(uint256)", |call, args| {
        call.context.cfg.chain_id = args.small("a chain id")?;
        Ok(Bytes::new())
    }),
    ("txGasPrice(uint256)", |call, args| {
        call.context.tx.gas_price = args.small("a gas price")?;
        Ok(Bytes::new())
    }),
    ("getBlockTimestamp()", |call, _| Ok(answer::word(call.context.block.timestamp))),
    ("getBlockNumber()", |call, _| Ok(answer::word(call.context.block.number))),
    ("getChainId()", |call, _| Ok(answer::word(U256::from(call.context.cfg.chain_id)))),
];
