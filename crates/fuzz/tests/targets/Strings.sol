// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Text and bytes: a literal, a length, a beginning.
contract Strings {
    bool private opened;
    bool private exact;
    bool private marked;
    bool private forged;

    function say(string calldata words) external {
        if (keccak256(bytes(words)) == keccak256("open sesame")) opened = true;
    }

    function measure(bytes calldata data) external {
        if (data.length == 33) exact = true;
    }

    function mark(bytes calldata data) external {
        if (data.length > 1 && data[0] == 0xca && data[1] == 0xfe) marked = true;
    }

    /// No text is known that has this hash.
    function forge(string calldata words) external {
        if (keccak256(bytes(words)) == bytes32(uint256(1))) forged = true;
    }

    /// fails in 1: say("open sesame")
    function echidna_shut() external view returns (bool) {
        return !opened;
    }

    /// fails in 1
    function echidna_no_exact_length() external view returns (bool) {
        return !exact;
    }

    /// fails in 1: mark(0xcafe)
    function echidna_not_marked() external view returns (bool) {
        return !marked;
    }

    /// holds
    function echidna_not_forged() external view returns (bool) {
        return !forged;
    }
}
