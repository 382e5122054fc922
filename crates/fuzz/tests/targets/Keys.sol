// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// calls: 5000

/// Hands out keys that only those know who look at what is returned.
contract Keys {
    mapping(bytes32 => address) private owners;
    bool private opened;

    function issue(uint256 secret) external returns (bytes32 key) {
        key = keccak256(abi.encode(secret, msg.sender));
        owners[key] = msg.sender;
    }

    function open(bytes32 key) external {
        if (owners[key] != address(0)) opened = true;
    }

    /// fails in 2
    function echidna_stays_closed() external view returns (bool) {
        return !opened;
    }
}
