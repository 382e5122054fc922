// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Tests that revert, because they must or although they must not.
contract Reverting {
    bool private unlocked;
    uint256 private divisor = 4;
    uint256[] private queue;

    function unlock(uint256 code) external {
        if (code == 31415926535) unlocked = true;
    }

    function divide(uint256 by) external {
        divisor = by;
    }

    function push(uint256 value) external {
        queue.push(value);
    }

    function pop() external {
        queue.pop();
    }

    /// fails in 1: unlock(31415926535)
    function echidna_revert_while_locked() external view {
        require(unlocked, "locked");
    }

    /// holds
    function echidna_revert_on_empty_queue() external view returns (uint256) {
        return queue[queue.length];
    }

    /// fails in 1: divide(0)
    function echidna_divides() external view returns (bool) {
        return 100 / divisor <= 100;
    }

    /// fails in 0
    function echidna_has_first() external view returns (bool) {
        return queue[0] >= 0;
    }

    /// holds
    function echidna_queue_counts() external view returns (bool) {
        return queue.length >= 0;
    }
}
