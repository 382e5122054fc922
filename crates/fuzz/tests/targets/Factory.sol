// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Makes contracts while it runs.
contract Child {
    uint256 public value;

    function set(uint256 next) external {
        value = next;
    }
}

contract Factory {
    Child[] private children;
    bool private forged;

    function make() external {
        require(children.length < 4, "enough");
        children.push(new Child());
    }

    function set(uint256 index, uint256 value) external {
        children[index].set(value);
    }

    function forge(bytes32 salt) external {
        Child child = new Child{salt: salt}();
        child.set(1);
        if (salt == bytes32(uint256(3))) forged = true;
    }

    /// fails in 2: make(); set(0, 99)
    function echidna_first_child_is_not_99() external view returns (bool) {
        return children.length == 0 || children[0].value() != 99;
    }

    /// fails in 3
    function echidna_few_children() external view returns (bool) {
        return children.length < 3;
    }

    /// fails in 1: forge(0x0000000000000000000000000000000000000000000000000000000000000003)
    function echidna_not_forged() external view returns (bool) {
        return !forged;
    }

    /// holds
    function echidna_children_are_limited() external view returns (bool) {
        return children.length <= 4;
    }
}
