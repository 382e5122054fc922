// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// The hash is of a constant that stands elsewhere in the source.
contract Preimage {
    uint256 private constant SEED = 424_242_424_243;
    bytes32 private immutable hashed = keccak256(abi.encode(SEED));
    bytes32 private immutable named = keccak256(abi.encodePacked("alice", address(0x20000)));
    bool private solved;
    bool private entered;

    function solve(uint256 guess) external {
        if (keccak256(abi.encode(guess)) == hashed) solved = true;
    }

    function enter(string calldata name) external {
        if (keccak256(abi.encodePacked(name, msg.sender)) == named) entered = true;
    }

    /// fails in 1: solve(424242424243)
    function echidna_unsolved() external view returns (bool) {
        return !solved;
    }

    /// fails in 1: enter("alice") by 2
    function echidna_not_entered() external view returns (bool) {
        return !entered;
    }
}
