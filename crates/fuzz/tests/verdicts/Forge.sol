// SPDX-License-Identifier: AGPL-3.0-only
pragma solidity ^0.8.0;

// What forge 1.7.1 says: functions `test_*` pass, and `test_not_*` fail. `setUp()` of the contracts whose names begin with
// `Failed` fails. Of the handlers, it reports an assertion of those that `Reports*` and `BreaksByStored` deploy, and those
// of `CountsToTwenty` break `afterInvariant()`.

interface Vm {
    function assertEq(uint256, uint256) external pure;
    function assertTrue(bool) external pure;
    function assertTrue(bool, string calldata) external pure;
    function assume(bool) external pure;
    function clearMockedCalls() external;
    function deal(address, uint256) external;
    function expectCall(address, bytes calldata) external;
    function expectCall(address, bytes calldata, uint64) external;
    function expectCall(address, uint256, bytes calldata) external;
    function expectEmit() external;
    function expectEmit(uint64) external;
    function expectEmit(address) external;
    function expectEmit(address, uint64) external;
    function expectEmit(bool, bool, bool, bool) external;
    function expectRevert() external;
    function expectRevert(bytes4) external;
    function expectRevert(uint64) external;
    function expectRevert(address) external;
    function mockCall(address, bytes calldata, bytes calldata) external;
    function mockCallRevert(address, bytes calldata, bytes calldata) external;
    function prank(address) external;
    function prank(address, address) external;
    function chainId(uint256) external;
    function deleteStateSnapshot(uint256) external returns (bool);
    function getNonce(address) external returns (uint64);
    function revertToState(uint256) external returns (bool);
    function revertToStateAndDelete(uint256) external returns (bool);
    function roll(uint256) external;
    function snapshotState() external returns (uint256);
    function startPrank(address) external;
    function startPrank(address, address) external;
    function stopPrank() external;
    function store(address, bytes32, bytes32) external;
    function warp(uint256) external;
}

Vm constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

contract Other {
    event A(uint256 indexed n, uint256 d);
    event B(uint256 n);
    uint256 public x;

    function none() external {}

    function a(uint256 n) external {
        emit A(n, n);
    }

    function b(uint256 n) external {
        emit B(n);
    }

    function aa(uint256 n, uint256 t) external {
        for (uint256 i; i < t; i++) emit A(n, n);
    }

    function ab() external {
        emit A(1, 1);
        emit B(1);
    }

    function ba() external {
        emit B(1);
        emit A(1, 1);
    }

    function aThenRevert(uint256 n) external {
        emit A(n, n);
        revert("after");
    }

    function inner(uint256 n) external {
        try this.aThenRevert(n) {} catch {}
    }

    function bad() external pure {
        revert("bad");
    }

    function view_() external view returns (uint256) {
        return x;
    }

    function expectInside() external {
        vm.expectEmit();
        emit A(5, 5);
    }

    function expectInsideRevert() external {
        vm.expectEmit();
        emit A(5, 5);
        revert("x");
    }

    function revertInside() external {
        vm.expectRevert();
    }

    function revertInsideRevert() external {
        vm.expectRevert();
        revert("own");
    }

    function callInside(address t) external {
        vm.expectCall(t, abi.encodeWithSignature("none()"));
    }

    function callInsideRevert(address t) external {
        vm.expectCall(t, abi.encodeWithSignature("none()"));
        revert("x");
    }

    function set(uint256 v) external {
        x = v;
    }

    function badSet(uint256 v) external {
        x = v;
        revert("bs");
    }

    function assertInside(bool c) external pure {
        vm.assertTrue(c);
    }

    receive() external payable {}
}

contract EmitHelper {
    event A(uint256 indexed n, uint256 d);

    function go(Other o, bool ok) external {
        vm.expectEmit();
        emit A(1, 1);
        if (ok) o.a(1);
        else o.none();
    }
}

