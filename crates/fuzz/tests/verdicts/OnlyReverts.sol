// SPDX-License-Identifier: AGPL-3.0-only
pragma solidity ^0.8.0;

/// Every function that changes the state reverts; the getters do not.
abstract contract Locker {
    error Locked(address who, uint256 number);

    uint256 public total;
    bool public isOpen;

    function deposit(uint256 number) external {
        if (!isOpen) revert Locked(msg.sender, number);
        total += number;
    }

    function close() external view {
        require(isOpen, "already closed");
    }

    function withdraw() external {
        require(isOpen, "closed");
        total = 0;
    }
}

contract OnlyReverts is Locker {
    function echidna_total() external view returns (bool) {
        return total == 0;
    }
}

contract NoMaximum is Locker {
    function echidna_opt_total() external view returns (int256) {
        return int256(total);
    }

    function echidna_opt_none() external view returns (int256) {
        require(isOpen, "no number");
        return 1;
    }
}
