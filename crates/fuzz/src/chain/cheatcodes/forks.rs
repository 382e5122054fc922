//! Cheat codes that create forks of remote chains and switch between them.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, encoding};
use crate::chain::NotRunReason;
use crate::chain::forks::{self, ForkError};
use crate::chain::remote::{RemoteChains, RemoteError};

/// Maximum accounts of one call.
const MAX_ACCOUNTS: usize = 1024;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("createFork(string)", |call, args| {
        let fork = create_fork(call, args, false)?;
        Ok(encoding::encode_word(U256::from(fork)))
    }),
    ("createFork(string,uint256)", |call, args| {
        let fork = create_fork(call, args, true)?;
        Ok(encoding::encode_word(U256::from(fork)))
    }),
    ("createSelectFork(string)", |call, args| create_and_select(call, args, false)),
    ("createSelectFork(string,uint256)", |call, args| create_and_select(call, args, true)),
    ("selectFork(uint256)", |call, args| {
        let fork = read_fork(args)?;
        forks::select_fork(call.context, fork, call.depth.saturating_sub(1))?;
        Ok(Bytes::new())
    }),
    ("activeFork()", |call, _| {
        let active = call.context.chain.forks.active()?;
        Ok(encoding::encode_word(U256::from(active)))
    }),
    ("rollFork(uint256)", |call, args| {
        let number = args.read_small::<u64>("a block number")?;
        let active = call.context.chain.forks.active()?;
        roll_fork(call, active, number)
    }),
    ("rollFork(uint256,uint256)", |call, args| {
        let (fork, number) = (read_fork(args)?, args.read_small::<u64>("a block number")?);
        roll_fork(call, fork, number)
    }),
    ("makePersistent(address)", |call, args| mark_accounts(call, args, 1, true)),
    ("makePersistent(address,address)", |call, args| mark_accounts(call, args, 2, true)),
    ("makePersistent(address,address,address)", |call, args| mark_accounts(call, args, 3, true)),
    ("makePersistent(address[])", |call, args| mark_listed_accounts(call, args, true)),
    ("revokePersistent(address)", |call, args| mark_accounts(call, args, 1, false)),
    ("revokePersistent(address[])", |call, args| mark_listed_accounts(call, args, false)),
    ("isPersistent(address)", |call, args| {
        let is_persistent = call.context.chain.forks.is_persistent(args.read_address()?);
        Ok(encoding::encode_word(U256::from(is_persistent)))
    }),
    ("rpcUrl(string)", |call, args| {
        let name = args.read_text()?;
        let chains = allowed_chains(call)?;
        if !chains.names().contains(&name) {
            let text = format!("unknown endpoint {name:?}; add it to [rpc_endpoints]");
            return Err(CheatcodeError::InvalidUse(text));
        }
        // Not the URL, which may contain an API key: contracts can write it anywhere.
        Ok(encoding::encode_string(&name))
    }),
];

impl From<ForkError> for CheatcodeError {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::NoActiveFork | ForkError::UnknownFork => Self::InvalidUse(error.to_string()),
            ForkError::TooManyForks | ForkError::TooManySwitches => {
                Self::NotRun(NotRunReason::RefusedCheatcode(error.to_string()))
            }
        }
    }
}

impl From<RemoteError> for CheatcodeError {
    fn from(error: RemoteError) -> Self {
        Self::NotRun(NotRunReason::ForkUnavailable(error.to_string()))
    }
}

/// Returns the remote chains, if cheat codes may open them.
fn allowed_chains(call: &CheatcodeCall<'_>) -> Result<Arc<dyn RemoteChains>, CheatcodeError> {
    call.context.chain.forks.chains().cloned().ok_or_else(|| {
        let text = "cheat codes of forks open connections, which is not allowed in an untrusted folder; run `vouch trust`";
        CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text.to_owned()))
    })
}

fn create_fork(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    has_block: bool,
) -> Result<usize, CheatcodeError> {
    let endpoint = args.read_text()?;
    let block = has_block.then(|| args.read_small::<u64>("a block number")).transpose()?;
    let chains = allowed_chains(call)?;
    let database = &mut call.context.journaled_state.database;
    let opened = database.wait_for(move || chains.open(&endpoint, block));
    let remote = opened.ok_or(CheatcodeError::Discarded)??;
    Ok(call.context.chain.forks.add(remote)?)
}

fn create_and_select(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    has_block: bool,
) -> CheatcodeResult {
    let fork = create_fork(call, args, has_block)?;
    forks::select_fork(call.context, fork, call.depth.saturating_sub(1))?;
    Ok(encoding::encode_word(U256::from(fork)))
}

fn roll_fork(call: &mut CheatcodeCall<'_>, fork: usize, number: u64) -> CheatcodeResult {
    let current = call.context.chain.forks.remote(fork)?;
    let moved = call.context.journaled_state.database.wait_for(move || current.at_block(number));
    let remote = moved.ok_or(CheatcodeError::Discarded)??;
    forks::roll_fork(call.context, fork, remote, call.depth.saturating_sub(1))?;
    Ok(Bytes::new())
}

fn read_fork(args: &mut CheatcodeArgs<'_>) -> Result<usize, CheatcodeError> {
    Ok(usize::try_from(args.read_uint()?).map_err(|_| ForkError::UnknownFork)?)
}

fn mark_accounts(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    count: usize,
    is_persistent: bool,
) -> CheatcodeResult {
    let accounts = (0..count).map(|_| args.read_address()).collect::<Result<Vec<_>, _>>()?;
    mark_all(call, &accounts, is_persistent)
}

fn mark_listed_accounts(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    is_persistent: bool,
) -> CheatcodeResult {
    let (mut items, count) = args.read_list()?;
    if count > MAX_ACCOUNTS {
        let text = format!("{count} accounts given; the limit is {MAX_ACCOUNTS}");
        return Err(CheatcodeError::InvalidUse(text));
    }
    let accounts = (0..count).map(|_| items.read_address()).collect::<Result<Vec<_>, _>>()?;
    mark_all(call, &accounts, is_persistent)
}

fn mark_all(
    call: &mut CheatcodeCall<'_>,
    accounts: &[Address],
    is_persistent: bool,
) -> CheatcodeResult {
    for account in accounts {
        call.context.chain.forks.set_persistent(*account, is_persistent);
    }
    Ok(Bytes::new())
}
