// SPDX-License-Identifier: MIT OR Apache-2.0
// Compiled to Cheater.hex: solc 0.8.37, optimizer on with 1 run, evmVersion cancun, metadata.appendCBOR false.
// Foundry agrees: functions `test_*` pass there, and `test_not_*` fail.
pragma solidity ^0.8.20;

interface Vm {
    struct Log { bytes32[] topics; bytes data; address emitter; }

    function warp(uint256) external;
    function roll(uint256) external;
    function fee(uint256) external;
    function coinbase(address) external;
    function prevrandao(bytes32) external;
    function chainId(uint256) external;
    function txGasPrice(uint256) external;
    function getBlockTimestamp() external view returns (uint256);
    function getBlockNumber() external view returns (uint256);
    function deal(address, uint256) external;
    function store(address, bytes32, bytes32) external;
    function load(address, bytes32) external view returns (bytes32);
    function etch(address, bytes calldata) external;
    function setNonce(address, uint64) external;
    function getNonce(address) external view returns (uint64);
    function label(address, string calldata) external;
    function getLabel(address) external view returns (string memory);
    function prank(address) external;
    function prank(address, address) external;
    function startPrank(address) external;
    function startPrank(address, address) external;
    function stopPrank() external;
    function assume(bool) external pure;
    function skip(bool) external;
    function expectRevert() external;
    function expectRevert(bytes4) external;
    function expectRevert(bytes calldata) external;
    function expectPartialRevert(bytes4) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function addr(uint256) external pure returns (address);
    function sign(uint256, bytes32) external pure returns (uint8, bytes32, bytes32);
    function toString(address) external pure returns (string memory);
    function toString(int256) external pure returns (string memory);
    function toString(bytes32) external pure returns (string memory);
    function assertTrue(bool) external pure;
    function assertFalse(bool, string calldata) external pure;
    function assertEq(uint256, uint256) external pure;
    function assertEq(string calldata, string calldata, string calldata) external pure;
    function assertEq(bytes[] calldata, bytes[] calldata) external pure;
    function assertNotEq(address, address) external pure;
    function assertLt(int256, int256) external pure;
    function assertGe(uint256, uint256, string calldata) external pure;
    function assertApproxEqAbs(uint256, uint256, uint256) external pure;
    function assertApproxEqRel(int256, int256, uint256, string calldata) external pure;
    function ffi(string[] calldata) external returns (bytes memory);
}

Vm constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

contract Target {
    error Plain();
    error With(uint256 number);

    event Noted(address indexed sender, uint256 number);

    uint256 public number = 7;

    function who() external view returns (address, address) {
        return (msg.sender, tx.origin);
    }

    function ask(Target other) external view returns (address sender, address origin) {
        return other.who();
    }

    function pay() external payable {}

    function note(uint256 value) external {
        number = value;
        emit Noted(msg.sender, value);
    }

    function plain() external pure {
        revert Plain();
    }

    function with() external pure {
        revert With(1);
    }

    function say() external pure returns (string memory, uint256[] memory) {
        revert("no");
    }

    function silent() external {
        number = 8;
        assembly {
            revert(0, 0)
        }
    }

    function wrong() external pure {
        assert(false);
    }
}

contract Broken {
    constructor() {
        revert("broken");
    }
}

/// Cheats one call deeper.
contract Helper {
    function prankAndAsk(Target target, address who) external returns (address sender) {
        vm.prank(who);
        (sender,) = target.who();
    }

    function startPrankAndAsk(Target target, address who) external returns (address sender) {
        vm.startPrank(who);
        (sender,) = target.who();
        vm.stopPrank();
    }

    function onlyPrank(address who) external {
        vm.startPrank(who);
    }

    function expectNothing() external {
        vm.expectRevert();
    }

    function expectAndSay(Target target) external {
        vm.expectRevert(bytes("no"));
        target.say();
    }

    function dealAndFail() external {
        vm.deal(address(1234), 5);
        revert("after all");
    }
}


