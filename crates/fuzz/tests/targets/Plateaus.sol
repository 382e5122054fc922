// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: assertion

/// Conditions that do not change when a number grows by one.
contract Plateaus {
    uint256 private level;

    /// fails in 1
    function quotient(uint256 number) external {
        level = (number >> 5) / 7777;
        assert(level != 2222);
    }

    /// fails in 1
    function scaled(uint128 amount) external pure {
        assert(uint256(amount) * 3 / 1e12 != 123456789);
    }

    /// fails in 1
    function falling(uint64 number) external pure {
        assert(type(uint64).max - number / 1000003 != type(uint64).max - 424242);
    }
}
