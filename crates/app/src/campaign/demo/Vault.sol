// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// What `vouch fuzz --demo` fuzzes: a vault that keeps accounts, with one mistake in it.
contract Vault {
    uint256 public constant MAX_FEE = 500;

    mapping(address => uint256) public balances;
    uint256 public total;
    uint256 public fee;

    event Deposited(address indexed owner, uint256 amount);
    event Moved(address indexed from, address indexed to, uint256 amount);
    event Withdrawn(address indexed owner, uint256 amount);

    function deposit(uint256 amount) external {
        require(amount > 0 && amount <= 1e24, "amount");
        balances[msg.sender] += amount;
        total += amount;
        emit Deposited(msg.sender, amount);
    }

    function withdraw(uint256 amount) external {
        require(balances[msg.sender] >= amount, "balance");
        balances[msg.sender] -= amount;
        total -= amount;
        emit Withdrawn(msg.sender, amount);
    }

    /// The mistake: both balances are read before either is written, so who sends to himself gets richer.
    function move(address to, uint256 amount) external {
        uint256 mine = balances[msg.sender];
        uint256 theirs = balances[to];
        require(mine >= amount, "balance");
        balances[msg.sender] = mine - amount;
        balances[to] = theirs + amount;
        emit Moved(msg.sender, to, amount);
    }

    function setFee(uint256 newFee) external {
        require(newFee <= MAX_FEE, "fee");
        fee = newFee;
    }

    /// Breaks: nobody may own more than the vault holds.
    function echidna_nobody_owns_more_than_there_is() external view returns (bool) {
        return balances[address(0x10000)] <= total && balances[address(0x20000)] <= total
            && balances[address(0x30000)] <= total;
    }

    /// Holds: the fee stays within its limit.
    function echidna_fee_stays_within_its_limit() external view returns (bool) {
        return fee <= MAX_FEE;
    }
}