contract Cheater {
    Target target = new Target();
    Helper helper = new Helper();
    address constant alice = address(0xa11ce);
    address constant bob = address(0xb0b);

    function check(bool holds) internal pure {
        assert(holds);
    }

    function same(string memory left, string memory right) internal pure returns (bool) {
        return keccak256(bytes(left)) == keccak256(bytes(right));
    }

    // The block.

    function test_block() external {
        vm.warp(1e12);
        vm.roll(77);
        vm.fee(3);
        vm.coinbase(bob);
        vm.prevrandao(bytes32(uint256(99)));
        vm.chainId(1234);
        vm.txGasPrice(55);
        check(block.timestamp == 1e12 && vm.getBlockTimestamp() == 1e12);
        check(block.number == 77 && vm.getBlockNumber() == 77);
        check(block.basefee == 3 && block.coinbase == bob && block.prevrandao == 99);
        check(block.chainid == 1234 && tx.gasprice == 55);
    }

    function test_not_chain_id_too_large() external {
        vm.chainId(1 << 64);
    }

    // Accounts.

    function test_accounts() external {
        vm.deal(alice, 5 ether);
        check(alice.balance == 5 ether);
        vm.store(address(target), 0, bytes32(uint256(42)));
        check(target.number() == 42 && vm.load(address(target), 0) == bytes32(uint256(42)));
        vm.etch(bob, address(target).code);
        check(Target(bob).number() == 0);
        vm.etch(bob, hex"602a60005260206000f3");
        check(Target(bob).number() == 42);
        vm.setNonce(alice, 9);
        check(vm.getNonce(alice) == 9);
        vm.label(alice, "Alice");
        check(same(vm.getLabel(alice), "Alice"));
        check(same(vm.getLabel(bob), "unlabeled:0x0000000000000000000000000000000000000B0b"));
    }

    function test_not_lower_nonce() external {
        vm.setNonce(alice, 9);
        vm.setNonce(alice, 8);
    }

    function test_not_etch_precompile() external {
        vm.etch(address(2), hex"00");
    }

    // Pranks.

    function test_prank_is_for_one_call() external {
        address origin = tx.origin;
        vm.prank(alice);
        (address sender, address seen) = target.who();
        check(sender == alice && seen == origin);
        (sender,) = target.who();
        check(sender == address(this));
    }

    function test_prank_with_origin() external {
        address origin = tx.origin;
        vm.prank(alice, bob);
        (address sender, address seen) = target.who();
        check(sender == alice && seen == bob && tx.origin == origin);
        vm.startPrank(bob, alice);
        (sender, seen) = target.ask(target);
        check(sender == address(target) && seen == alice && tx.origin == origin);
        (sender, seen) = target.who();
        check(sender == bob && seen == alice);
        vm.stopPrank();
    }

    function test_prank_lasts_until_stopped() external {
        vm.startPrank(alice);
        (address sender,) = target.who();
        vm.warp(5);
        (address again,) = target.who();
        check(sender == alice && again == alice);
        vm.startPrank(bob);
        (sender,) = target.who();
        vm.stopPrank();
        (again,) = target.who();
        check(sender == bob && again == address(this));
    }

    function test_prank_nests() external {
        vm.startPrank(alice);
        check(helper.startPrankAndAsk(target, bob) == bob);
        (address sender,) = target.who();
        check(sender == alice);
        vm.stopPrank();
        check(helper.prankAndAsk(target, bob) == bob);
    }

    // Foundry wants both pranks to be of one kind.
    function nest_pranks_of_two_kinds() external {
        vm.startPrank(alice);
        check(helper.prankAndAsk(target, bob) == bob);
        (address sender,) = target.who();
        check(sender == alice);
    }

    function test_prank_pays() external {
        vm.deal(alice, 3);
        vm.prank(alice);
        target.pay{value: 2}();
        check(alice.balance == 1 && address(target).balance == 2);
    }

    function test_prank_creates() external {
        vm.setNonce(alice, 4);
        vm.prank(alice);
        Target made = new Target();
        bytes memory key = abi.encodePacked(hex"d694", alice, uint8(4));
        check(address(made) == address(uint160(uint256(keccak256(key)))) && vm.getNonce(alice) == 5);
    }

    function test_prank_of_helper_stays_there() external {
        helper.onlyPrank(alice);
        (address sender,) = target.who();
        check(sender == address(this));
        (sender,) = target.ask(target);
        check(sender == address(target));
    }

    function test_prank_is_used_up_by_libraries() external {
        address outside = msg.sender;
        vm.prank(alice);
        (, bytes memory seen) = address(target).delegatecall(abi.encodeCall(Target.who, ()));
        (address sender,) = abi.decode(seen, (address, address));
        (address next,) = target.who();
        check(sender == outside && next == address(this));
    }

    function test_not_prank_twice() external {
        vm.prank(alice);
        vm.prank(bob);
    }

    function test_not_prank_within_lasting() external {
        vm.startPrank(alice);
        target.who();
        vm.prank(bob);
    }

    function test_not_prank_without_money() external {
        vm.deal(alice, 1);
        vm.deal(address(this), 9);
        vm.prank(alice);
        target.pay{value: 2}();
    }

    function leave_prank() external {
        vm.startPrank(alice, bob);
    }

    function test_sender_is_real() external view {
        (address sender, address origin) = target.who();
        check(sender == address(this) && origin == tx.origin && origin != bob);
    }

    // Expected reverts.

    function test_expected_reverts() external {
        vm.expectRevert();
        target.plain();
        vm.expectRevert(Target.Plain.selector);
        target.plain();
        vm.expectPartialRevert(Target.With.selector);
        target.with();
        vm.expectRevert(abi.encodeWithSelector(Target.With.selector, 1));
        target.with();
        vm.expectRevert(bytes("no"));
        (string memory text, uint256[] memory list) = target.say();
        check(bytes(text).length == 0 && list.length == 0);
        vm.expectRevert();
        target.silent();
        check(target.number() == 7);
        vm.expectRevert(abi.encodeWithSignature("Panic(uint256)", 1));
        target.wrong();
        vm.expectRevert(bytes("broken"));
        new Broken();
    }

    function test_expected_revert_with_prank_and_depth() external {
        vm.expectRevert(bytes("no"));
        vm.prank(alice);
        target.say();
        helper.expectAndSay(target);
    }

    // Foundry does not undo `deal` with the call that it was made in.
    function undo_what_reverted() external {
        vm.expectRevert(bytes("after all"));
        helper.dealAndFail();
        check(address(1234).balance == 0);
    }

    function test_not_reverted() external {
        vm.expectRevert();
        target.number();
    }

    function test_not_that_selector() external {
        vm.expectRevert(Target.With.selector);
        target.with();
    }

    function test_not_that_text() external {
        vm.expectRevert(bytes("yes"));
        target.say();
    }

    function test_not_silent() external {
        vm.expectRevert(bytes("yes"));
        target.silent();
    }

    function test_not_without_call() external {
        vm.expectRevert();
    }

    function test_not_without_call_deeper() external {
        helper.expectNothing();
    }

    function test_not_expect_twice() external {
        vm.expectRevert();
        vm.expectRevert();
        target.plain();
    }

    // Keys, texts, events.

    function test_keys() external view {
        check(vm.addr(1) == 0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf);
        bytes32 digest = keccak256("message");
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(0xbeef, digest);
        check(ecrecover(digest, v, r, s) == vm.addr(0xbeef));
    }

    function test_not_key_zero() external pure {
        vm.addr(0);
    }

    function test_texts() external pure {
        check(same(vm.toString(bob), "0x0000000000000000000000000000000000000B0b"));
        check(same(vm.toString(int256(-12)), "-12"));
        check(bytes(vm.toString(bytes32(0))).length == 66);
    }

    function test_events() external {
        target.note(1);
        vm.recordLogs();
        target.note(2);
        target.note(3);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 2 && logs[1].emitter == address(target));
        check(logs[0].topics.length == 2 && logs[0].topics[0] == Target.Noted.selector);
        check(logs[0].topics[1] == bytes32(uint256(uint160(address(this)))));
        check(abi.decode(logs[1].data, (uint256)) == 3);
        check(vm.getRecordedLogs().length == 0);
    }

    // Assertions.

    function test_assertions() external view {
        vm.assertTrue(true);
        vm.assertFalse(false, "text");
        vm.assertEq(1, 1);
        vm.assertEq("a", "a", "text");
        bytes[] memory list = new bytes[](2);
        list[1] = hex"0102";
        vm.assertEq(list, list);
        vm.assertNotEq(alice, bob);
        vm.assertLt(-1, 0);
        vm.assertGe(1, 1, "text");
    }

    function test_near() external pure {
        vm.assertApproxEqAbs(100, 103, 3);
        vm.assertApproxEqRel(-95, -100, 0.05e18, "text");
        vm.assertApproxEqRel(0, 0, 0, "text");
        vm.assertApproxEqRel(type(int256).max, type(int256).min, 2e18, "text");
    }

    function test_not_near() external pure {
        vm.assertApproxEqAbs(100, 103, 2);
    }

    function test_not_near_share() external pure {
        vm.assertApproxEqRel(-94, -100, 0.05e18, "share");
    }

    function test_not_near_zero() external pure {
        vm.assertApproxEqRel(1, 0, 1e18, "zero");
    }

    function test_not_true() external pure {
        vm.assertTrue(false);
    }

    function test_not_false() external pure {
        vm.assertFalse(true, "it is");
    }

    function test_not_equal() external pure {
        vm.assertEq(1, 2);
    }

    function test_not_equal_text() external pure {
        vm.assertEq("a", "b", "letters");
    }

    function test_not_equal_list() external pure {
        bytes[] memory list = new bytes[](2);
        list[1] = hex"0102";
        vm.assertEq(list, new bytes[](2));
    }

    function test_not_different() external pure {
        vm.assertNotEq(bob, bob);
    }

    function test_not_less() external pure {
        vm.assertLt(0, -1);
    }

    function test_not_greater() external pure {
        vm.assertGe(1, 2, "size");
    }

    function test_caught_assertion() external view {
        try vm.assertEq(1, 2) {
            assert(false);
        } catch {}
    }

    function test_not_noted() external {
        vm.store(address(vm), "failed", bytes32(uint256(1)));
    }

    // What does not count, and what does not work.

    function assume_less(uint256 number) external {
        vm.warp(3);
        vm.deal(alice, 1);
        try this.assume_deeper(number) {} catch {
            assert(false);
        }
    }

    function assume_deeper(uint256 number) external pure {
        vm.assume(number < 10);
    }

    function skip_all() external {
        try vm.assertTrue(false) {} catch {}
        vm.skip(true);
    }

    function use_ffi() external {
        vm.ffi(new string[](0));
    }

    function catch_ffi() external {
        try vm.ffi(new string[](0)) {} catch {}
    }

    function change_all() public {
        vm.warp(3);
        vm.chainId(5);
        vm.label(alice, "Alice");
        vm.deal(alice, 1);
        vm.setNonce(alice, 6);
        vm.store(address(target), 0, bytes32(uint256(9)));
        vm.etch(address(helper), hex"00");
    }

    function change_all_and_fail() external {
        change_all();
        revert("late");
    }

    function test_nothing_is_changed() external view {
        check(block.timestamp != 3 && block.chainid != 5 && address(helper).code.length > 1);
        check(alice.balance == 0 && vm.getNonce(alice) == 0 && target.number() == 7);
        check(!same(vm.getLabel(alice), "Alice"));
    }
}
