// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A number next to a constant in the code, compared with the sum of two arguments, so that guessing does not find it.
contract Magic {
    uint256 private constant NUMBER = 71_829_364_550_918_273_645_091_827_364_509_182_736_450_918_273;
    bool private hit;

    function count(uint256 a, uint256 b) external {
        unchecked {
            if (a + b == NUMBER + 1 && a > b) hit = true;
        }
    }

    function echidna_holds() external view returns (bool) {
        return !hit;
    }
}