contract EmitsInConstructor {
    event A(uint256 indexed n, uint256 d);

    constructor() {
        emit A(1, 1);
    }
}

contract RevertsInConstructor {
    constructor() {
        revert("c");
    }
}

contract SenderOf {
    address public who;

    constructor() {
        who = msg.sender;
    }
}

contract Emits {
    event A(uint256 indexed n, uint256 d);
    event B(uint256 n);
    Other o = new Other();
    Other p = new Other();

    function test_plain() public {
        vm.expectEmit();
        emit A(1, 1);
        o.a(1);
    }

    function test_not_missing() public {
        vm.expectEmit();
        emit A(1, 1);
        o.none();
    }

    function test_not_missing_caught() public {
        vm.expectEmit();
        emit A(1, 1);
        try o.none() {} catch {}
    }

    function test_missing_caught_then_found() public {
        vm.expectEmit();
        emit A(1, 1);
        try o.none() {} catch {}
        o.a(1);
    }

    function test_not_inside_no_call() public {
        o.expectInside();
    }

    function test_not_inside_no_call_caught() public {
        try o.expectInside() {} catch {}
    }

    function test_not_inside_revert_caught() public {
        try o.expectInsideRevert() {} catch {}
    }

    function test_reverted_emit_in_callee() public {
        vm.expectEmit();
        emit A(2, 2);
        o.inner(2);
    }

    function test_callee_reverts_after_emit_caught() public {
        vm.expectEmit();
        emit A(2, 2);
        try o.aThenRevert(2) {} catch {}
    }

    function test_not_callee_reverts_no_emit_caught() public {
        vm.expectEmit();
        emit A(2, 2);
        try o.bad() {} catch {}
    }

    function test_not_no_call() public {
        vm.expectEmit();
        emit A(2, 2);
    }

    function test_not_no_template() public {
        vm.expectEmit();
        o.a(1);
    }

    function test_not_no_template_no_event() public {
        vm.expectEmit();
        o.none();
    }

    function test_order_ab() public {
        vm.expectEmit();
        emit A(1, 1);
        vm.expectEmit();
        emit B(1);
        o.ab();
    }

    function test_not_order_ba() public {
        vm.expectEmit();
        emit A(1, 1);
        vm.expectEmit();
        emit B(1);
        o.ba();
    }

    function test_not_two_calls() public {
        vm.expectEmit();
        emit A(1, 1);
        vm.expectEmit();
        emit B(1);
        o.a(1);
        o.b(1);
    }

    function test_static_first() public {
        vm.expectEmit();
        emit A(1, 1);
        o.view_();
        o.a(1);
    }

    function test_count2_two() public {
        vm.expectEmit(2);
        emit A(1, 1);
        o.aa(1, 2);
    }

    function test_not_count2_one() public {
        vm.expectEmit(2);
        emit A(1, 1);
        o.aa(1, 1);
    }

    function test_count2_three() public {
        vm.expectEmit(2);
        emit A(1, 1);
        o.aa(1, 3);
    }

    function test_count1_two() public {
        vm.expectEmit();
        emit A(1, 1);
        o.aa(1, 2);
    }

    function test_count0_none() public {
        vm.expectEmit(0);
        emit A(1, 1);
        o.none();
    }

    function test_not_count0_one() public {
        vm.expectEmit(0);
        emit A(1, 1);
        o.a(1);
    }

    function test_count0_no_call() public {
        vm.expectEmit(0);
        emit A(1, 1);
    }

    function test_emitter_ok() public {
        vm.expectEmit(address(o));
        emit A(1, 1);
        o.a(1);
    }

    function test_not_emitter_wrong() public {
        vm.expectEmit(address(p));
        emit A(1, 1);
        o.a(1);
    }

    function test_not_count2_calls() public {
        vm.expectEmit(2);
        emit A(1, 1);
        o.a(1);
        o.a(1);
    }

    function test_nochecks() public {
        vm.expectEmit(false, false, false, false);
        emit A(1, 1);
        o.a(9);
    }

    function test_not_nochecks_other_event() public {
        vm.expectEmit(false, false, false, false);
        emit B(1);
        o.a(9);
    }

    function test_not_two_templates_after() public {
        vm.expectEmit();
        vm.expectEmit();
        emit A(1, 1);
        emit B(1);
        o.ab();
    }

    function test_not_same_twice_once() public {
        vm.expectEmit();
        emit A(1, 1);
        vm.expectEmit();
        emit A(1, 1);
        o.a(1);
    }

    function test_create() public {
        vm.expectEmit();
        emit A(1, 1);
        new EmitsInConstructor();
    }

    function test_self_emit() public {
        vm.expectEmit();
        emit A(1, 1);
        emit A(1, 1);
    }

    function test_self_emit_then_call() public {
        vm.expectEmit();
        emit A(1, 1);
        emit A(1, 1);
        o.none();
    }

    function test_found_then_bad_second() public {
        vm.expectEmit();
        emit A(1, 1);
        o.a(1);
        o.none();
    }

    function test_not_root_reverts() public {
        vm.expectEmit();
        emit A(1, 1);
        revert("r");
    }

    function test_not_missing_low_level() public {
        vm.expectEmit();
        emit A(1, 1);
        (bool k, ) = address(o).call(abi.encodeWithSignature("none()"));
        k;
    }

    function test_prank_between() public {
        vm.expectEmit();
        emit A(1, 1);
        vm.prank(address(1));
        o.a(1);
    }

    function test_emitter_count() public {
        vm.expectEmit(address(o), 2);
        emit A(1, 1);
        o.aa(1, 2);
    }

    function test_zero_between() public {
        vm.expectEmit(0);
        emit B(1);
        vm.expectEmit();
        emit A(1, 1);
        o.a(1);
    }

    function test_helper_expects_depth2() public {
        EmitHelper(address(new EmitHelper())).go(o, true);
    }

    function test_not_helper_expects_depth2_missing() public {
        EmitHelper(address(new EmitHelper())).go(o, false);
    }

    function test_not_helper_missing_caught() public {
        EmitHelper h = new EmitHelper();
        try h.go(o, false) {} catch {}
    }
}

