// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Numbers below zero.
contract Signed {
    bool private caught;
    int8 private size;
    int256 private sum;
    bool private mirrored;

    function narrow(int256 value) external {
        if (value < -1000 && value > -1003 && value % 2 != 0) caught = true;
    }

    /// The smallest number has no opposite.
    function magnitude(int8 value) external {
        unchecked {
            size = value < 0 ? -value : value;
        }
    }

    function add(int64 value) external {
        require(value >= -10 && value <= 10, "small steps");
        sum += value;
    }

    function mirror(int128 left, int128 right) external {
        if (left < -100_000 && right == -int256(left) + 1) mirrored = true;
    }

    /// fails in 1: narrow(-1001)
    function echidna_not_caught() external view returns (bool) {
        return !caught;
    }

    /// fails in 1: magnitude(-128)
    function echidna_size_is_positive() external view returns (bool) {
        return size >= 0;
    }

    /// fails in 3
    function echidna_not_deep() external view returns (bool) {
        return sum > -25;
    }

    /// fails in 1
    function echidna_not_mirrored() external view returns (bool) {
        return !mirrored;
    }
}
