// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Code that runs on another contract's storage, and takes the first slot for its own.
contract Logic {
    uint256 private total;

    function add(uint256 amount) external {
        require(amount <= 50, "small steps");
        total += amount;
    }
}

contract Proxy {
    address private logic = address(new Logic());
    address private immutable original = logic;

    function add(uint256 amount) external {
        (bool ok, ) = logic.delegatecall(abi.encodeCall(Logic.add, (amount)));
        require(ok, "refused");
    }

    /// fails in 1: add(1)
    function echidna_logic_stays() external view returns (bool) {
        return logic == original;
    }

    /// Once the code is lost nothing more can be added.
    /// holds
    function echidna_logic_is_near() external view returns (bool) {
        return uint160(logic) <= uint160(original) + 50;
    }
}