contract Reverts {
    Other o = new Other();

    function test_plain() public {
        vm.expectRevert();
        o.bad();
    }

    function test_not_none() public {
        vm.expectRevert();
        o.none();
    }

    function test_none_caught() public {
        vm.expectRevert();
        try o.none() {} catch {}
    }

    function test_not_no_call() public {
        vm.expectRevert();
    }

    function test_not_inside_no_call() public {
        o.revertInside();
    }

    function test_inside_no_call_caught() public {
        try o.revertInside() {} catch {}
    }

    function test_not_inside_own_revert() public {
        o.revertInsideRevert();
    }

    function test_inside_own_revert_caught() public {
        try o.revertInsideRevert() {} catch {}
    }

    function test_not_root_own() public {
        vm.expectRevert();
        revert("me");
    }

    function test_count2() public {
        vm.expectRevert(2);
        o.bad();
        o.bad();
    }

    function test_not_count2_one() public {
        vm.expectRevert(2);
        o.bad();
    }

    function test_not_count2_second_ok() public {
        vm.expectRevert(2);
        o.bad();
        o.none();
    }

    function test_count0_ok() public {
        vm.expectRevert(uint64(0));
        o.none();
    }

    function test_not_count0_bad() public {
        vm.expectRevert(uint64(0));
        o.bad();
    }

    function test_count0_bad_caught() public {
        vm.expectRevert(uint64(0));
        try o.bad() {} catch {}
    }

    function test_not_second_expect() public {
        vm.expectRevert();
        vm.expectRevert();
        o.bad();
    }

    function test_not_wrong_selector() public {
        vm.expectRevert(bytes4(0x12345678));
        o.bad();
    }

    function test_wrong_selector_caught() public {
        vm.expectRevert(bytes4(0x12345678));
        try o.bad() {} catch {}
    }

    function test_not_expect_then_assert_cheat() public {
        vm.expectRevert();
        vm.assertTrue(false);
    }

    function test_prank_between() public {
        vm.expectRevert();
        vm.prank(address(1));
        o.bad();
    }

    function test_reverter_ok() public {
        vm.expectRevert(address(o));
        o.bad();
    }

    function test_not_reverter_wrong() public {
        vm.expectRevert(address(this));
        o.bad();
    }

    function test_not_view_first() public {
        vm.expectRevert();
        o.view_();
        o.bad();
    }

    function test_not_inner_caught_revert() public {
        vm.expectRevert();
        o.inner(1);
    }

    function test_value_to_eoa() public {
        vm.expectRevert();
        (bool k, ) = address(0x999).call("");
        k;
    }

    function test_lowlevel_status_true() public {
        vm.expectRevert();
        (bool k, ) = address(o).call(abi.encodeWithSignature("bad()"));
        require(k);
    }

    function test_assert_inside_caught() public {
        try o.assertInside(false) {} catch {}
    }

    function test_assert_caught() public {
        try vm.assertTrue(false) {} catch {}
    }

    function test_state_after_expected() public {
        vm.expectRevert();
        o.badSet(7);
        require(o.x() == 0);
    }

    function test_create() public {
        vm.expectRevert();
        new RevertsInConstructor();
    }

    function test_not_create_ok() public {
        vm.expectRevert();
        new EmitsInConstructor();
    }

    function test_count3_mixed_depth() public {
        vm.expectRevert(3);
        o.bad();
        o.bad();
        o.bad();
    }

    function test_expect_revert_of_assert_inside() public {
        vm.expectRevert();
        o.assertInside(false);
    }
}

