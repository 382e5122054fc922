// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

contract Counter {
    uint256 public count;
    uint8 public level;

    constructor(uint256 first) payable {
        require(first < 10, "too large");
        count = first;
    }

    function add(uint256 amount) external {
        require(amount < 5, "amount");
        count += amount;
        assert(amount != 4);
    }

    function reset() external {
        count = 0;
    }

    function set(uint8 newLevel) external {
        level = newLevel;
    }

    function echidna_opt_level() external view returns (int256) {
        return int256(uint256(level));
    }
}

contract Broken is Counter(10) {
    function nothing() external {}
}

contract Lamp {
    bool public on;

    function toggle() external {
        on = !on;
    }
}
