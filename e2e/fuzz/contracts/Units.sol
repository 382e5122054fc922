// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: foundry

/// Unit tests with arguments, as Foundry has them.
contract Units {
    uint256 private limit;

    function setUp() public {
        limit = 1000;
    }

    /// fails in 1
    function test_below_the_limit(uint16 number) external view {
        // mended: require(number >= 0, "above the limit");
        require(number < limit, "above the limit");
    }

    /// holds
    function test_the_limit(uint256 number) external view {
        require(number > 0 || limit == 1000, "no limit");
    }
}