contract Calls {
    Other o = new Other();
    Other p = new Other();
    bytes NONE = abi.encodeWithSignature("none()");

    function test_plain() public {
        vm.expectCall(address(o), NONE);
        o.none();
    }

    function test_not_unmet() public {
        vm.expectCall(address(o), NONE);
    }

    function test_not_inside_unmet() public {
        o.callInside(address(p));
    }

    function test_not_inside_unmet_caught() public {
        try o.callInside(address(p)) {} catch {}
    }

    function test_not_inside_revert_caught() public {
        try o.callInsideRevert(address(p)) {} catch {}
    }

    function test_count2_two() public {
        vm.expectCall(address(o), NONE, 2);
        o.none();
        o.none();
    }

    function test_not_count2_one() public {
        vm.expectCall(address(o), NONE, 2);
        o.none();
    }

    function test_not_count2_three() public {
        vm.expectCall(address(o), NONE, 2);
        o.none();
        o.none();
        o.none();
    }

    function test_count0() public {
        vm.expectCall(address(o), NONE, 0);
    }

    function test_not_count0_one() public {
        vm.expectCall(address(o), NONE, 0);
        o.none();
    }

    function test_not_twice_once() public {
        vm.expectCall(address(o), NONE);
        vm.expectCall(address(o), NONE);
        o.none();
    }

    function test_prefix() public {
        vm.expectCall(address(o), abi.encodeWithSignature("set(uint256)"));
        o.set(3);
    }

    function test_in_reverted_callee() public {
        vm.expectCall(address(o), abi.encodeWithSignature("bad()"));
        try o.bad() {} catch {}
    }

    function test_delegate() public {
        vm.expectCall(address(o), NONE);
        (bool k, ) = address(o).delegatecall(NONE);
        require(k);
    }

    function test_not_before() public {
        o.none();
        vm.expectCall(address(o), NONE);
    }

    function test_not_unmet_root_reverts() public {
        vm.expectCall(address(o), NONE);
        revert("r");
    }

    function test_value() public payable {
        vm.expectCall(address(o), 1, "");
        (bool k, ) = address(o).call{value: 1}("");
        require(k);
    }

    function test_not_value_wrong() public payable {
        vm.expectCall(address(o), 2, "");
        (bool k, ) = address(o).call{value: 1}("");
        require(k);
    }

    function test_mocked() public {
        vm.mockCall(address(o), NONE, "");
        vm.expectCall(address(o), NONE);
        o.none();
    }

    function test_not_count_then_plain() public {
        vm.expectCall(address(o), NONE, 1);
        vm.expectCall(address(o), NONE);
        o.none();
    }

    function test_emptydata() public {
        vm.expectCall(address(o), "");
        o.none();
    }
}

