// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Contracts that cannot be fuzzed, each for its own reason.
contract Refuses {
    constructor() {
        revert("not today");
    }

    function touch() external {}

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract Panics {
    uint256 private immutable share;

    constructor() {
        uint256[] memory none = new uint256[](0);
        share = none[0];
    }

    function touch() external {}

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract TakesArguments {
    uint256 private immutable limit;

    constructor(uint256 first, address) {
        limit = first;
    }

    function touch() external {}

    function echidna_true() external view returns (bool) {
        return limit >= 0;
    }
}

contract RefusesSetUp {
    function setUp() external pure {
        revert("no set-up");
    }

    function touch() external {}

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract Untested {
    uint256 private value;

    function touch() external {
        value++;
    }

    function check(uint256 number) external view returns (bool) {
        return number != value;
    }
}

contract TestTakesArguments {
    function touch() external {}

    function echidna_of(uint256 number) external pure returns (bool) {
        return number != 7;
    }

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract TestSaysNothing {
    function touch() external {}

    function echidna_silent() external pure {}

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

/// Two contracts that only differ by their names.
contract Twin {
    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract OtherTwin {
    function echidna_true() external pure returns (bool) {
        return true;
    }
}

contract Untouchable {
    function echidna_true() external pure returns (bool) {
        return true;
    }
}

abstract contract Unfinished {
    function touch() external virtual;

    function echidna_true() external pure returns (bool) {
        return true;
    }
}

interface Promise {
    function echidna_true() external returns (bool);
}

library Far {
    function twice(uint256 value) external pure returns (uint256) {
        return value * 2;
    }
}

contract NeedsLibrary {
    uint256 private value;

    function set(uint256 next) external {
        value = Far.twice(next);
    }

    function echidna_even() external view returns (bool) {
        return value % 2 == 0;
    }
}
