// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Lengths, elements, and arrays in arrays.
contract Arrays {
    bool private listed;
    bool private gridded;
    bool private descending;
    uint256 private longest;

    function list(uint256[] calldata values) external {
        if (values.length == 5 && values[2] == 77) listed = true;
    }

    function grid(uint8[][] calldata rows) external {
        if (rows.length == 2 && rows[1].length == 3 && rows[1][2] == 9) gridded = true;
    }

    function triple(uint16[3] calldata values) external {
        if (values[0] > values[1] && values[1] > values[2] && values[2] == 600) descending = true;
    }

    function measure(address[] calldata accounts) external {
        if (accounts.length > longest) longest = accounts.length;
    }

    /// fails in 1: list([0, 0, 77, 0, 0])
    function echidna_not_listed() external view returns (bool) {
        return !listed;
    }

    /// fails in 1: grid([[], [0, 0, 9]])
    function echidna_not_gridded() external view returns (bool) {
        return !gridded;
    }

    /// fails in 1: triple([602, 601, 600])
    function echidna_not_descending() external view returns (bool) {
        return !descending;
    }

    /// fails in 1
    function echidna_few_accounts() external view returns (bool) {
        return longest < 20;
    }
}
