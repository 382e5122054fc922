// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// config: constructorArgs: ["3", "0x0000000000000000000000000000000000020000", "say\"so"]
// config: balanceContract: 5
// config: maxGasprice: 100

/// Needs what its constructor is given, the right sender, value, price of gas and time.
contract Vault {
    uint256 private immutable wanted;
    address private immutable owner;
    uint256 private opened;
    uint256 private paid;
    bool private taken;
    bool private bribed;

    constructor(uint256 wanted_, address owner_, string memory motto) payable {
        require(msg.value == 5 && keccak256(bytes(motto)) == keccak256("say\"so"), "constructor");
        wanted = wanted_;
        owner = owner_;
    }

    function open() external {
        require(msg.sender == owner, "only the owner");
        opened = block.timestamp;
    }

    function pay() external payable {
        require(msg.value == wanted, "not the price");
        paid += msg.value;
    }

    function take() external {
        require(opened != 0 && paid != 0, "too early");
        // mended: require(block.timestamp > opened + 365 days, "too early");
        require(block.timestamp > opened + 1 days, "too early");
        taken = true;
    }

    function bribe() external {
        // mended: require(tx.gasprice > 500, "refused");
        require(tx.gasprice > 50, "refused");
        bribed = true;
    }

    /// fails in 1
    function echidna_not_bribed() external view returns (bool) {
        return !bribed;
    }

    /// fails in 3
    function echidna_not_taken() external view returns (bool) {
        return !taken;
    }

    /// holds
    function echidna_keeps_what_it_had() external view returns (bool) {
        return address(this).balance == 5 + paid;
    }
}
