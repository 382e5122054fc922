//! Tests of sequences formatted for people.
//!
//! Foundry has to confirm that the test snapshots compile and fail; they import `reproducer/Samples.sol`.

use alloy_primitives::{Address, I256, U256, address, hex};
use fuzz::abi::{AbiType, AbiValue};
use fuzz::call::{CallDelay, CallPayload, SequenceCall};
use fuzz::reproducer::foundry::{
    self, DeploymentCode, FoundryTestError, FoundryTestFile, ReproducedFinding, ReproducerScene,
    SceneDeployment, SceneFork,
};
use fuzz::reproducer::solidity;
use fuzz::target::{FunctionId, FuzzTarget, TargetFunction, TargetTest, TestKind};

use crate::targets::{self, MAIN, SENDER};

const DEPLOYER: Address = address!("0x0000000000000000000000000000000000030000");
const CHILD: Address = address!("0x00000000000000000000000000000000000000aa");

/// Returns the functions of `reproducer/Samples.sol`, which checks that a replay is faithful.
fn samples() -> FuzzTarget {
    targets::target(&[
        "function put(uint256)",
        "function pay() payable",
        "function note(string,(uint256,bytes)[],int8)",
        "function check(uint256)",
        "function log(uint256)",
        "function add(uint256)",
        "function kill()",
        "function test_unit(uint256)",
        "function echidna_small() returns (bool)",
        "function echidna_revert_small()",
        "function invariant_small()",
        "function echidna_opt_x() returns (int256)",
    ])
}

fn sample_scene() -> ReproducerScene {
    let code =
        DeploymentCode::Source { import: "../src/Samples.sol".into(), name: "Samples".into() };
    let arguments = [[0; 32], U256::from_be_slice(DEPLOYER.as_slice()).to_be_bytes()].concat();
    ReproducerScene {
        deployments: vec![SceneDeployment { code, address: MAIN, arguments, value: U256::from(5) }],
        deployer: DEPLOYER,
        senders: vec![SENDER, DEPLOYER],
        sender_balance: U256::from(0xffff_ffff_u64),
        property_sender: SENDER,
        call_gas: 12_500_000,
        property_gas: 12_500_000,
        timestamp: 1_524_785_992,
        block: 4_370_000,
        chain_id: 1,
        target_balance: U256::ZERO,
        set_up: None,
        fork: SceneFork::None,
    }
}

fn id(target: &FuzzTarget, name: &str) -> FunctionId {
    let index = target.functions.iter().position(|function| function.name == name).unwrap();
    FunctionId(index as u32)
}

fn call(target: &FuzzTarget, name: &str, args: Vec<AbiValue>) -> SequenceCall {
    call_by(CallPayload::Function { function: id(target, name), args })
}

fn call_by(what: CallPayload) -> SequenceCall {
    SequenceCall {
        payload: what,
        from: SENDER,
        to: MAIN,
        value: U256::ZERO,
        gas_price: 0,
        delay: CallDelay::default(),
    }
}

fn number(number: u64) -> Vec<AbiValue> {
    vec![AbiValue::Word(U256::from(number))]
}

/// Returns calls of all kinds; some of them revert.
fn steps(target: &FuzzTarget) -> Vec<SequenceCall> {
    let pair =
        AbiValue::List(vec![AbiValue::Word(U256::from(7)), AbiValue::Bytes(vec![0xde, 0xad])]);
    let text = AbiValue::Bytes(b"a\0\"\n*/ \xff".to_vec());
    let minus = AbiValue::Word(U256::MAX);
    vec![
        call(target, "put", number(3)),
        SequenceCall { value: U256::from(9), gas_price: 3, ..call(target, "pay", vec![]) },
        SequenceCall {
            delay: CallDelay { seconds: 604_800, blocks: 1 },
            ..call(target, "note", vec![text, AbiValue::List(vec![pair]), minus])
        },
        SequenceCall {
            delay: CallDelay { seconds: 10, blocks: 2 },
            ..call_by(CallPayload::WaitOnly)
        },
        SequenceCall { from: DEPLOYER, value: U256::ONE, ..call_by(CallPayload::Data(Vec::new())) },
        call_by(CallPayload::Data(hex!("deadbeef").to_vec())),
    ]
}

#[test]
fn formats_a_sequence_as_lines() {
    let target = samples();
    insta::assert_snapshot!(solidity::format_sequence(&steps(&target), &target).join("\n"));
}

