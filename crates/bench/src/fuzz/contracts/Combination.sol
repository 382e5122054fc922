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

    function echidna_holds() external view returns (bool) {
        return stage < 4;
    }
}
