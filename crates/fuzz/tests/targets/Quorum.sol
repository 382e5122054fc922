// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Three accounts must act, each once; the second vote of an account reverts.
contract Quorum {
    mapping(address => bool) private voted;
    uint256 private votes;
    address private lastVoter;
    uint256 private turns;

    function vote() external {
        require(!voted[msg.sender], "voted already");
        voted[msg.sender] = true;
        votes++;
    }

    /// Two accounts must take turns.
    function take() external {
        turns = msg.sender == lastVoter ? 0 : turns + 1;
        lastVoter = msg.sender;
    }

    /// fails in 3
    function echidna_no_quorum() external view returns (bool) {
        return votes < 3;
    }

    /// holds
    function echidna_three_voters() external view returns (bool) {
        return votes <= 3;
    }

    /// fails in 5
    function echidna_no_five_turns() external view returns (bool) {
        return turns < 5;
    }
}
