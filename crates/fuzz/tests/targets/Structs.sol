// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Conditions on fields that lie deep in an argument.
contract Structs {
    struct Item {
        bytes4 tag;
        uint256 amount;
    }

    struct Order {
        address maker;
        uint96 price;
        bool isBuy;
        Item item;
    }

    struct Batch {
        uint64 nonce;
        Item[] items;
    }

    bool private filled;
    bool private processed;

    function fill(Order calldata order) external {
        require(order.maker == msg.sender, "not your order");
        if (order.isBuy && order.price == 1 ether && order.item.tag == 0xdeadbeef) {
            if (order.item.amount > order.price) filled = true;
        }
    }

    function process(Batch calldata batch) external {
        if (batch.nonce < 1000 || batch.items.length != 2) return;
        if (batch.items[0].amount == batch.nonce && batch.items[1].tag == "vote") processed = true;
    }

    /// fails in 1
    function echidna_not_filled() external view returns (bool) {
        return !filled;
    }

    /// fails in 1
    function echidna_not_processed() external view returns (bool) {
        return !processed;
    }
}
