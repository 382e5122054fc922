// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Functions, modifiers and tests that come from elsewhere.
abstract contract Owned {
    address internal owner = address(0x20000);

    modifier onlyOwner() {
        require(msg.sender == owner, "only the owner");
        _;
    }

    function transferOwnership(address next) external onlyOwner {
        owner = next;
    }

    /// fails in 1
    function echidna_owner_stays() external view returns (bool) {
        return owner == address(0x20000);
    }
}

abstract contract Paused is Owned {
    bool internal paused;

    function pause() external virtual onlyOwner {
        paused = true;
    }
}

contract Inherited is Paused {
    uint256 private pauses;

    /// The modifier was forgotten.
    function pause() external override {
        pauses++;
        if (pauses > 1) paused = true;
    }

    /// fails in 2: pause(); pause()
    function echidna_runs() external view returns (bool) {
        return !paused;
    }
}
