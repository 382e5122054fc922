// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A token as it was written before arithmetic was checked.
contract UncheckedToken {
    uint256 private constant SUPPLY = 1_000_000;
    mapping(address => uint256) private balances;
    uint256 private largest = SUPPLY;

    constructor() {
        balances[msg.sender] = SUPPLY;
    }

    /// The product may be small although what everyone gets is not.
    function batch(address[] calldata receivers, uint256 each) external {
        unchecked {
            uint256 total = receivers.length * each;
            require(receivers.length > 0 && balances[msg.sender] >= total, "too little");
            balances[msg.sender] -= total;
            for (uint256 index = 0; index < receivers.length; index++) {
                balances[receivers[index]] += each;
                if (balances[receivers[index]] > largest) largest = balances[receivers[index]];
            }
        }
    }

    /// fails in 1
    function echidna_nobody_has_more_than_all() external view returns (bool) {
        return largest <= SUPPLY;
    }
}
