// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Created by the constructor of `Samples`, at an address derived from its own.
contract Child {
    uint256 public immutable born = block.timestamp;
}

/// Fails in each way in which a test can fail, but only after steps that ran exactly as recorded: with the same senders,
/// value, time, blocks, gas price, calldata and reverts.
contract Samples {
    event AssertionFailed(string reason);

    uint256 public x;
    uint256 private progress;
    address private immutable owner;
    Child private immutable child;

    constructor(uint256 start, address owner_) payable {
        require(msg.value == 5 && msg.sender == owner_ && tx.origin == owner_, "constructor");
        require(address(this) == 0x00a329c0648769A73afAc7F9381E08FB43dBEA72, "address");
        require(block.chainid == 1 && block.timestamp == 1524785992 && block.number == 4370000, "block");
        x = start;
        owner = owner_;
        child = new Child();
    }

    function put(uint256 value) external {
        require(msg.sender == address(0x10000) && tx.origin == msg.sender, "put");
        if (progress == 0) progress = 1;
        // The last value counts only after all steps.
        if (value == 12) require(progress == 4, "not all steps ran");
        x = value;
    }

    function pay() external payable {
        require(progress == 1 && msg.value == 9 && tx.gasprice == 3, "pay");
        progress = 2;
    }

    function note(string calldata text, Part[] calldata parts, int8 number) external {
        require(progress == 2 && keccak256(bytes(text)) == keccak256(hex"6100220a2a2f20ff"), "text");
        require(parts.length == 1 && parts[0].number == 7 && parts[0].data.length == 2, "parts");
        require(number == -1 && block.timestamp == 1524785992 + 604800 && block.number == 4370001, "time");
        progress = 3;
    }

    struct Part {
        uint256 number;
        bytes data;
    }

    receive() external payable {
        require(progress == 3 && msg.sender == owner && msg.value == 1, "receive");
        require(block.timestamp == 1524785992 + 604810 && block.number == 4370003, "time");
        require(child.born() == 1524785992 && address(this).balance == 15, "balance");
        progress = 4;
    }

    function check(uint256 value) external view {
        assert(x != value);
    }

    function log(uint256 value) external {
        emit AssertionFailed("seen although the call reverts");
        require(value != 12, "reverts");
    }

    function add(uint256 value) external {
        x = x + value;
    }

    function kill() external {
        require(progress == 4);
        selfdestruct(payable(msg.sender));
    }

    function test_unit(uint256 value) external pure {
        require(value < 10, "unit");
    }

    function echidna_small() external view returns (bool) {
        require(msg.sender == address(0x10000));
        return x < 10;
    }

    function echidna_revert_small() external view {
        require(x >= 10);
    }

    function invariant_small() external view {
        require(x < 10, "large");
    }

    function echidna_opt_x() external view returns (int256) {
        return int256(x);
    }
}
