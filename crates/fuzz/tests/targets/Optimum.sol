// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: optimization

/// Numbers that are to become as large as possible.
contract Optimum {
    int256 private best;
    int256 private sum;
    uint256 private steps;

    /// A hill with its top at 777.
    function climb(int64 position) external {
        int256 distance = position > 777 ? position - int256(777) : 777 - int256(position);
        best = 1_000 - distance;
    }

    function step(uint8 size) external {
        require(steps < 3 && size <= 50, "three small steps");
        steps++;
        sum += int8(size);
    }

    /// reaches 1000 in 1: climb(777)
    function echidna_opt_height() external view returns (int256) {
        return best;
    }

    /// reaches 150 in 3: step(50); step(50); step(50)
    function echidna_opt_distance() external view returns (int256) {
        return sum;
    }
}
