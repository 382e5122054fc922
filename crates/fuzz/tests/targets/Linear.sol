// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Arguments that depend on each other, and on what an earlier call left.
contract Linear {
    uint256 private stored;
    bool private onLine;
    bool private balanced;
    bool private matched;

    function line(uint128 x, uint128 y) external {
        if (x > 1000 && 3 * uint256(x) + 7 == y) onLine = true;
    }

    function weigh(uint64 left, uint64 middle, uint64 right) external {
        if (left > 50 && middle == uint256(left) + right && right == 12_345) balanced = true;
    }

    function store(uint256 value) external {
        require(value < 1e18, "too large");
        stored = value;
    }

    function recall(uint256 value) external {
        if (stored > 1_000_000 && value == 2 * stored + 1) matched = true;
    }

    /// fails in 1
    function echidna_off_the_line() external view returns (bool) {
        return !onLine;
    }

    /// fails in 1
    function echidna_unbalanced() external view returns (bool) {
        return !balanced;
    }

    /// fails in 2
    function echidna_unmatched() external view returns (bool) {
        return !matched;
    }
}
