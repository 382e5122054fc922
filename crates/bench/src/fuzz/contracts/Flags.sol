// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Two flags; the second falls only after the first, and each to a tenth of all numbers.
contract Flags {
    bool private first = true;
    bool private second = true;

    function lowerFirst(int256 value) external {
        if (value % 100 == 0) first = false;
    }

    function lowerSecond(int256 value) external {
        if (value % 10 == 0 && !first) second = false;
    }

    function echidna_holds() external view returns (bool) {
        return second;
    }
}
