// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A price that must be met to the wei, and a change that is given back.
contract ExactWei {
    uint256 private constant PRICE = 1_234_567 wei;
    bool private sold;
    uint256 private kept;

    function buy() external payable {
        if (msg.value == PRICE) sold = true;
    }

    /// Gives back all but a tenth.
    function toll() external payable {
        uint256 fee = msg.value / 10;
        kept += fee;
        (bool ok, ) = msg.sender.call{value: msg.value - fee}("");
        require(ok, "no change");
    }

    /// fails in 1: buy() with 1234567
    function echidna_not_sold() external view returns (bool) {
        return !sold;
    }

    /// fails in 1: toll() with 10
    function echidna_nothing_kept() external view returns (bool) {
        return kept == 0;
    }

    /// holds
    function echidna_kept_is_here() external view returns (bool) {
        return address(this).balance >= kept;
    }
}
