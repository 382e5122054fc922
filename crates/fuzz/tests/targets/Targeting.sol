// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

// mode: foundry

/// What forge-std's StdInvariant offers to test contracts.
abstract contract Targets {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    struct FuzzArtifactSelector {
        string artifact;
        bytes4[] selectors;
    }

    struct FuzzInterface {
        address addr;
        string[] artifacts;
    }

    address[] internal chosenContracts;
    address[] internal excludedContracts;
    address[] internal chosenSenders;
    address[] internal excludedSenders;
    FuzzSelector[] internal chosenSelectors;
    FuzzSelector[] internal excludedSelectors;
    string[] internal chosenArtifacts;
    string[] internal excludedArtifacts;
    FuzzArtifactSelector[] internal chosenArtifactSelectors;
    FuzzInterface[] internal chosenInterfaces;

    function targetContracts() public view virtual returns (address[] memory) {
        return chosenContracts;
    }

    function excludeContracts() public view returns (address[] memory) {
        return excludedContracts;
    }

    function targetSenders() public view returns (address[] memory) {
        return chosenSenders;
    }

    function excludeSenders() public view returns (address[] memory) {
        return excludedSenders;
    }

    function targetSelectors() public view returns (FuzzSelector[] memory) {
        return chosenSelectors;
    }

    function excludeSelectors() public view returns (FuzzSelector[] memory) {
        return excludedSelectors;
    }

    function targetArtifacts() public view returns (string[] memory) {
        return chosenArtifacts;
    }

    function excludeArtifacts() public view returns (string[] memory) {
        return excludedArtifacts;
    }

    function targetArtifactSelectors() public view returns (FuzzArtifactSelector[] memory) {
        return chosenArtifactSelectors;
    }

    function targetInterfaces() public view returns (FuzzInterface[] memory) {
        return chosenInterfaces;
    }

    function one(bytes4 selector) internal pure returns (bytes4[] memory selectors) {
        selectors = new bytes4[](1);
        selectors[0] = selector;
    }
}

contract Lever {
    uint256 public pulls;
    uint256 public pushes;
    address public last;

    function pull() external {
        pulls += 1;
        last = msg.sender;
    }

    function push() external {
        pushes += 1;
        last = msg.sender;
    }
}

contract Knob {
    uint256 public turns;

    function turn(uint256 by) external {
        turns += by % 8;
    }
}

interface Turning {
    function turn(uint256 by) external;
}

/// Delegates every call, so that its own ABI says nothing.
contract Proxy {
    address private immutable CODE;

    constructor(address code) {
        CODE = code;
    }

    fallback() external payable {
        (bool ok, bytes memory data) = CODE.delegatecall(msg.data);
        if (!ok) revert();
        assembly {
            return(add(data, 32), mload(data))
        }
    }
}

/// All state that the invariants read. Each contract below chooses other targets.
abstract contract Machine is Targets {
    Lever internal lever;
    Knob internal knob;

    function setUp() public virtual {
        lever = new Lever();
        knob = new Knob();
        choose();
    }

    function choose() internal virtual;

    function resetEverything() external {
        lever = new Lever();
        knob = new Knob();
    }

    /// fails in 1
    function invariant_not_pulled() external view {
        require(lever.pulls() == 0, "pulled");
    }

    /// fails in 1
    function invariant_not_pushed() external view {
        require(lever.pushes() == 0, "pushed");
    }

    /// holds
    function statefulFuzz_not_turned() external view {
        require(knob.turns() == 0, "turned");
    }
}

contract Targeting is Machine {
    function choose() internal override {
        chosenContracts.push(address(lever));
    }

    /// fails in 3
    function invariant_few_pulls() external view {
        require(lever.pulls() < 3, "many pulls");
    }

    /// fails in 2: push(); push()
    function statefulFuzz_few_pushes() external view {
        require(lever.pushes() < 2, "many pushes");
    }
}

