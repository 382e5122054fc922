// SPDX-License-Identifier: AGPL-3.0-only
pragma solidity ^0.8.0;

interface Asset {
    function receiveEther(uint256 amount) external;
}

/// A pool that calls any asset, as real ones do. The address of the cheat codes is among its constants.
contract Lending {
    address constant VM = 0x7109709ECfa91a80626fF3989D68f67F5b1DD12D;

    address public asset;
    uint256 public supplied;
    bool public hasCheated;

    function setAsset(address newAsset) external {
        asset = newAsset;
        hasCheated = hasCheated || newAsset == VM;
    }

    function supply(address newAsset, uint256 amount) external {
        if (newAsset == VM) hasCheated = true;
        supplied += amount % 2;
        Asset(newAsset).receiveEther(amount);
    }

    function supplyStored(uint256 amount) external {
        Asset(asset).receiveEther(amount);
    }

    function number(uint160 any, bytes32 word) external {
        if (any == uint160(VM) || word == bytes32(uint256(uint160(VM)))) hasCheated = true;
    }

    function echidna_never_gets_the_cheat_codes() external view returns (bool) {
        return !hasCheated;
    }
}

/// Changes only as time passes.
contract Clock {
    uint256 immutable start = block.timestamp;

    function echidna_time_passes() external view returns (bool) {
        return block.timestamp >= start;
    }
}