contract Mocks {
    Other o = new Other();

    function test_plain() public {
        vm.mockCall(address(o), abi.encodeWithSignature("view_()"), abi.encode(9));
        require(o.view_() == 9);
    }

    function test_clear() public {
        vm.mockCall(address(o), abi.encodeWithSignature("view_()"), abi.encode(9));
        vm.clearMockedCalls();
        require(o.view_() == 0);
    }

    function test_revert() public {
        vm.mockCallRevert(address(o), abi.encodeWithSignature("view_()"), "no");
        try o.view_() {
            revert("m");
        }  catch (bytes memory d) {
            require(keccak256(d) == keccak256("no"));
        }
    }

    function test_expect_revert_of_mock() public {
        vm.mockCallRevert(address(o), abi.encodeWithSignature("view_()"), "no");
        vm.expectRevert();
        o.view_();
    }

    function test_longest() public {
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(1));
        vm.mockCall(address(o), "", abi.encode(2));
        require(o.x() == 1 && o.view_() == 2);
    }

    function test_replace() public {
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(1));
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(2));
        require(o.x() == 2);
    }

    function test_revert_then_mock() public {
        vm.mockCallRevert(address(o), abi.encodeWithSignature("x()"), "no");
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(2));
        require(o.x() == 2);
    }

    function test_value_transfer() public payable {
        vm.mockCall(address(o), "", "");
        uint256 b = address(o).balance;
        (bool k, ) = address(o).call{value: 5}("");
        require(k && address(o).balance == b + 5, "moved");
    }

    function test_snapshot_keeps_mock() public {
        uint256 s = vm.snapshotState();
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(1));
        vm.revertToState(s);
        require(o.x() == 1, "kept");
    }

    function test_snapshot_state() public {
        uint256 s = vm.snapshotState();
        o.set(4);
        require(vm.revertToState(s));
        require(o.x() == 0);
    }

    function test_not_snapshot_failed_assert() public {
        uint256 s = vm.snapshotState();
        vm.store(address(vm), "failed", bytes32(uint256(1)));
        vm.revertToState(s);
    }

    function test_prank_mock() public {
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(1));
        vm.prank(address(5));
        o.x();
        SenderOf s = new SenderOf();
        require(s.who() == address(this));
    }

    function test_mock_selfcall() public {
        vm.mockCall(address(this), abi.encodeWithSignature("foo()"), abi.encode(8));
        require(this.foo() == 8);
    }

    function foo() external pure returns (uint256) {
        return 1;
    }

    function test_invalid_snapshot() public {
        require(!vm.revertToState(99));
    }
}

contract StoredFailures {
    Other o = new Other();
    bytes32 constant F = "failed";

    function test_not_slot() public {
        vm.store(address(vm), F, bytes32(uint256(1)));
    }

    function test_slot_cleared() public {
        vm.store(address(vm), F, bytes32(uint256(1)));
        vm.store(address(vm), F, 0);
    }

    function setr() external {
        vm.store(address(vm), F, bytes32(uint256(1)));
        revert("x");
    }

    function sets() external {
        vm.store(address(vm), F, bytes32(uint256(1)));
    }

    function test_slot_reverted() public {
        try this.setr() {} catch {}
    }

    function test_not_slot_nested() public {
        this.sets();
    }
}

