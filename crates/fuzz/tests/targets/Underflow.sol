// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A guard on the difference instead of on the two numbers.
contract Underflow {
    uint256 private reserve = 100;
    uint8 private level = 250;

    function spend(uint256 amount) external {
        unchecked {
            require(reserve - amount >= 0, "always true");
            reserve -= amount;
        }
    }

    function raise(uint8 by) external {
        require(by <= 3, "slowly");
        unchecked {
            level += by;
        }
    }

    /// fails in 1: spend(101)
    function echidna_reserve_does_not_grow() external view returns (bool) {
        return reserve <= 100;
    }

    /// fails in 2: raise(3); raise(3)
    function echidna_level_does_not_fall() external view returns (bool) {
        return level >= 250;
    }
}
