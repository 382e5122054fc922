// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A token as most are: checked arithmetic, reasons and events.
contract Erc20 {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 amount);
    event Approval(address indexed owner, address indexed spender, uint256 amount);

    constructor() {
        mint(address(0x10000), 1e24);
        mint(address(0x20000), 1e24);
        mint(address(0x30000), 1e24);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        require(allowance[from][msg.sender] >= amount, "too little allowed");
        allowance[from][msg.sender] -= amount;
        move(from, to, amount);
        return true;
    }

    function mint(address to, uint256 amount) private {
        balanceOf[to] += amount;
        totalSupply += amount;
        emit Transfer(address(0), to, amount);
    }

    function move(address from, address to, uint256 amount) private {
        require(to != address(0), "nobody");
        require(balanceOf[from] >= amount, "too little");
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }

    function echidna_holds() external view returns (bool) {
        return balanceOf[address(0x10000)] <= totalSupply;
    }
}
