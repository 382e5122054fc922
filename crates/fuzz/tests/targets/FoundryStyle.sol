// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: foundry

interface Vm {
    function assume(bool) external;
    function prank(address) external;
    function expectRevert(bytes calldata) external;
    function assertEq(uint256, uint256) external;
    function assertTrue(bool) external;
    function deal(address, uint256) external;
}

contract Vault {
    address public owner;
    mapping(address => uint256) public deposits;

    constructor() {
        owner = msg.sender;
    }

    function deposit() external payable {
        deposits[msg.sender] += msg.value;
    }

    function seize(address from) external {
        require(msg.sender == owner, "not the owner");
        deposits[from] = 0;
    }
}

contract Counter {
    uint256 public calls;

    function count() external {
        calls += 1;
    }
}

/// Tests as people write them for Foundry: each is called on its own, on what setUp() made.
contract FoundryStyle {
    Vm private constant VM = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    address private constant ALICE = address(0xA11CE);

    Vault private vault;
    Counter private counter;
    uint256 private calls;

    function setUp() public {
        vault = new Vault();
        counter = new Counter();
    }

    /// holds
    function test_only_the_owner_seizes() external {
        VM.expectRevert(abi.encodeWithSignature("Error(string)", "not the owner"));
        VM.prank(ALICE);
        vault.seize(ALICE);
    }

    /// holds
    function testFuzz_deposits_are_counted(uint96 amount) external {
        VM.deal(ALICE, amount);
        VM.prank(ALICE);
        vault.deposit{value: amount}();
        VM.assertEq(vault.deposits(ALICE), amount);
    }

    /// holds
    function testFuzz_what_is_assumed_does_not_fail(uint256 number) external {
        VM.assume(number > 1000);
        VM.assertTrue(number != 1000);
    }

    /// fails in 1
    function testFuzz_halves(uint256 number) external {
        VM.assume(number > 1000);
        VM.assertEq((number / 2) * 2, number);
    }

    /// fails in 1
    function test_that_never_held() external {
        VM.assertTrue(vault.owner() == ALICE);
    }

    /// Every test starts anew, so that the second call of this one sees what the first saw.
    /// holds
    function test_starts_anew() external {
        calls += 1;
        VM.assertEq(calls, 1);
    }

    uint256[] public fixtureMagic = [7, 0xfeedfacecafebeef, 9];

    function fixtureLimit() public pure returns (uint256[] memory limits) {
        limits = new uint256[](3);
        limits[0] = 8;
        limits[1] = type(uint256).max;
        limits[2] = 8;
    }

    /// Rows of two fixtures: only the last one fails.
    /// fails in 1: tableRows(9, 8)
    function tableRows(uint256 magic, uint256 limit) external pure {
        require(magic < limit, "too large");
    }

    /// holds
    function tableMagic(uint256 magic) external pure {
        require(magic != 8, "no row has it");
    }

    /// Not a target, because it belongs to the test contract.
    function breakEverything() external {
        vault = new Vault();
        calls += 1;
    }

    /// fails in 3
    function invariant_few_calls() external view {
        require(counter.calls() < 3, "many calls");
    }

    /// holds
    function invariant_the_harness_is_not_called() external view {
        require(calls == 0, "called");
    }

    /// holds
    function invariant_the_owner_stays() external view {
        require(vault.owner() == address(this), "another owner");
    }
}
