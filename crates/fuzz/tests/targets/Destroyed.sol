// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: assertion

/// Destroys itself in two steps; what a reverted call did does not count.
contract Destroyed {
    bool private armed;

    /// holds
    function arm() external {
        armed = true;
    }

    /// holds
    function fire() external {
        if (!armed) return;
        assembly { selfdestruct(caller()) }
    }

    /// holds
    function pretend() external {
        try this.fail() {} catch {}
    }

    /// holds
    function fail() external {
        armed = true;
        this.fire();
        revert("not really");
    }
}
