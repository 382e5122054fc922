// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A library with code of its own, which has to be deployed and linked.
library Maths {
    /// Rounds to the nearest ten, and forgets that ten may not be there.
    function rounded(uint256 value) external pure returns (uint256) {
        return (value + 5) / 10 * 10;
    }
}

contract Linked {
    uint256 private given;
    uint256 private rounded;

    function set(uint256 value) external {
        rounded = Maths.rounded(value);
        given = value;
    }

    /// fails in 1: set(5)
    function echidna_never_more_than_given() external view returns (bool) {
        return rounded <= given;
    }

    /// holds
    function echidna_never_much_more() external view returns (bool) {
        return rounded <= given + 5;
    }
}
