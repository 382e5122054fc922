// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// An announced action may run after five days and before six; a new announcement restarts the clock.
contract TimeLock {
    uint256 private announced;
    bool private done;

    function announce() external {
        announced = block.timestamp;
    }

    function cancel() external {
        announced = 0;
    }

    function execute() external {
        require(announced != 0, "not announced");
        uint256 waited = block.timestamp - announced;
        require(waited >= 5 days && waited < 6 days, "not now");
        done = true;
    }

    function echidna_holds() external view returns (bool) {
        return !done;
    }
}
