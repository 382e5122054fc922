// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A token that reads both balances before it writes either, so that sending to oneself makes money.
contract SelfTransfer {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor() {
        balanceOf[address(0x10000)] = 1000;
        balanceOf[address(0x20000)] = 1000;
        balanceOf[address(0x30000)] = 1000;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        move(from, to, amount);
        return true;
    }

    function move(address from, address to, uint256 amount) private {
        uint256 theirs = balanceOf[from];
        uint256 others = balanceOf[to];
        require(theirs >= amount, "too little");
        balanceOf[from] = theirs - amount;
        balanceOf[to] = others + amount;
    }

    function echidna_holds() external view returns (bool) {
        return balanceOf[address(0x10000)] + balanceOf[address(0x20000)] + balanceOf[address(0x30000)] <= 3000;
    }
}
