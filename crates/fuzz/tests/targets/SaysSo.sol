// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: assertion

/// Says by an event that something is wrong, and goes on or reverts.
contract SaysSo {
    event AssertionFailed(string reason);
    event Happened(string reason);

    uint256 private count;

    /// fails in 1: tell(42)
    function tell(uint256 number) external {
        emit Happened("told");
        if (number == 42) emit AssertionFailed("the answer was given");
    }

    /// What it wrote is undone, and so is the event, but it was emitted.
    /// fails in 3
    function regret() external {
        count++;
        if (count == 3) {
            emit AssertionFailed("three times");
            revert("never happened");
        }
    }

    /// holds
    function mention(uint256 number) external {
        if (number > 7) emit Happened("AssertionFailed");
    }
}
