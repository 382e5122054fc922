// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Values at the very ends of their types, and one step past the end of an array.
contract Boundaries {
    bool private top;
    bool private bottom;
    uint8[5] private slots;
    uint256 private last;
    uint256 private capped;

    function setTop(uint256 value) external {
        top = value == type(uint256).max;
    }

    function setBottom(int256 value) external {
        bottom = value == type(int256).min;
    }

    /// The comparison should be `<`.
    function choose(uint8 index) external {
        if (index <= slots.length) last = index;
    }

    function cap(uint256 value) external {
        capped = value > 100 ? 100 : value;
    }

    /// fails in 1: setTop(115792089237316195423570985008687907853269984665640564039457584007913129639935)
    function echidna_never_top() external view returns (bool) {
        return !top;
    }

    /// fails in 1: setBottom(-57896044618658097711785492504343953926634992332820282019728792003956564819968)
    function echidna_never_bottom() external view returns (bool) {
        return !bottom;
    }

    /// fails in 1: choose(5)
    function echidna_index_in_range() external view returns (bool) {
        return last < slots.length;
    }

    /// holds
    function echidna_capped() external view returns (bool) {
        return capped <= 100;
    }

    /// fails in 1: cap(100)
    function echidna_cap_not_reached() external view returns (bool) {
        return capped < 100;
    }
}
