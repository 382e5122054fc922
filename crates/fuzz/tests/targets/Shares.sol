// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A vault whose shares are rounded down to nothing once someone has made a present to it.
contract Shares {
    uint256 private assets;
    uint256 private supply;
    mapping(address => uint256) private shares;
    bool private cheated;

    function deposit(uint256 amount) external {
        require(amount > 0 && amount < 1e30, "out of range");
        uint256 minted = supply == 0 ? amount : amount * supply / assets;
        if (minted == 0) cheated = true;
        assets += amount;
        supply += minted;
        shares[msg.sender] += minted;
    }

    function donate(uint256 amount) external {
        require(amount < 1e30, "out of range");
        assets += amount;
    }

    function redeem(uint256 amount) external {
        shares[msg.sender] -= amount;
        uint256 paid = amount * assets / supply;
        supply -= amount;
        assets -= paid;
    }

    /// fails in 3
    function echidna_every_deposit_gets_shares() external view returns (bool) {
        return !cheated;
    }
}
