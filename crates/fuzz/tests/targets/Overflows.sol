// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: overflow

/// Checked arithmetic that overflows is a fault here.
contract Overflows {
    uint8 private level;

    /// fails in 1
    function add(uint8 left, uint8 right) external pure returns (uint8) {
        return left + right;
    }

    /// fails in 2
    function raise(uint8 by) external {
        require(by <= 200, "too much");
        level += by;
    }

    /// holds
    function half(uint256 value) external pure returns (uint256) {
        require(value != 13, "unlucky");
        return value / 2;
    }
}
