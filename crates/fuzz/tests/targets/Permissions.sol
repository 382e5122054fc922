// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Who may do what is written down by address.
contract Permissions {
    address private immutable admin = msg.sender;
    mapping(address => bool) private granted;
    mapping(address => mapping(address => uint256)) private allowance;
    bool private used;
    bool private spent;

    function grant(address account) external {
        require(msg.sender == admin, "only the admin");
        require(account != admin, "not to itself");
        granted[account] = true;
    }

    function use() external {
        require(granted[msg.sender], "not granted");
        used = true;
    }

    function approve(address spender, uint256 amount) external {
        require(spender != msg.sender, "not to oneself");
        allowance[msg.sender][spender] = amount;
    }

    function spend(address owner, uint256 amount) external {
        require(amount > 0 && allowance[owner][msg.sender] >= amount, "not allowed");
        allowance[owner][msg.sender] -= amount;
        spent = true;
    }

    /// fails in 2
    function echidna_not_used() external view returns (bool) {
        return !used;
    }

    /// fails in 2
    function echidna_not_spent() external view returns (bool) {
        return !spent;
    }

    /// holds
    function echidna_admin_has_no_grant() external view returns (bool) {
        return !granted[admin];
    }
}