contract FailedSetUp {
    function setUp() public {
        vm.store(address(vm), "failed", bytes32(uint256(1)));
    }

    function test_x() public {}

    function invariant_x() public {}

    function table_x(uint256 a) public {}
}

contract FailedConstructor {
    constructor() {
        vm.store(address(vm), "failed", bytes32(uint256(1)));
    }

    function test_x() public {}
}

contract FailedConstructorAndSetUp {
    constructor() {
        vm.store(address(vm), "failed", bytes32(uint256(1)));
    }

    function setUp() public {}

    function test_x() public {}
}

contract FailedExpectedCall {
    Other o;

    function setUp() public {
        o = new Other();
        vm.expectCall(address(o), "");
    }

    function test_x() public {
        o.none();
    }
}

contract FailedExpectedRevert {
    Other o;

    function setUp() public {
        o = new Other();
        vm.expectRevert();
    }

    function test_x() public {
        o.bad();
    }
}

contract PrankSetUp {
    Other o;

    function setUp() public {
        o = new Other();
        vm.startPrank(address(7));
    }

    function test_x() public {
        SenderOf s = new SenderOf();
        require(s.who() == address(7));
    }
}

contract MockSetUp {
    Other o;

    function setUp() public {
        o = new Other();
        vm.mockCall(address(o), abi.encodeWithSignature("x()"), abi.encode(1));
    }

    function test_x() public {
        require(o.x() == 1);
    }
}

contract Callers {
    address public s;
    address public o;

    function w() external {
        s = msg.sender;
        o = tx.origin;
    }
}

contract PrankHelper {
    function go() external {
        vm.prank(address(5));
    }
}

contract Nested {
    function go(Callers w) external {
        w.w();
    }
}

contract Created {
    address public c;

    constructor() {
        c = msg.sender;
    }
}

contract Pranks {
    Callers w = new Callers();

    function test_hoax() public {
        vm.deal(address(5), 1 << 128);
        vm.prank(address(5));
        w.w();
        require(w.s() == address(5));
        w.w();
        require(w.s() == address(this));
    }

    function test_origin() public {
        vm.prank(address(5), address(6));
        w.w();
        require(w.s() == address(5) && w.o() == address(6));
        w.w();
        require(w.o() != address(6));
    }

    function test_start() public {
        vm.startPrank(address(5));
        w.w();
        w.w();
        require(w.s() == address(5));
        vm.stopPrank();
        w.w();
        require(w.s() == address(this));
    }

    function test_not_double() public {
        vm.startPrank(address(5));
        vm.startPrank(address(6));
    }

    function test_double_used() public {
        vm.startPrank(address(5));
        w.w();
        vm.startPrank(address(6));
        w.w();
        require(w.s() == address(6));
    }

    function test_not_prank_then_prank() public {
        vm.prank(address(5));
        vm.prank(address(6));
    }

    function test_not_prank_in_start() public {
        vm.startPrank(address(5));
        w.w();
        vm.prank(address(6));
    }

    function test_static_uses() public {
        vm.prank(address(5));
        w.s();
        w.w();
        require(w.s() == address(this));
    }

    function test_create() public {
        vm.prank(address(5));
        Created d = new Created();
        require(d.c() == address(5));
    }

    function test_nested() public {
        vm.startPrank(address(5));
        Nested n = new Nested();
        n.go(w);
        require(w.s() == address(n));
    }

    function test_stop_without() public {
        vm.stopPrank();
    }

    function test_not_balance() public {
        vm.deal(address(5), 3);
        vm.prank(address(5));
        (bool k, ) = address(9).call{value: 2}("");
        require(k && address(5).balance == 1);
    }

    function test_delegate() public {
        vm.prank(address(5));
        (bool k, ) = address(w).delegatecall(abi.encodeWithSignature("w()"));
        k;
    }

    function test_unused_prank_leftover() public {
        vm.prank(address(5));
    }

    function test_prank_helper() public {
        PrankHelper p = new PrankHelper();
        p.go();
        w.w();
        require(w.s() == address(this));
    }
}

