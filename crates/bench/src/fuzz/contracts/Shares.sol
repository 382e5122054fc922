// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A vault that gives shares for assets and rounds them down. The first depositor can make a share so expensive that
/// the next deposit gets none.
contract Shares {
    uint256 private assets;
    uint256 private shares;
    mapping(address => uint256) private shareOf;
    bool private robbed;

    function deposit(uint64 amount) external {
        require(amount > 0, "nothing");
        uint256 minted = shares == 0 ? amount : uint256(amount) * shares / assets;
        if (minted == 0) robbed = true;
        shareOf[msg.sender] += minted;
        shares += minted;
        assets += amount;
    }

    function redeem(uint64 amount) external {
        require(shareOf[msg.sender] >= amount && shares > amount, "too few");
        shareOf[msg.sender] -= amount;
        assets -= uint256(amount) * assets / shares;
        shares -= amount;
    }

    function donate(uint64 amount) external {
        require(shares > 0, "nobody to give to");
        assets += amount;
    }

    function echidna_holds() external view returns (bool) {
        return !robbed;
    }
}
