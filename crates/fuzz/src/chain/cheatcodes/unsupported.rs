//! Errors for unsupported cheat codes.

use alloy_primitives::Selector;

use super::table::compute_selector;
use super::{CheatcodeCall, CheatcodeError};
use crate::chain::NotRunReason;

/// Common Foundry cheat codes that are not implemented. The list only maps selectors to names.
const KNOWN_SIGNATURES: &[&str] = &[
    "accessList((address,bytes32[])[])",
    "accesses(address)",
    "assumeNoRevert()",
    "attachDelegation((uint8,bytes32,bytes32,uint64,address,address))",
    "blobBaseFee(uint256)",
    "blobhashes(bytes32[])",
    "cloneAccount(address,address)",
    "cool(address)",
    "coolSlot(address,bytes32)",
    "copyStorage(address,address)",
    "createDir(string,bool)",
    "createFork(string,bytes32)",
    "createSelectFork(string,bytes32)",
    "deployCode(string)",
    "deployCode(string,bytes)",
    "deployCode(string,bytes,uint256)",
    "deployCode(string,bytes32)",
    "deployCode(string,uint256)",
    "deriveKey(string,string,uint32)",
    "deriveKey(string,uint32)",
    "deriveKey(string,uint32,string)",
    "ensNamehash(string)",
    "eth_getLogs(uint256,uint256,address,bytes32[])",
    "expectCreate(bytes,address)",
    "expectCreate2(bytes,address)",
    "expectEmitAnonymous()",
    "expectSafeMemory(uint64,uint64)",
    "expectSafeMemoryCall(uint64,uint64)",
    "fsMetadata(string)",
    "getBlobBaseFee()",
    "getCode(string)",
    "getDeployedCode(string)",
    "getFoundryVersion()",
    "getMappingKeyAndParentOf(address,bytes32)",
    "getMappingLength(address,bytes32)",
    "getMappingSlotAt(address,bytes32,uint256)",
    "getWallets()",
    "lastCallGas()",
    "lastFrameGas()",
    "mockCalls(address,bytes,bytes[])",
    "mockFunction(address,address,bytes)",
    "noAccessList()",
    "parseToml(string)",
    "parseToml(string,string)",
    "parseTomlAddress(string,string)",
    "parseTomlBool(string,string)",
    "parseTomlString(string,string)",
    "parseTomlUint(string,string)",
    "prank(address,address,bool)",
    "prank(address,bool)",
    "prompt(string)",
    "promptAddress(string)",
    "promptSecret(string)",
    "promptUint(string)",
    "publicKeyP256(uint256)",
    "publish(string)",
    "readCallers()",
    "readDir(string)",
    "record()",
    "rememberKeys(string,string,uint32)",
    "removeFile(string)",
    "replace(string,string,string)",
    "rollFork(bytes32)",
    "rollFork(uint256,bytes32)",
    "rpc(string,string)",
    "rpc(string,string,string)",
    "rpcUrlStructs()",
    "rpcUrls()",
    "serializeAddress(string,string,address)",
    "serializeBool(string,string,bool)",
    "serializeBytes(string,string,bytes)",
    "serializeBytes32(string,string,bytes32)",
    "serializeJson(string,string)",
    "serializeString(string,string,string)",
    "serializeUint(string,string,uint256)",
    "setArbitraryStorage(address)",
    "setBlockhash(uint256,bytes32)",
    "shuffle(uint256[])",
    "sign(address,bytes32)",
    "sign(bytes32)",
    "signAndAttachDelegation(address,uint256)",
    "signCompact(uint256,bytes32)",
    "signDelegation(address,uint256)",
    "signP256(uint256,bytes32)",
    "sleep(uint256)",
    "snapshotGasLastCall(string)",
    "snapshotGasLastCall(string,string)",
    "snapshotValue(string,string,uint256)",
    "snapshotValue(string,uint256)",
    "sort(uint256[])",
    "split(string,string)",
    "startMappingRecording()",
    "startPrank(address,address,bool)",
    "startPrank(address,bool)",
    "startSnapshotGas(string)",
    "startSnapshotGas(string,string)",
    "startStateDiffRecording()",
    "stopAndReturnStateDiff()",
    "stopExpectSafeMemory()",
    "stopMappingRecording()",
    "stopSnapshotGas()",
    "stopSnapshotGas(string)",
    "stopSnapshotGas(string,string)",
    "toBase64(bytes)",
    "toBase64(string)",
    "toBase64URL(bytes)",
    "toBase64URL(string)",
    "transact(bytes32)",
    "transact(uint256,bytes32)",
    "tryFfi(string[])",
    "unixTime()",
    "warmSlot(address,bytes32)",
    "writeFile(string,string)",
    "writeFileBinary(string,bytes)",
    "writeJson(string,string)",
    "writeJson(string,string,string)",
    "writeLine(string,string)",
    "writeToml(string,string)",
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