contract TableAssume {
    uint256[] public fixtureN = [1, 2, 3];

    function tableT(uint256 n) public {
        vm.assume(n != 2);
    }
}

contract TableFail {
    uint256[] public fixtureN = [1, 2, 3];

    function tableT(uint256 n) public {
        require(n != 3);
    }
}

contract TableBig {
    function fixtureN() public pure returns (uint256[] memory r) {
        r = new uint256[](3000);
        for (uint256 i; i < 3000; i++) r[i] = i;
    }

    function tableT(uint256 n) public {
        require(n != 2999);
    }
}

contract TableUneven {
    uint256[] public fixtureA = [1, 2, 3];
    uint256[] public fixtureB = [1];

    function tableT(uint256 a, uint256 b) public {}
}

contract TableNone {
    function tableT(uint256 a) public {}
}

contract TableState {
    uint256 public s;
    uint256[] public fixtureN = [1, 2, 3];

    function tableT(uint256 n) public {
        require(s == 0);
        s = n;
    }
}

contract Counter {
    uint256 public n;
    bool public off;
    event A();

    function inc() public {
        n++;
    }
}

contract HFail {
    uint256 public n;

    function inc() public {
        n++;
        vm.store(address(vm), "failed", bytes32(uint256(1)));
    }
}

contract HCaught {
    uint256 public n;

    function inc() public {
        n++;
        try vm.assertTrue(false) {} catch {}
    }
}

contract HCaughtRevert {
    uint256 public n;

    function inc() public {
        n++;
        try vm.assertTrue(false) {} catch {}
        revert("other");
    }
}

contract HAssertNested {
    uint256 public n;

    function a() external pure {
        assert(false);
    }

    function inc() public {
        n++;
        try this.a() {} catch {}
    }
}

contract HPanicRevert {
    uint256 public n;

    function a() external pure {
        assert(false);
    }

    function inc() public {
        this.a();
    }
}

contract HEmit {
    event A();

    function none() external {}

    function inc() public {
        vm.expectEmit();
        emit A();
        try this.none() {} catch {}
    }
}

contract HCall {
    function none() external {}

    function inc() public {
        vm.expectCall(address(this), abi.encodeWithSignature("none()"));
    }
}

contract HExpectRevert {
    function none() external {}

    function inc() public {
        vm.expectRevert();
        this.none();
    }
}

contract CountsToTwenty {
    Counter h;

    function setUp() public {
        h = new Counter();
    }

    function invariant_x() public {}

    function afterInvariant() public {
        require(h.n() < 20, "n");
    }
}

contract ReportsStored {
    HFail h;

    function setUp() public {
        h = new HFail();
    }

    function invariant_x() public {}
}

contract Caught {
    HCaught h;

    function setUp() public {
        h = new HCaught();
    }

    function invariant_x() public {}
}

contract CaughtThenReverts {
    HCaughtRevert h;

    function setUp() public {
        h = new HCaughtRevert();
    }

    function invariant_x() public {}
}

contract CaughtPanic {
    HAssertNested h;

    function setUp() public {
        h = new HAssertNested();
    }

    function invariant_x() public {}
}

contract ReportsPanic {
    HPanicRevert h;

    function setUp() public {
        h = new HPanicRevert();
    }

    function invariant_x() public {}
}

contract MissesEmit {
    HEmit h;

    function setUp() public {
        h = new HEmit();
    }

    function invariant_x() public {}
}

contract MissesCall {
    HCall h;

    function setUp() public {
        h = new HCall();
    }

    function invariant_x() public {}
}

contract MissesRevert {
    HExpectRevert h;

    function setUp() public {
        h = new HExpectRevert();
    }

    function invariant_x() public {}
}

contract BreaksByStored {
    Counter h;

    function setUp() public {
        h = new Counter();
    }

    function invariant_x() public {
        if (h.n() > 2) vm.store(address(vm), "failed", bytes32(uint256(1)));
    }
}

