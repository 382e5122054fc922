// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// calls: 400

/// Loops that never end: in a test once something was set, and in a call.
contract Endless {
    bool private spins;
    uint256 private rounds;

    function spin() external {
        spins = true;
    }

    function burn(bool really) external {
        while (really) rounds++;
    }

    function rest() external {
        rounds = 0;
    }

    /// fails in 1: spin()
    function echidna_ends() external view returns (bool) {
        uint256 steps = 0;
        while (spins) {
            unchecked {
                steps++;
            }
        }
        return true;
    }

    /// holds
    function echidna_burning_leaves_nothing() external view returns (bool) {
        return rounds == 0;
    }
}
