// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// An auction without a fault: the highest bid stays, the others may be taken back.
contract Auction {
    uint256 private immutable end = block.timestamp + 3 days;
    address private leader;
    uint256 private highest;
    mapping(address => uint256) private refunds;
    uint256 private owed;
    bool private paid;
    uint256 private lateBids;

    function bid() external payable {
        require(msg.value > highest, "too low");
        if (block.timestamp > end) {
            lateBids++;
            revert("over");
        }
        refunds[leader] += highest;
        owed += highest;
        (leader, highest) = (msg.sender, msg.value);
    }

    function refund() external {
        uint256 amount = refunds[msg.sender];
        refunds[msg.sender] = 0;
        owed -= amount;
        (bool ok, ) = msg.sender.call{value: amount}("");
        require(ok, "not paid");
    }

    function close() external {
        require(block.timestamp > end && !paid, "not yet, or already");
        paid = true;
        (bool ok, ) = address(0x30000).call{value: highest}("");
        require(ok, "not paid");
    }

    /// holds
    function echidna_can_pay() external view returns (bool) {
        return address(this).balance >= owed + (paid ? 0 : highest);
    }

    /// holds
    function echidna_no_late_bids() external view returns (bool) {
        return lateBids == 0;
    }

    /// fails in 2
    function echidna_not_sold() external view returns (bool) {
        return !paid || highest == 0;
    }
}
