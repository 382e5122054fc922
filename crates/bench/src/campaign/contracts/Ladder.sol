// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// Trust is gained in small steps and lost at once, as in a scheme that rates its members.
contract Ladder {
    uint256 private trust;
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

    modifier costsTrust() {
        trust = trust / 2;
        _;
    }

    function vouchFor(uint256 weightOfVote) external {
        trust = trust + weightOfVote % 4;
    }

    function recommend(uint256 stars) external {
        trust = trust + stars % 6 / 2;
    }

    function setFee(uint256 value) external costsTrust {
        fee = value;
    }

    function setCap(uint256 value) external costsTrust {
        cap = value;
    }

    function setFloor(uint256 value) external costsTrust {
        floor = value;
    }

    function setLimit(uint256 value) external costsTrust {
        limit = value;
    }

    function setPrice(uint256 value) external costsTrust {
        price = value;
    }

    function setQuota(uint256 value) external costsTrust {
        quota = value;
    }

    function setWeight(uint256 value) external costsTrust {
        weight = value;
    }

    function setMargin(uint256 value) external costsTrust {
        margin = value;
    }

    function setDelay(uint256 value) external costsTrust {
        delay = value;
    }

    function setWindow(uint256 value) external costsTrust {
        window = value;
    }

    function setBonus(uint256 value) external costsTrust {
        bonus = value;
    }

    function setReserve(uint256 value) external costsTrust {
        reserve = value;
    }

    function setRatio(uint256 value) external costsTrust {
        ratio = value;
    }

    function setSpread(uint256 value) external costsTrust {
        spread = value;
    }

    function setTick(uint256 value) external costsTrust {
        tick = value;
    }

    function setLot(uint256 value) external costsTrust {
        lot = value;
    }

    function setDepth(uint256 value) external costsTrust {
        depth = value;
    }

    function setFactor(uint256 value) external costsTrust {
        factor = value;
    }

    function setOffset(uint256 value) external costsTrust {
        offset = value;
    }

    function setScale(uint256 value) external costsTrust {
        scale = value;
    }

    function echidna_holds() external view returns (bool) {
        return trust < 60;
    }
}
