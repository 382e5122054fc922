//! Cheat codes that set the block and transaction environment.

use alloy_primitives::{Bytes, U256};

use super::encoding;
use super::table::CheatcodeEntry;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("warp(uint256)", |call, args| {
        call.context.block.timestamp = args.read_uint()?;
        Ok(Bytes::new())
    }),
    ("roll(uint256)", |call, args| {
        call.context.block.number = args.read_uint()?;
        Ok(Bytes::new())
    }),
    ("fee(uint256)", |call, args| {
        call.context.block.basefee = args.read_small("a base fee")?;
        Ok(Bytes::new())
    }),
    ("coinbase(address)", |call, args| {
        call.context.block.beneficiary = args.read_address()?;
        Ok(Bytes::new())
    }),
    ("prevrandao(bytes32)", |call, args| {
        call.context.block.prevrandao = Some(args.read_word()?);
        Ok(Bytes::new())
    }),
    ("prevrandao(uint256)", |call, args| {
        call.context.block.prevrandao = Some(args.read_word()?);
        Ok(Bytes::new())
    }),
    // Since the merge, the DIFFICULTY opcode returns the random number.
    ("difficulty(uint256)", |call, args| {
        call.context.block.prevrandao = Some(args.read_word()?);
        Ok(Bytes::new())
    }),
    ("chainId(uint256)", |call, args| {
        call.context.cfg.chain_id = args.read_small("a chain id")?;
        Ok(Bytes::new())
    }),
    ("txGasPrice(uint256)", |call, args| {
        call.context.tx.gas_price = args.read_small("a gas price")?;
        Ok(Bytes::new())
    }),
    ("getBlockTimestamp()", |call, _| Ok(encoding::encode_word(call.context.block.timestamp))),
    ("getBlockNumber()", |call, _| Ok(encoding::encode_word(call.context.block.number))),
    ("getChainId()", |call, _| Ok(encoding::encode_word(U256::from(call.context.cfg.chain_id)))),
];
