// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// The least that a call can do and still change something.
contract Setter {
    uint256 private number;

    function set(uint256 value) external {
        number = value;
    }

    function echidna_holds() external view returns (bool) {
        return number == 0 || number != 0;
    }
}
