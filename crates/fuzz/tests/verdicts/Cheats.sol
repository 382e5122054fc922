// SPDX-License-Identifier: AGPL-3.0-only
pragma solidity ^0.8.0;

interface Vm {
    function assume(bool) external;
    function skip(bool, string calldata) external;
    function transact(bytes32) external;
    function doSomethingNew(uint256) external;
}

abstract contract UsesCheats {
    Vm internal constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
}

/// Foundry tests, some of which cannot be run.
contract SomeTests is UsesCheats {
    function test_fails(uint256 number) external pure {
        require(number != 7, "seven");
    }

    function test_holds(uint256 number) external pure {
        require(number == number);
    }

    function test_rejects_all(uint256) external {
        vm.assume(false);
    }

    function test_skips(uint256) external {
        vm.skip(true, "not ready");
    }

    function test_unsupported() external {
        vm.transact(bytes32(0));
    }

    function test_unknown(uint256 number) external {
        // The revert of a cheat code that is ignored would not be noticed.
        try vm.doSomethingNew(number) {} catch {}
    }
}

/// Properties that cannot be evaluated in some states.
contract LateCheats is UsesCheats {
    uint256 public number;

    function increase() external {
        number++;
    }

    function echidna_fails_later() external returns (bool) {
        if (number == 2) vm.transact(bytes32(0));
        return number < 4;
    }

    function echidna_late() external returns (bool) {
        if (number > 2) vm.transact(bytes32(0));
        return true;
    }

    function echidna_never() external returns (bool) {
        vm.doSomethingNew(number);
        return false;
    }
}

/// A handler that cannot be run beside one that can.
contract Handlers is UsesCheats {
    uint256 public number;

    function increase() external {
        number++;
    }

    function replay(bytes32 hash) external {
        number = 1000;
        vm.transact(hash);
    }

    function echidna_number() external view returns (bool) {
        return number != 1000;
    }
}

contract FailingSetUp is UsesCheats {
    uint256 public number;

    function setUp() external {
        number = 1;
        require(number > 1, "nothing to set up");
    }

    function increase() external {
        number++;
    }

    function echidna_number() external view returns (bool) {
        return number < 3;
    }
}

contract UnsupportedSetUp is UsesCheats {
    uint256 public number;

    function setUp() external {
        vm.transact(bytes32(0));
    }

    function increase() external {
        number++;
    }

    function echidna_number() external view returns (bool) {
        return number < 3;
    }
}
