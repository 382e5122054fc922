// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// As Foundry writes tests: `setUp` makes the state, and an invariant reverts when it is broken.
contract Book {
    mapping(address => uint256) public owned;
    uint256 public total;

    function give(address to, uint256 amount) external {
        owned[to] += amount;
        total += amount;
    }

    function move(address from, address to, uint256 amount) external {
        uint256 left = owned[from] - amount;
        // mended: owned[from] = left;
        uint256 more = owned[to] + amount;
        owned[from] = left;
        // mended: owned[to] += amount;
        owned[to] = more;
    }
}

contract Ledger {
    address private constant ANN = 0x00000000000000000000000000000000DeaDBeef;
    Book private book;

    function setUp() public {
        require(address(book) == address(0), "set up twice");
        book = new Book();
        book.give(ANN, 10);
    }

    /// Only this contract is called, not the book that it made.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(this);
    }

    function move(address to, uint256 amount) external {
        book.move(ANN, to, amount);
    }

    /// fails in 1
    function invariant_nobody_owns_more_than_there_is() external view {
        require(book.owned(ANN) <= book.total(), "too much");
    }

    /// holds
    function invariant_total_stays() external view {
        require(book.total() == 10, "the total changed");
    }
}
