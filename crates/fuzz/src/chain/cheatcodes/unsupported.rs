//! Errors for unsupported cheat codes.

use alloy_primitives::Selector;

use super::table::compute_selector;
use super::{CheatcodeCall, CheatcodeError};
use crate::chain::NotRunReason;

/// Common Foundry cheat codes that are not implemented. The list only maps selectors to names.
const KNOWN_SIGNATURES: &[&str] = &[
    "accesses(address)",
    "activeFork()",
    "assumeNoRevert()",
    "blobhashes(bytes32[])",
    "bound(uint256,uint256,uint256)",
    "broadcast()",
    "broadcast(uint256)",
    "cool(address)",
    "createFork(string)",
    "createFork(string,uint256)",
    "createSelectFork(string)",
    "createSelectFork(string,uint256)",
    "deployCode(string)",
    "deployCode(string,bytes)",
    "deriveKey(string,uint32)",
    "deriveKey(string,string,uint32)",
    "envAddress(string)",
    "envBool(string)",
    "envBytes32(string)",
    "envOr(string,address)",
    "envOr(string,bool)",
    "envOr(string,bytes32)",
    "envOr(string,string)",
    "envOr(string,uint256)",
    "envString(string)",
    "envUint(string)",
    "expectSafeMemory(uint64,uint64)",
    "fsMetadata(string)",
    "getBlobBaseFee()",
    "getCode(string)",
    "getDeployedCode(string)",
    "isPersistent(address)",
    "lastCallGas()",
    "makePersistent(address,address)",
    "mockFunction(address,address,bytes)",
    "parseJson(string)",
    "parseJson(string,string)",
    "prank(address,address,bool)",
    "prank(address,bool)",
    "projectRoot()",
    "readCallers()",
    "readFile(string)",
    "readLine(string)",
    "record()",
    "rollFork(uint256)",
    "rpc(string,string)",
    "selectFork(uint256)",
    "serializeAddress(string,string,address)",
    "serializeString(string,string,string)",
    "serializeUint(string,string,uint256)",
    "sign(address,bytes32)",
    "sign(bytes32)",
    "signCompact(uint256,bytes32)",
    "startBroadcast()",
    "startBroadcast(uint256)",
    "startPrank(address,address,bool)",
    "startPrank(address,bool)",
    "startStateDiffRecording()",
    "stopAndReturnStateDiff()",
    "transact(bytes32)",
    "unixTime()",
    "writeFile(string,string)",
    "writeJson(string,string)",
    "writeLine(string,string)",
];

/// Returns the error for a selector that no supported cheat code has.
///
/// An unknown selector is not a cheat code if the caller may have received the address in calldata, as a lending pool
/// that calls the asset it was given.
pub(super) fn reject_selector(call: &CheatcodeCall<'_>, called: Selector) -> CheatcodeError {
    let known = KNOWN_SIGNATURES.iter().find(|signature| compute_selector(signature) == called);
    match known {
        Some(signature) => {
            CheatcodeError::NotRun(NotRunReason::UnsupportedCheatcode(format!("vm.{signature}")))
        }
        None if call.context.chain.cheats.is_address_passed() => {
            CheatcodeError::InvalidUse(format!("unknown cheat code selector {called}"))
        }
        None => CheatcodeError::NotRun(NotRunReason::UnsupportedCheatcode(format!(
            "with selector {called}"
        ))),
    }
}
