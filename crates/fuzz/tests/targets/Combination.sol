// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A lock with four dials that must be turned in order; a wrong turn starts over.
contract Combination {
    uint256 private stage;

    function red(uint256 number) external {
        stage = stage == 1 && number == 5521 ? 2 : 0;
    }

    function green(uint256 number) external {
        stage = stage == 2 && number == 17 ? 3 : 0;
    }

    function blue(uint256 number) external {
        stage = stage == 0 && number == 90210 ? 1 : 0;
    }

    function white(uint256 number) external {
        stage = stage == 3 && number == 4 ? 4 : 0;
    }

    /// fails in 4: blue(90210); red(5521); green(17); white(4)
    function echidna_stays_shut() external view returns (bool) {
        return stage < 4;
    }

    /// fails in 2: blue(90210); red(5521)
    function echidna_never_half_open() external view returns (bool) {
        return stage < 2;
    }

    /// holds
    function echidna_has_four_dials() external view returns (bool) {
        return stage <= 4;
    }
}
