// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Has no function to call: only what comes with plain value, or with bytes that nobody knows.
contract Receiver {
    uint256 private receipts;
    bool private understood;

    receive() external payable {
        if (msg.value > 0) receipts++;
    }

    fallback() external {
        if (msg.data.length == 3 && msg.data[0] == 0x2a) understood = true;
    }

    /// fails in 3: *fallback*() with 1; *fallback*() with 1; *fallback*() with 1
    function echidna_few_receipts() external view returns (bool) {
        return receipts < 3;
    }

    /// fails in 1: *fallback*(0x2a0000)
    function echidna_not_understood() external view returns (bool) {
        return !understood;
    }
}
