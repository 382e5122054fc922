// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Reverts that carry data, and a contract that reads it.
contract Gate {
    error TooLarge(uint256 given, uint256 limit);
    error Closed();

    bool private open;

    function toggle() external {
        open = !open;
    }

    function pass(uint256 size) external view returns (uint256) {
        if (!open) revert Closed();
        if (size > 4096) revert TooLarge(size, 4096);
        return size;
    }
}

contract CustomErrors {
    error Denied(address account);

    Gate private immutable gate = new Gate();
    uint256 private excess;
    uint256 private closed;

    function toggle() external {
        gate.toggle();
    }

    function pass(uint256 size) external {
        try gate.pass(size) {} catch (bytes memory reason) {
            if (bytes4(reason) == Gate.TooLarge.selector) {
                (uint256 given, uint256 limit) = abi.decode(tail(reason), (uint256, uint256));
                excess = given - limit;
            } else {
                closed++;
            }
        }
    }

    function deny() external view {
        revert Denied(msg.sender);
    }

    function tail(bytes memory reason) private pure returns (bytes memory rest) {
        rest = new bytes(reason.length - 4);
        for (uint256 index = 0; index < rest.length; index++) rest[index] = reason[index + 4];
    }

    /// fails in 2: toggle(); pass(4101)
    function echidna_never_five_too_large() external view returns (bool) {
        return excess != 5;
    }

    /// fails in 1: pass(0)
    function echidna_never_closed() external view returns (bool) {
        return closed == 0;
    }
}