contract ExpectsRevert {
    Counter h;

    function bad() external pure {
        revert();
    }

    function setUp() public {
        h = new Counter();
    }

    function invariant_x() public {
        vm.expectRevert();
        this.bad();
    }
}

contract HMsg {
    uint256 public n;

    function f() external {
        n++;
        vm.assertTrue(false, "boom");
    }
}

contract HReq {
    uint256 public n;

    function f() external {
        n++;
        require(false, "assertion failed");
    }
}

contract HReq2 {
    uint256 public n;

    function f() external {
        n++;
        require(false, "x assertion failed y");
    }
}

contract HBubble {
    function a() external pure {
        vm.assertEq(1, 2);
    }
    uint256 public n;

    function f() external {
        n++;
        this.a();
    }
}

contract HWrap {
    error W(bytes);

    function a() external pure {
        vm.assertEq(1, 2);
    }
    uint256 public n;

    function f() external {
        n++;
        try this.a() {} catch (bytes memory d) {
            revert W(d);
        }
    }
}

contract FailsWithMessage {
    HMsg h;

    function setUp() public {
        h = new HMsg();
    }

    function invariant_x() public {}
}

contract ReportsText {
    HReq h;

    function setUp() public {
        h = new HReq();
    }

    function invariant_x() public {}
}

contract ReportsInnerText {
    HReq2 h;

    function setUp() public {
        h = new HReq2();
    }

    function invariant_x() public {}
}

contract ReportsBubbled {
    HBubble h;

    function setUp() public {
        h = new HBubble();
    }

    function invariant_x() public {}
}

contract Wraps {
    HWrap h;

    function setUp() public {
        h = new HWrap();
    }

    function invariant_x() public {}
}

contract Snapshots {
    uint256 x;

    function test_twice() public {
        uint256 s = vm.snapshotState();
        x = 1;
        require(vm.revertToState(s));
        require(x == 0);
        x = 2;
        require(vm.revertToState(s));
        require(x == 0);
    }

    function test_delete() public {
        uint256 s = vm.snapshotState();
        require(vm.revertToStateAndDelete(s));
        require(!vm.revertToState(s));
    }

    function test_block() public {
        uint256 b = block.timestamp;
        uint256 s = vm.snapshotState();
        vm.warp(99999);
        vm.roll(7);
        require(vm.revertToState(s));
        require(block.timestamp == b);
    }

    function test_nonce() public {
        uint64 n = vm.getNonce(address(this));
        uint256 s = vm.snapshotState();
        new Empty();
        require(vm.revertToState(s));
        require(vm.getNonce(address(this)) == n);
    }

    function test_delete_unknown() public {
        require(!vm.deleteStateSnapshot(77));
    }

    function test_chainid() public {
        uint256 c = block.chainid;
        uint256 s = vm.snapshotState();
        vm.chainId(77);
        require(vm.revertToState(s));
        require(block.chainid == c);
    }

    function test_created() public {
        uint256 s = vm.snapshotState();
        Empty e = new Empty();
        require(vm.revertToState(s));
        require(address(e).code.length == 0);
    }

    function test_inner() public {
        uint256 s = this.snap();
        x = 5;
        require(vm.revertToState(s));
        require(x == 0);
    }

    function snap() external returns (uint256) {
        return vm.snapshotState();
    }

    function back(uint256 s) external {
        vm.revertToState(s);
    }

    function test_inner_revert() public {
        uint256 s = vm.snapshotState();
        x = 5;
        this.back(s);
        require(x == 0);
    }

    function test_balance() public {
        uint256 s = vm.snapshotState();
        vm.deal(address(9), 5);
        require(vm.revertToState(s));
        require(address(9).balance == 0);
    }

    function test_id_zero() public {
        require(vm.snapshotState() == 0);
        require(vm.snapshotState() == 1);
    }
}

contract Empty {}
