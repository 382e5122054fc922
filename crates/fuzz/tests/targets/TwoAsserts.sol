// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: assertion

/// Several assertions in one function are several faults.
contract TwoAsserts {
    uint256 private total;

    /// fails in 1
    /// fails in 1
    function check(uint256 left, uint256 right) external pure {
        if (left > 1000) {
            assert(left != right + 1);
        } else {
            assert(left * 2 != 1998);
        }
    }

    /// fails in 2
    function add(uint8 amount) external {
        total += amount;
        assert(total <= 300);
    }

    /// A failed requirement is no failed assertion, nor is arithmetic that overflows or an index out of range.
    /// holds
    function refuse(uint256 amount, uint256[] calldata values) external pure returns (uint256) {
        require(amount > 10, "too small");
        return values[amount] * amount;
    }
}
