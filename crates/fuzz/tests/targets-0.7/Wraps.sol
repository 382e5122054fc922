// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.7.0;

// mode: overflow

/// Arithmetic from before it was checked: it wraps, and nobody is told.
contract Wraps {
    uint256 private total;
    uint8 private first;
    uint8 private second;
    int64 private balance;

    /// fails in 1
    function add(uint256 left, uint256 right) external {
        total = left + right;
    }

    /// fails in 1
    function subtract(uint32 left, uint32 right) external {
        total = left - right;
    }

    /// fails in 1
    function multiply(uint128 left, uint128 right) external {
        total = left * right;
    }

    /// fails in 2
    function grow(uint8 by) external {
        require(by < 200, "too much");
        first += by;
    }

    /// Both share a slot, so that storing one multiplies and shifts.
    /// fails in 1
    function scale(uint8 by) external {
        second = 3;
        second *= by;
    }

    /// fails in 1
    function settle(int64 by) external {
        balance = by - 5;
    }

    /// fails in 1
    function lower(uint64 from) external {
        total = from - 7;
    }

    /// holds
    function stay(int64 by) external {
        require(by > -1000 && by < 1000, "out of range");
        balance = by - 5;
    }

    /// Checks as people did then.
    /// holds
    function safely(uint256 left, uint256 right) external {
        uint256 sum = left + right;
        require(sum >= left, "overflow");
        total = sum;
    }

    /// A call that fails is undone, and what wrapped in it as well.
    /// holds
    function elsewhere(uint256 left, uint256 right) external {
        try this.safely(left, right) {} catch {}
    }

    /// holds
    function slots(uint8 value) external {
        first = value;
        second = value;
    }
}