#[test]
fn names_the_contract_if_there_are_several() {
    let mut target = samples();
    let other = TargetFunction { contract: 1, address: CHILD, ..target.functions[0].clone() };
    target.functions.push(other);
    let target = targets::build_target(vec![("Samples", MAIN), ("Child", CHILD)], target.functions);
    let last = FunctionId(target.functions.len() as u32 - 1);
    let what = CallPayload::Function { function: last, args: number(1) };
    let calls = [
        SequenceCall { to: CHILD, ..call_by(what) },
        call_by(CallPayload::Data(vec![1])),
        SequenceCall { to: SENDER, ..call_by(CallPayload::Data(vec![])) },
    ];
    insta::assert_snapshot!(solidity::format_sequence(&calls, &target).join("\n"), @r"
    Child.add(1)  from: 0x0000000000000000000000000000000000010000
    Samples.*fallback*(0x01)  from: 0x0000000000000000000000000000000000010000
    0x0000000000000000000000000000000000010000.*fallback*()  from: 0x0000000000000000000000000000000000010000
    ");
}

/// Returns the Foundry test for a failure after the steps and these calls.
fn replay(
    target: &FuzzTarget,
    name: &str,
    kind: TestKind,
    calls: Vec<SequenceCall>,
) -> FoundryTestFile {
    let test =
        TargetTest { name: name.to_owned(), contract: "Samples".to_owned(), kind, not_run: None };
    let calls: Vec<SequenceCall> = steps(target).into_iter().chain(calls).collect();
    let best = Some(I256::try_from(12).unwrap());
    let finding = ReproducedFinding { test: &test, calls: &calls, best };
    foundry::write_foundry_test(&sample_scene(), target, &finding).unwrap()
}

/// Defines a snapshot test for each kind of failure.
macro_rules! replays {
    ($($case:ident: $name:literal, $function:literal, $kind:expr, $last:expr;)*) => {$(
        #[test]
        fn $case() {
            let target = samples();
            let kind: fn(FunctionId) -> TestKind = $kind;
            let last: &[(&str, Vec<AbiValue>)] = &$last;
            let last = last.iter().map(|(name, args)| call(&target, name, args.clone())).collect();
            let file = replay(&target, $name, kind(id(&target, $function)), last);
            assert_eq!(file.file_name, format!("{}.t.sol", file.contract));
            insta::assert_snapshot!(file.text);
        }
    )*};
}

replays! {
    replays_violated_property:
        "echidna_small", "echidna_small",
        |function| TestKind::Property { function }, [("put", number(12))];
    replays_missing_revert:
        "echidna_revert_small", "echidna_revert_small",
        |function| TestKind::MustRevert { function }, [("put", number(12))];
    replays_reverting_invariant:
        "invariant_small", "invariant_small",
        |function| TestKind::Invariant { function }, [("put", number(12))];
    replays_reached_maximum:
        "echidna_opt_x", "echidna_opt_x",
        |function| TestKind::Maximum { function }, [("put", number(12))];
    replays_failed_assertion:
        "check(uint256)", "check",
        |function| TestKind::Assertion { function }, [("put", number(12)), ("check", number(12))];
    replays_assertion_event:
        "AssertionFailed", "log",
        |_| TestKind::AssertionEvent, [("log", number(12))];
    replays_arithmetic_overflow:
        "add(uint256)", "add",
        |function| TestKind::Overflow { function }, [("add", vec![AbiValue::Word(U256::MAX)])];
    replays_reverting_unit_test:
        "test_unit(uint256)", "test_unit",
        |function| TestKind::Unit { function }, [("test_unit", number(12))];
    replays_self_destruct:
        "destruction", "kill",
        |_| TestKind::Destruction { address: MAIN }, [("kill", vec![])];
}

fn property(target: &FuzzTarget) -> TargetTest {
    let function = id(target, "echidna_small");
    TargetTest {
        name: "echidna_small".into(),
        contract: "Samples".into(),
        kind: TestKind::Property { function },
        not_run: None,
    }
}

#[test]
fn deploys_all_contracts_under_unique_names() {
    let target = samples();
    let deployment = |import: &str, name: &str, last: u8| SceneDeployment {
        code: DeploymentCode::Source { import: import.into(), name: name.into() },
        address: Address::with_last_byte(last),
        arguments: Vec::new(),
        value: U256::ZERO,
    };
    let raw =
        SceneDeployment { code: DeploymentCode::Bytes(vec![0x60, 1]), ..deployment("", "", 0x44) };
    let scene = ReproducerScene {
        deployments: vec![
            deployment("src/A.sol", "Token", 0x41),
            deployment("src/\"B\u{e9}\n.sol", "Token", 0x42),
            deployment("src/A.sol", "Token", 0x43),
            raw,
            deployment("src/A.sol", "vm", 0x45),
        ],
        set_up: Some(MAIN),
        ..sample_scene()
    };
    let finding = ReproducedFinding { test: &property(&target), calls: &[], best: None };
    insta::assert_snapshot!(foundry::write_foundry_test(&scene, &target, &finding).unwrap().text);
}

#[test]
fn replays_on_the_fork_of_a_node_that_a_variable_names() {
    let target = samples();
    let finding = ReproducedFinding { test: &property(&target), calls: &[], best: None };
    let text = |fork| {
        let scene = ReproducerScene { set_up: Some(MAIN), fork, ..sample_scene() };
        foundry::write_foundry_test(&scene, &target, &finding).unwrap().text
    };
    let lines = |text: String| {
        let is_about_forks = |line: &&str| {
            ["Fork", "RPC_URL", "Nonce", "Persistent", "Cheatcodes"]
                .iter()
                .any(|it| line.contains(it))
        };
        text.lines().filter(is_about_forks).map(str::trim).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(lines(text(SceneFork::Base { block: 12 })), @r#"
    // Set ETH_RPC_URL to the URL of a node that has the block.
    function setNonce(address account, uint64 nonce) external;
    function createSelectFork(string calldata url, uint256 number) external returns (uint256);
    function allowCheatcodes(address account) external;
    function makePersistent(address account) external;
    function setNonceUnsafe(address account, uint64 nonce) external;
    vm.createSelectFork(vm.envString("ETH_RPC_URL"), 12);
    vm.allowCheatcodes(TARGET);
    vm.makePersistent(TARGET);
    vm.setNonceUnsafe(place, 1);
    "#);
    insta::assert_snapshot!(lines(text(SceneFork::Created)), @r"
    function setNonce(address account, uint64 nonce) external;
    function createSelectFork(string calldata url, uint256 number) external returns (uint256);
    function allowCheatcodes(address account) external;
    function makePersistent(address account) external;
    function setNonceUnsafe(address account, uint64 nonce) external;
    vm.allowCheatcodes(TARGET);
    vm.makePersistent(TARGET);
    vm.setNonceUnsafe(place, 1);
    ");
    insta::assert_snapshot!(lines(text(SceneFork::None)), @r"
    function setNonce(address account, uint64 nonce) external;
    vm.setNonce(place, 1);
    ");
}

#[test]
fn each_finding_has_its_own_contract_name() {
    let target = samples();
    let test = property(&target);
    let name = |argument| {
        let calls = [call(&target, "put", number(argument))];
        let finding = ReproducedFinding { test: &test, calls: &calls, best: None };
        foundry::write_foundry_test(&sample_scene(), &target, &finding).unwrap().contract
    };
    assert_ne!(name(1), name(2));
    assert_eq!(name(1), name(1));
}

#[test]
fn rejects_findings_that_cannot_be_a_test() {
    let target = samples();
    let refused = |scene: &ReproducerScene, kind: TestKind, calls: &[SequenceCall]| {
        let test = TargetTest { kind, ..property(&target) };
        foundry::write_foundry_test(
            scene,
            &target,
            &ReproducedFinding { test: &test, calls, best: None },
        )
        .unwrap_err()
    };
    let function = id(&target, "check");
    let name = "echidna_small".to_owned();
    let wait = call_by(CallPayload::WaitOnly);
    let assertion = TestKind::Assertion { function };
    assert_eq!(
        refused(&sample_scene(), assertion.clone(), &[]),
        FoundryTestError::NoStep(name.clone())
    );
    assert_eq!(
        refused(&sample_scene(), assertion.clone(), &[wait]),
        FoundryTestError::NoStep(name.clone())
    );
    assert_eq!(
        refused(&sample_scene(), TestKind::Maximum { function }, &[]),
        FoundryTestError::UnknownMaximum(name)
    );
    let mut hostile = sample_scene();
    let bad = "A {} contract B";
    hostile.deployments[0].code =
        DeploymentCode::Source { import: "a.sol".into(), name: bad.into() };
    assert_eq!(refused(&hostile, assertion, &[]), FoundryTestError::InvalidName(bad.to_owned()));
}

#[test]
fn hostile_names_cannot_inject_code() {
    let mut target = samples();
    let function = id(&target, "echidna_small");
    let name = "f()\n    selfdestruct(msg.sender); // \u{202e}\"".to_owned();
    let test = property(&target);
    target.functions[function.0 as usize].signature = name.clone();
    target.functions[function.0 as usize].name = name.clone();
    let test = TargetTest { name, contract: "A\r\n".into(), ..test };
    let calls = [call_by(CallPayload::Function { function, args: Vec::new() })];
    let finding = ReproducedFinding { test: &test, calls: &calls, best: None };
    let text = foundry::write_foundry_test(&sample_scene(), &target, &finding).unwrap().text;
    let is_hidden = |line: &str| {
        let code = line.trim_start();
        !code.contains("selfdestruct")
            || code.starts_with("//")
            || code.starts_with("require(")
            || code.starts_with("contract Reproducer_")
    };
    assert!(text.lines().all(is_hidden), "{text}");
    assert!(text.is_ascii());
}

#[test]
fn truncates_long_arguments_in_comments() {
    let target = targets::target_of(&[vec![AbiType::Bytes]]);
    let what = CallPayload::Function {
        function: FunctionId(0),
        args: vec![AbiValue::Bytes(vec![7; 5000])],
    };
    let test = TargetTest {
        name: "f0(bytes)".into(),
        contract: "Main".into(),
        kind: TestKind::Unit { function: FunctionId(0) },
        not_run: None,
    };
    let finding = ReproducedFinding { test: &test, calls: &[call_by(what)], best: None };
    let file = foundry::write_foundry_test(&sample_scene(), &target, &finding).unwrap();
    let comment = file.text.lines().find(|line| line.contains("// f0(0x0707")).unwrap();
    assert!(comment.len() < 200 && comment.ends_with(" ..."), "{comment}");
}
