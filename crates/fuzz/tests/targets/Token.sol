// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A token without a fault; what fails here only shows that its functions can be reached.
contract Token {
    uint256 private constant SUPPLY = 1_000_000;
    mapping(address => uint256) private balances;
    mapping(address => mapping(address => uint256)) private allowances;
    address[3] private holders = [address(0x10000), address(0x20000), address(0x30000)];
    uint256 private burned;
    uint256 private pulled;

    constructor() {
        balances[holders[0]] = SUPPLY;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowances[msg.sender][spender] = amount;
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowances[from][msg.sender] -= amount;
        move(from, to, amount);
        pulled += amount;
        return true;
    }

    function burn(uint256 amount) external {
        balances[msg.sender] -= amount;
        burned += amount;
    }

    function move(address from, address to, uint256 amount) private {
        balances[from] -= amount;
        balances[to] += amount;
    }

    /// holds
    function echidna_sum_is_at_most_supply() external view returns (bool) {
        return balances[holders[0]] + balances[holders[1]] + balances[holders[2]] + burned <= SUPPLY;
    }

    /// holds
    function echidna_nobody_has_more_than_supply() external view returns (bool) {
        return balances[address(0)] <= SUPPLY && balances[address(this)] <= SUPPLY;
    }

    /// fails in 1: burn(1000000)
    function echidna_not_all_burned() external view returns (bool) {
        return burned < SUPPLY;
    }

    /// fails in 2
    function echidna_nothing_is_pulled() external view returns (bool) {
        return pulled == 0;
    }
}
