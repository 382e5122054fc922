//! The fixed parts of the generated file.
//!
//! They compile with every compiler since 0.6.2, so that contracts written for older Solidity versions can be imported.

use std::fmt;

use alloy_primitives::{Address, B256};

use super::{RPC_VARIABLE, SceneFork, sanitize_comment};
use crate::target::{TargetTest, TestKind};

/// The generated file, with the parts that depend on the finding as fields.
pub(super) struct FoundryTestTemplate<'a> {
    pub(super) finding: &'a TargetTest,
    pub(super) imports: &'a [String],
    pub(super) contract: &'a str,
    pub(super) set_up: &'a str,
    pub(super) fork: SceneFork,
    pub(super) replay: &'a str,
    pub(super) call_gas: u64,
    pub(super) deployer: Address,
    /// Address of the contract under test, if any.
    pub(super) target: Option<Address>,
    /// Topics of events that report a failed assertion.
    pub(super) topics: &'a [B256],
}

const VM: &str = "\
interface ReproducerVm {
    function warp(uint256 timestamp) external;
    function roll(uint256 number) external;
    function chainId(uint256 id) external;
    function txGasPrice(uint256 price) external;
    function deal(address account, uint256 balance) external;
    function etch(address account, bytes calldata code) external;
    function setNonce(address account, uint64 nonce) external;
    function prank(address sender, address origin) external;
    function getBlockTimestamp() external view returns (uint256);
    function getBlockNumber() external view returns (uint256);
    function recordLogs() external;
";

/// Cheat codes that only tests with forks need.
const FORK_VM: &str =
    "    function createSelectFork(string calldata url, uint256 number) external returns (uint256);
    function envString(string calldata name) external view returns (string memory);
    function allowCheatcodes(address account) external;
    function makePersistent(address account) external;
    function setNonceUnsafe(address account, uint64 nonce) external;
";

const DEPLOY: &str = "
    /// Runs a constructor at the address where the fuzzer had the contract.
    function deploy(address place, uint256 value, bytes memory creation) private {
        vm.etch(place, creation);
        vm.setNonce(place, 1);
        vm.prank(DEPLOYER, DEPLOYER);
        (bool ok, bytes memory runtime) = place.call{value: value}(\"\");
        require(ok, \"a constructor reverted\");
        vm.etch(place, runtime);
    }
";

const STEP: &str = "
    /// Makes a call, which may revert as it may while fuzzing.
    function step(address from, address to, uint256 value, bytes memory data)
        private
        returns (bool ok, bytes memory result)
    {
        vm.prank(from, from);
        (ok, result) = to.call{value: value, gas: CALL_GAS}(data);
    }
";

const ELAPSE: &str = "
    function elapse(uint256 secs, uint256 blocks) private {
        vm.warp(vm.getBlockTimestamp() + secs);
        vm.roll(vm.getBlockNumber() + blocks);
    }
";

const HOLDS: &str = "
    function holds(bytes memory result) private pure returns (bool) {
        return result.length >= 32 && abi.decode(result, (uint256)) == 1;
    }
";

const PANICKED: &str = "
    function panicked(bytes memory result, uint256 code) private pure returns (bool) {
        return keccak256(result) == keccak256(abi.encodeWithSignature(\"Panic(uint256)\", code));
    }
";

const ASSERTION_FAILED: &str = "
    /// An assertion fails by a panic, by the opcode that stood for it before 0.8, which takes all gas, or by an event.
    function assertionFailed(bool ok, bytes memory result, uint256 spent) private returns (bool) {
        if (!ok && panicked(result, 0x01)) return true;
        if (!ok && result.length == 0 && spent >= CALL_GAS) return true;
        (, bytes memory logs) = address(vm).call(abi.encodeWithSignature(\"getRecordedLogs()\"));
        for (uint256 offset = 32; offset <= logs.length; offset += 32) {
            bytes32 word;
            assembly {
                word := mload(add(logs, offset))
            }
            if (isFailure(word)) return true;
        }
        return false;
    }
";

impl fmt::Display for FoundryTestTemplate<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TargetTest { name, contract, .. } = self.finding;
        let about =
            sanitize_comment(&format!("Replays a sequence that breaks `{name}` of `{contract}`,"));
        writeln!(out, "// SPDX-License-Identifier: UNLICENSED")?;
        writeln!(out, "// {about} and fails as long as it does.")?;
        if matches!(self.fork, SceneFork::Base { .. }) {
            writeln!(out, "// Set {RPC_VARIABLE} to the URL of a node that has the block.")?;
        }
        writeln!(out, "pragma solidity >=0.6.2;\n")?;
        for import in self.imports {
            writeln!(out, "{import}")?;
        }
        let fork_vm = if self.fork == SceneFork::None { "" } else { FORK_VM };
        writeln!(out, "\n{VM}{fork_vm}}}\n")?;
        writeln!(out, "contract {} {{", self.contract)?;
        let cheats = crate::chain::CHEATCODE_ADDRESS;
        writeln!(out, "    ReproducerVm private constant vm = ReproducerVm({cheats});")?;
        writeln!(out, "    address private constant DEPLOYER = {};", self.deployer)?;
        if let Some(target) = self.target {
            writeln!(out, "    address private constant TARGET = {target};")?;
        }
        writeln!(out, "    uint256 private constant CALL_GAS = {};\n", self.call_gas)?;
        writeln!(out, "    function setUp() public {{\n{}    }}\n", self.set_up)?;
        writeln!(out, "    function test_replay() public {{\n{}    }}", self.replay)?;
        match self.fork {
            SceneFork::None => out.write_str(DEPLOY)?,
            // The account may have made transactions on the chain that is forked.
            _ => out.write_str(&DEPLOY.replace("vm.setNonce(", "vm.setNonceUnsafe("))?,
        }
        self.write_helpers(out)?;
        out.write_str("}\n")
    }
}

impl FoundryTestTemplate<'_> {
    /// Writes the helper functions that the replay calls.
    fn write_helpers(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.replay.contains(" step(") {
            out.write_str(STEP)?;
        }
        if self.replay.contains(" elapse(") {
            out.write_str(ELAPSE)?;
        }
        match self.finding.kind {
            TestKind::Property { .. } => out.write_str(HOLDS),
            TestKind::Overflow { .. } => out.write_str(PANICKED),
            TestKind::Assertion { .. } | TestKind::HandlerAssertion | TestKind::AssertionEvent => {
                out.write_str(PANICKED)?;
                out.write_str(ASSERTION_FAILED)?;
                write_is_failure(out, self.topics)
            }
            _ => Ok(()),
        }
    }
}

/// Writes the function that recognizes events of failed assertions.
fn write_is_failure(out: &mut fmt::Formatter<'_>, topics: &[B256]) -> fmt::Result {
    out.write_str(
        "\n    /// The topics of `AssertionFailed` with the arguments that it may have.\n",
    )?;
    out.write_str(
        "    function isFailure(bytes32 topic) private pure returns (bool) {\n        return ",
    )?;
    for (index, topic) in topics.iter().enumerate() {
        let or = if index == 0 { "" } else { "\n            || " };
        write!(out, "{or}topic == {topic}")?;
    }
    out.write_str(";\n    }\n")
}
