// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Numbers that nobody guesses: they stand in the code.
contract Magic {
    bytes32 private constant KEY = 0x5f3a9c0177e1d24bb86e40c59a02f7d8613be4a95c8d20f71e6b94d3a7c05218;
    uint256 private constant NUMBER = 71_829_364_550_918_273_645_091_827_364_509_182_736_450_918_273;
    uint256 private held;
    bool private keyed;
    bool private numbered;
    bool private paired;

    function turn(bytes32 key) external {
        if (key == KEY) keyed = true;
    }

    function count(uint256 number) external {
        if (number == NUMBER + 1) numbered = true;
    }

    function hold(uint256 number) external {
        held = number;
    }

    /// Half of the secret is what is held.
    function pair(uint256 number) external {
        if (held == NUMBER && number == held ^ uint256(KEY)) paired = true;
    }

    /// fails in 1: turn(0x5f3a9c0177e1d24bb86e40c59a02f7d8613be4a95c8d20f71e6b94d3a7c05218)
    function echidna_not_keyed() external view returns (bool) {
        return !keyed;
    }

    /// fails in 1: count(71829364550918273645091827364509182736450918274)
    function echidna_not_numbered() external view returns (bool) {
        return !numbered;
    }

    /// fails in 2
    function echidna_not_paired() external view returns (bool) {
        return !paired;
    }
}
