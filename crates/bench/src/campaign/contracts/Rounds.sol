// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// An auction that is held in rounds; whatever is set in between begins it anew.
contract Rounds {
    uint256 private stage;
    uint256 private round;
    uint256 public fee;
    uint256 public cap;
    uint256 public floor;
    uint256 public limit;
    uint256 public price;
    uint256 public quota;
    uint256 public weight;
    uint256 public margin;
    uint256 public delay;
    uint256 public window;
    uint256 public bonus;
    uint256 public reserve;
    uint256 public ratio;
    uint256 public spread;
    uint256 public tick;
    uint256 public lot;
    uint256 public depth;
    uint256 public factor;
    uint256 public offset;
    uint256 public scale;

    modifier beginsAnew() {
        stage = 0;
        round = 0;
        _;
    }

    function open() external {
        require(stage == 0, "not now");
        stage = 1;
    }

    function bid(uint256 amount) external {
        require(stage == 1 && amount > 0, "not now");
        stage = 2;
    }

    function close() external {
        require(stage == 2, "not now");
        stage = 3;
    }

    function settle() external {
        require(stage == 3, "not now");
        stage = 0;
        round += 1;
    }

    function setFee(uint256 value) external beginsAnew {
        fee = value;
    }

    function setCap(uint256 value) external beginsAnew {
        cap = value;
    }

    function setFloor(uint256 value) external beginsAnew {
        floor = value;
    }

    function setLimit(uint256 value) external beginsAnew {
        limit = value;
    }

    function setPrice(uint256 value) external beginsAnew {
        price = value;
    }

    function setQuota(uint256 value) external beginsAnew {
        quota = value;
    }

    function setWeight(uint256 value) external beginsAnew {
        weight = value;
    }

    function setMargin(uint256 value) external beginsAnew {
        margin = value;
    }

    function setDelay(uint256 value) external beginsAnew {
        delay = value;
    }

    function setWindow(uint256 value) external beginsAnew {
        window = value;
    }

    function setBonus(uint256 value) external beginsAnew {
        bonus = value;
    }

    function setReserve(uint256 value) external beginsAnew {
        reserve = value;
    }

    function setRatio(uint256 value) external beginsAnew {
        ratio = value;
    }

    function setSpread(uint256 value) external beginsAnew {
        spread = value;
    }

    function setTick(uint256 value) external beginsAnew {
        tick = value;
    }

    function setLot(uint256 value) external beginsAnew {
        lot = value;
    }

    function setDepth(uint256 value) external beginsAnew {
        depth = value;
    }

    function setFactor(uint256 value) external beginsAnew {
        factor = value;
    }

    function setOffset(uint256 value) external beginsAnew {
        offset = value;
    }

    function setScale(uint256 value) external beginsAnew {
        scale = value;
    }

    function echidna_holds() external view returns (bool) {
        return round < 5;
    }
}
