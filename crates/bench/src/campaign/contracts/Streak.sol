// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// Confirmations count only while nothing else happens, as in a wallet that is confirmed before it pays.
contract Streak {
    uint256 private confirmations;
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

    modifier interrupts() {
        confirmations = 0;
        _;
    }

    function confirm() external {
        confirmations += 1;
    }

    function setFee(uint256 value) external interrupts {
        fee = value;
    }

    function setCap(uint256 value) external interrupts {
        cap = value;
    }

    function setFloor(uint256 value) external interrupts {
        floor = value;
    }

    function setLimit(uint256 value) external interrupts {
        limit = value;
    }

    function setPrice(uint256 value) external interrupts {
        price = value;
    }

    function setQuota(uint256 value) external interrupts {
        quota = value;
    }

    function setWeight(uint256 value) external interrupts {
        weight = value;
    }

    function setMargin(uint256 value) external interrupts {
        margin = value;
    }

    function setDelay(uint256 value) external interrupts {
        delay = value;
    }

    function setWindow(uint256 value) external interrupts {
        window = value;
    }

    function setBonus(uint256 value) external interrupts {
        bonus = value;
    }

    function setReserve(uint256 value) external interrupts {
        reserve = value;
    }

    function setRatio(uint256 value) external interrupts {
        ratio = value;
    }

    function setSpread(uint256 value) external interrupts {
        spread = value;
    }

    function setTick(uint256 value) external interrupts {
        tick = value;
    }

    function setLot(uint256 value) external interrupts {
        lot = value;
    }

    function setDepth(uint256 value) external interrupts {
        depth = value;
    }

    function setFactor(uint256 value) external interrupts {
        factor = value;
    }

    function setOffset(uint256 value) external interrupts {
        offset = value;
    }

    function setScale(uint256 value) external interrupts {
        scale = value;
    }

    function echidna_holds() external view returns (bool) {
        return confirmations < 40;
    }
}
