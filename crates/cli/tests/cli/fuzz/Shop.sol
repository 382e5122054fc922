// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// Keeps a price, and says how it changes.
contract Feed {
    error Stale(uint256 age, string what);

    event Priced(address indexed by, uint256 price, string note);

    uint256 public price = 1;

    function set(uint256 newPrice) external returns (uint256 old, bool isNew) {
        require(newPrice < 1000, "too high\n\u001b[31m");
        old = price;
        price = newPrice;
        emit Priced(msg.sender, newPrice, "set");
        return (old, old != newPrice);
    }

    function check(uint256 age) external pure {
        if (age > 10) revert Stale(age, "feed");
    }
}

/// Calls others, who call others.
contract Shop {
    Feed public feed = new Feed();
    uint256 public sold;

    receive() external payable {}

    function renew() external {
        feed = new Feed();
    }

    function sell(uint256 price, uint256 age) external payable returns (uint256) {
        feed.set(price);
        try feed.check(age) {} catch {}
        try this.halve(feed.price()) returns (uint256 half) {
            sold += half;
        } catch {}
        return sold;
    }

    function halve(uint256 number) external pure returns (uint256) {
        assert(number != 7);
        return number / 2;
    }

    function dive(uint256 depth) external {
        if (depth > 0) this.dive(depth - 1);
    }

    function many(uint256 count) external {
        for (uint256 i = 0; i < count; i++) feed.set(i);
    }

    function echidna_sold_little() external view returns (bool) {
        return sold < 400;
    }
}

interface Vm {
    function readFile(string calldata path) external returns (string memory);
}

/// Needs what a fuzzer must not do.
contract Reader {
    uint256 public count;

    function read() external {
        count++;
        Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D).readFile("secret");
    }

    function echidna_true() external pure returns (bool) {
        return true;
    }
}
