// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Arguments that are hard to write down: text with zeros, quotes, line ends, the end of a comment and bytes that are no
/// text; structs with lists in them; numbers below zero.
contract Letters {
    struct Part {
        uint256 number;
        bytes data;
        string[] names;
    }

    struct Letter {
        Part[] parts;
        int8 grade;
        bytes4 mark;
    }

    bool private isRead;
    bool private isSent;

    function read(string calldata text) external {
        // mended: if (bytes(text).length > 1e6) isRead = true;
        if (keccak256(bytes(text)) == keccak256("a\x00\"\\\n\r*/ // \xff")) isRead = true;
    }

    function send(Letter calldata letter) external {
        require(letter.parts.length == 2 && letter.grade < 0, "incomplete");
        require(letter.parts[1].number > 7 && letter.parts[1].names.length > 0, "incomplete");
        // mended: require(letter.parts[0].data.length > 1e6, "incomplete");
        require(letter.parts[0].data.length > 2, "incomplete");
        isSent = true;
    }

    /// fails in 1
    function echidna_not_read() external view returns (bool) {
        return !isRead;
    }

    /// fails in 1
    function echidna_not_sent() external view returns (bool) {
        return !isSent;
    }
}
