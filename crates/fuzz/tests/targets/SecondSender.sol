// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Only one account may do it: neither the one that deployed the contract nor the one that checks it.
contract SecondSender {
    address private constant CHOSEN = address(0x20000);
    address private immutable deployer = msg.sender;
    bool private claimed;
    bool private stopped;
    bool private robbed;

    function claim() external {
        require(msg.sender == CHOSEN, "not yours");
        claimed = true;
    }

    function stop() external {
        if (msg.sender == deployer) stopped = true;
    }

    function rob() external {
        require(msg.sender == address(0x40000), "nobody");
        robbed = true;
    }

    /// fails in 1: claim() by 2
    function echidna_unclaimed() external view returns (bool) {
        return !claimed;
    }

    /// fails in 1: stop() by 3
    function echidna_runs() external view returns (bool) {
        return !stopped;
    }

    /// holds
    function echidna_not_robbed() external view returns (bool) {
        return !robbed;
    }
}
