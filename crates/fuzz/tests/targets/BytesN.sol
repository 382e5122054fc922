// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// calls: 1000000

/// Short byte strings: they stand at the upper end of a word.
contract BytesN {
    bool private selected;
    bool private chosen;
    bool private shifted;
    bool private joined;

    function select(bytes4 selector) external {
        if (selector == 0x8badf00d) selected = true;
    }

    function choose(bytes1 letter) external {
        if (letter > "w" && letter < "y") chosen = true;
    }

    function shift(bytes20 value) external {
        if (value << 144 == bytes20("ok") && value >> 144 != 0) shifted = true;
    }

    function join(bytes8 high, bytes8 low) external {
        if (bytes16(high) | (bytes16(low) >> 64) == "left and right !") joined = true;
    }

    /// fails in 1: select(0x8badf00d)
    function echidna_not_selected() external view returns (bool) {
        return !selected;
    }

    /// fails in 1: choose(0x78)
    function echidna_not_chosen() external view returns (bool) {
        return !chosen;
    }

    /// fails in 1
    function echidna_not_shifted() external view returns (bool) {
        return !shifted;
    }

    /// fails in 1: join(0x6c65667420616e64, 0x2072696768742021)
    function echidna_not_joined() external view returns (bool) {
        return !joined;
    }
}