/// Chooses its targets by the argument of its constructor.
contract Chooses is Machine {
    bytes32 private immutable CHOICE;
    uint256 public count;

    constructor(string memory choice) {
        CHOICE = keccak256(bytes(choice));
    }

    function chose(string memory choice) private view returns (bool) {
        return CHOICE == keccak256(bytes(choice));
    }

    function choose() internal override {
        address at = address(lever);
        if (chose("excludeContract")) {
            excludedContracts.push(address(knob));
        } else if (chose("targetContract and targetSelector")) {
            chosenContracts.push(at);
            chosenSelectors.push(FuzzSelector(at, one(Lever.pull.selector)));
        } else if (chose("targetSelector")) {
            chosenSelectors.push(FuzzSelector(at, one(Lever.push.selector)));
        } else if (chose("excludeSelector")) {
            excludedSelectors.push(FuzzSelector(at, one(Lever.pull.selector)));
        } else if (chose("targetSelector that is missing")) {
            chosenSelectors.push(FuzzSelector(at, one(0xdeadbeef)));
        } else if (chose("targetSelector of no contract")) {
            chosenSelectors.push(FuzzSelector(address(0x1234), one(Lever.pull.selector)));
        } else if (chose("targetArtifact")) {
            chosenArtifacts.push("Knob");
        } else if (chose("excludeArtifact")) {
            excludedArtifacts.push("Targeting.sol:Knob");
        } else if (chose("targetArtifactSelector")) {
            chosenArtifactSelectors.push(FuzzArtifactSelector("Lever", one(Lever.push.selector)));
        } else if (chose("targetArtifact that is missing")) {
            chosenArtifacts.push("Crank");
        } else if (chose("targetInterface")) {
            knob = Knob(address(new Proxy(address(knob))));
            string[] memory names = new string[](1);
            names[0] = "Turning";
            chosenInterfaces.push(FuzzInterface(address(knob), names));
            excludedContracts.push(at);
        } else if (chose("targetContract of the test contract")) {
            chosenContracts.push(address(this));
        } else if (chose("targetSender")) {
            chosenContracts.push(at);
            chosenSenders.push(address(0xA11CE));
            chosenSenders.push(address(0xB0B));
            excludedSenders.push(address(0xB0B));
        } else if (chose("excludeSender")) {
            chosenContracts.push(at);
            excludedSenders.push(address(0x10000));
            excludedSenders.push(address(this));
        }
    }

    function increase() external {
        count += 1;
    }

    function invariant_not_increased() external view {
        require(count == 0, "increased");
    }

    function invariant_only_alice() external view {
        require(lever.last() == address(0) || lever.last() == address(0xA11CE), "somebody else");
    }

    function invariant_not_by_excluded() external view {
        require(lever.last() != address(0x10000) && lever.last() != address(this), "excluded");
    }

    /// Lists that are larger than anything that a project needs, and data that is no list.
    function targetContracts() public view override returns (address[] memory) {
        if (chose("huge list")) return new address[](100_000);
        if (chose("long list")) return new address[](5_000);
        if (chose("revert")) revert("not today");
        if (chose("endless loop")) while (true) {}
        if (chose("garbage")) {
            assembly {
                mstore(0, 32)
                mstore(32, not(0))
                return(0, 64)
            }
        }
        return chosenContracts;
    }
}

contract NothingToCall {
    function setUp() public {}

    function invariant_holds() external view {}
}

contract TakesArguments {
    function invariant_of(uint256) external view {}
}

contract RevertsInSetUp {
    function setUp() public pure {
        revert("not today");
    }

    function invariant_holds() external view {}
}

/// A handler whose assertion fails.
contract Fragile {
    uint256 public uses;

    function use(uint256 by) external {
        uses += 1;
        require(by != 0, "nothing");
        assert(uses < 3);
    }
}

contract FindsHandlerAssertion {
    Fragile private fragile;

    function setUp() public {
        fragile = new Fragile();
    }

    function invariant_holds() external view {
        require(fragile.uses() < 4, "impossible");
    }
}

contract ChecksAfterwards {
    Fragile private fragile;

    function setUp() public {
        fragile = new Fragile();
    }

    function invariant_holds() external view {}

    /// Would fail after any sequence that is not of full length.
    function afterInvariant() external view {
        require(fragile.uses() == 2, "not used up");
    }
}

contract FailsAfterwards {
    Knob private knob;

    function setUp() public {
        knob = new Knob();
    }

    /// forge-config: default.invariant.depth = 5
    function invariant_holds() external view {}

    function afterInvariant() external view {
        require(knob.turns() > 5 * 7, "cannot be reached");
    }
}

contract FailsOnRevert {
    Fragile private fragile;

    function setUp() public {
        fragile = new Fragile();
    }

    /// forge-config: default.invariant.fail-on-revert = true
    function invariant_strict() external view {}

    function invariant_lenient() external view {}
}

contract Maximizes {
    Knob private knob;

    function setUp() public {
        knob = new Knob();
    }

    /// forge-config: default.invariant.depth = 2
    function invariant_turns() external view returns (int256) {
        return int256(knob.turns());
    }
}
