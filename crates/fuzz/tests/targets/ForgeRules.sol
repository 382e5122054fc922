// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: foundry

interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function startPrank(address) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function startBroadcast() external;
    function stopBroadcast() external;
    function setEnv(string calldata, string calldata) external;
    function envUint(string calldata) external view returns (uint256);
    function envOr(string calldata, uint256) external view returns (uint256);
    function readFile(string calldata) external view returns (string memory);
    function parseJsonUint(string calldata, string calldata) external pure returns (uint256);
    function parseJson(string calldata, string calldata) external pure returns (bytes memory);
    function assertEqDecimal(int256, int256, uint256) external pure;
    function expectCall(address, uint256, uint64, bytes calldata) external;
}

contract Owned {
    address public owner = msg.sender;
    address public origin = tx.origin;
    uint256 public number;

    function set(uint256 wanted) external {
        require(msg.sender == owner, "not the owner");
        number = wanted;
    }
}

/// What forge keeps from setUp(), and what it does not vary.
contract ForgeRules {
    Vm private constant VM = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    address private constant ALICE = address(0xA11CE);
    address private constant SENDER = 0x1804c8AB1F12E6bbf3894d4083f33e07309d1f38;

    Owned private owned;

    event Happened(uint256 number);

    function setUp() public {
        VM.startPrank(ALICE);
        owned = new Owned();
        VM.recordLogs();
        emit Happened(1);
    }

    /// holds
    function test_prank_goes_on() external {
        owned.set(3);
    }

    /// holds
    function testFuzz_prank_goes_on(uint256 wanted) external {
        owned.set(wanted);
    }

    /// holds
    function test_recording_goes_on() external {
        emit Happened(2);
        Vm.Log[] memory logs = VM.getRecordedLogs();
        require(logs.length == 2 && abi.decode(logs[0].data, (uint256)) == 1);
        require(VM.getRecordedLogs().length == 0);
    }

    /// holds
    function test_has_one_sender() external view {
        require(msg.sender == SENDER && tx.origin == SENDER && block.timestamp == 1);
        require(block.gaslimit == 1 << 30 && block.chainid == 31337);
    }

    /// holds
    function testFuzz_has_one_sender(uint256) external payable {
        require(msg.sender == SENDER && tx.origin == SENDER && block.timestamp == 1);
        require(msg.value == 0);
    }

    /// fails in 1
    function testFuzz_finds_a_constant(uint256 number) external pure {
        require(number != 12_345_678_901_234_567_890);
    }

    /// fails in 1
    function test_reports_another_owner() external view {
        require(owned.owner() != ALICE);
    }
}

/// Cheat codes that scripts and tests of configurations use.
contract UsesMachine {
    Vm private constant VM = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    function test_reads_what_it_set() external {
        VM.setEnv("SET_HERE", "7");
        require(VM.envUint("SET_HERE") == 7 && VM.envOr("SET_HERE", 8) == 7);
    }

    function test_reads_variable() external view {
        require(VM.envUint("FROM_OUTSIDE") == 5);
    }

    function test_reads_default() external view {
        require(VM.envOr("MISSING", 9) == 9);
    }

    function test_reads_file() external view {
        string memory text = VM.readFile("data/number.json");
        require(VM.parseJsonUint(text, ".inner[1].number") == 11);
    }

    function test_reads_forbidden_file() external view {
        VM.readFile("secret.txt");
    }

    function test_parses_json() external pure {
        bytes memory data = VM.parseJson('{"b": "0x00000000000000000000000000000000000a11ce", "a": 3}', "$");
        (uint256 number, address account) = abi.decode(data, (uint256, address));
        require(number == 3 && account == address(0xA11CE));
        require(VM.parseJsonUint('{"x y": ["0x10"]}', "$['x y'][0]") == 16);
    }

    function test_broadcasts_as_sender() external {
        VM.startBroadcast();
        Owned owned = new Owned();
        VM.stopBroadcast();
        require(owned.owner() == msg.sender && owned.origin() == msg.sender);
    }

    function test_compares_decimals() external pure {
        VM.assertEqDecimal(int256(-5), int256(-5), 18);
    }

    function test_expects_gas() external {
        Owned owned = new Owned();
        VM.expectCall(address(owned), 0, 50_000, abi.encodeCall(Owned.set, (1)));
        owned.set{gas: 50_000}(1);
    }
}

contract Child {
    Parent private parent;

    constructor() {
        parent = Parent(msg.sender);
    }

    function betray() external {
        parent.kiss();
    }
}

contract Parent {
    address private child;
    bool public isBetrayed;

    function create() external {
        child = address(new Child());
    }

    function kiss() external {
        require(msg.sender == child);
        isBetrayed = true;
    }
}

/// Only the contract that a call creates can break the invariant.
contract CreatesTargets {
    Parent internal parent;

    function setUp() public {
        parent = new Parent();
    }

    function invariant_not_betrayed() external view {
        require(!parent.isBetrayed());
    }
}

/// The test contract names the contracts to call, so that created ones are not called.
contract NamesTargets is CreatesTargets {
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(parent);
    }
}

contract Till {
    uint256 public received;

    function pay() external payable {
        received += msg.value;
    }

    receive() external payable {
        received += 1;
    }
}

contract SendsNoValue {
    Till private till;

    function setUp() public {
        till = new Till();
    }

    function invariant_nothing_received() external view {
        require(till.received() == 0);
    }
}

contract Steps {
    uint256 public count;

    function step() external {
        count += 1;
    }
}

/// Each invariant has its own length of sequences.
contract HasDepths {
    Steps private steps;

    function setUp() public {
        steps = new Steps();
    }

    /// forge-config: default.invariant.depth = 3
    function invariant_short() external view {
        require(steps.count() < 4);
    }

    /// forge-config: default.invariant.depth = 10
    function invariant_long() external view {
        require(steps.count() < 10);
    }
}

/// Every few calls, a fee is taken, which the books leave out. Branches draw the fuzzer to short sequences.
contract Fees {
    uint256 public count;
    uint256 public taken;
    uint256 private seen;

    function deposit(uint256 amount) external {
        count += 1;
        if (count % 12 == 0) taken += 1;
        look(amount);
    }

    function withdraw(uint256 amount) external {
        look(amount);
    }

    function look(uint256 amount) private {
        if (amount == 77) seen += 1;
        if (amount > 1e18) seen += 2;
        if (amount % 7 == 3) seen += 4;
        if (amount % 1000 == 1 && amount > 5000) seen += 8;
    }
}

/// Breaks after many calls, none of which reaches new code.
contract NeedsLongSequences {
    Fees private fees;

    function setUp() public {
        fees = new Fees();
    }

    /// forge-config: default.invariant.runs = 16
    /// forge-config: default.invariant.depth = 32
    function invariant_no_fees() external view {
        require(fees.taken() == 0);
    }
}
