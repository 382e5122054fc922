// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// A life in stages. Values that are no stage revert.
contract Enums {
    enum Stage {
        Seed,
        Sprout,
        Tree,
        Log
    }

    Stage private stage;

    function grow(Stage next) external {
        require(uint8(next) == uint8(stage) + 1, "not the next stage");
        stage = next;
    }

    function cut() external {
        require(stage == Stage.Tree, "no tree");
        stage = Stage.Seed;
    }

    /// fails in 3: grow(1); grow(2); grow(3)
    function echidna_no_log() external view returns (bool) {
        return stage != Stage.Log;
    }

    /// holds
    function echidna_is_a_stage() external view returns (bool) {
        return uint8(stage) <= 3;
    }
}
