// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// What only time brings: seconds, blocks, and both between two calls.
contract Waiting {
    uint256 private immutable born = block.timestamp;
    uint256 private immutable firstBlock = block.number;
    uint256 private started;
    bool private finished;
    bool private rushed;
    bool private old;
    bool private deep;

    function start() external {
        if (started == 0) started = block.timestamp;
    }

    function finish() external {
        require(started != 0, "not started");
        if (block.timestamp >= started + 7 days) finished = true;
    }

    /// In the second after the start, not later.
    function rush() external {
        if (started != 0 && block.timestamp == started + 1) rushed = true;
    }

    /// Later than one wait can be.
    function age() external {
        if (block.timestamp - born > 30 days) old = true;
    }

    function dig() external {
        if (block.number - firstBlock > 100_000) deep = true;
    }

    /// fails in 2: start(); finish() after 604800 s
    function echidna_not_finished() external view returns (bool) {
        return !finished;
    }

    /// fails in 2: start(); rush() after 1 s
    function echidna_not_rushed() external view returns (bool) {
        return !rushed;
    }

    /// fails in 1
    function echidna_young() external view returns (bool) {
        return !old;
    }

    /// fails in 1
    function echidna_shallow() external view returns (bool) {
        return !deep;
    }

    /// holds
    function echidna_time_goes_on() external view returns (bool) {
        return block.timestamp >= born && started <= block.timestamp;
    }
}
