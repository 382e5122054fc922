// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// calls: 2000000

/// Numbers whose product is told, and a root.
contract Products {
    bool private framed;
    bool private rooted;
    bool private scaled;

    function frame(uint32 width, uint32 height) external {
        if (height > 40 && width > height && uint256(width) * height == 5040) framed = true;
    }

    function root(uint64 number) external {
        if (uint256(number) * number == 1_522_756) rooted = true;
    }

    /// Eighteen decimals, as tokens have them.
    function scale(uint128 price, uint128 amount) external {
        if (amount >= 1e18 && uint256(price) * amount / 1e18 == 31_337) scaled = true;
    }

    /// fails in 1
    function echidna_not_framed() external view returns (bool) {
        return !framed;
    }

    /// fails in 1: root(1234)
    function echidna_not_rooted() external view returns (bool) {
        return !rooted;
    }

    /// fails in 1
    function echidna_not_scaled() external view returns (bool) {
        return !scaled;
    }
}
