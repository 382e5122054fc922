// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// balance: 1000

/// Is deployed with a thousand wei and should keep them.
contract Pot {
    uint256 private immutable initial;
    bytes32 private word = "swordfish";

    constructor() payable {
        initial = msg.value;
    }

    function take(bytes32 guess, uint256 amount) external {
        require(guess == word, "wrong word");
        (bool ok, ) = msg.sender.call{value: amount}("");
        require(ok, "not paid");
    }

    function change(bytes32 next) external {
        require(msg.sender != tx.origin, "only contracts");
        word = next;
    }

    /// fails in 1: take(0x73776f7264666973680000000000000000000000000000000000000000000000, 1)
    function echidna_pot_is_full() external view returns (bool) {
        return address(this).balance >= initial;
    }

    /// holds
    function echidna_got_a_thousand() external view returns (bool) {
        return initial == 1000;
    }
}
