// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// config: deployContracts: [["0x0000000000000000000000000000000000001234", "Oracle"]]
// config: allContracts: true

/// The price, which anybody may change.
contract Oracle {
    uint256 public price = 100;

    function set(uint256 price_) external {
        // mended: require(price_ >= 50, "too cheap");
        require(price_ > 0, "too cheap");
        price = price_;
    }
}

/// Several contracts on one chain, each with functions of its own.
contract Market {
    Oracle private constant ORACLE = Oracle(address(0x1234));
    uint256 private cheapest = type(uint256).max;

    function buy() external {
        uint256 price = ORACLE.price();
        if (price < cheapest) cheapest = price;
    }

    /// fails in 2
    function echidna_nothing_is_cheap() external view returns (bool) {
        return cheapest >= 50;
    }
}
