// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A token that reads both balances before it writes either.
contract SelfTransfer {
    mapping(address => uint256) private balances;

    constructor() {
        balances[address(0x10000)] = 1000;
        balances[address(0x20000)] = 1000;
        balances[address(0x30000)] = 1000;
    }

    function transfer(address to, uint256 amount) external {
        uint256 mine = balances[msg.sender];
        uint256 theirs = balances[to];
        require(mine >= amount, "too little");
        balances[msg.sender] = mine - amount;
        balances[to] = theirs + amount;
    }

    /// fails in 1
    function echidna_nothing_from_nothing() external view returns (bool) {
        uint256 sum = balances[address(0x10000)] + balances[address(0x20000)] + balances[address(0x30000)];
        return sum <= 3000;
    }
}
