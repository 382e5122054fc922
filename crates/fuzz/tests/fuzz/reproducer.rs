//! Sequences for people.
//!
//! That the snapshots of Foundry's tests compile and fail is for Foundry to say; `reproducer/Samples.sol` is the contract
//! that they import.

use alloy_primitives::{Address, I256, U256, address, hex};
use fuzz::abi::{Type, Value};
use fuzz::call::{Call, Delay, What};
use fuzz::reproducer::foundry::{self, Code, Deployment, Finding, NoTest, Scene, TestFile};
use fuzz::reproducer::solidity;
use fuzz::target::{Function, FunctionId, Target, Test, TestKind};

use crate::targets::{self, MAIN, SENDER};

const DEPLOYER: Address = address!("0x0000000000000000000000000000000000030000");
const CHILD: Address = address!("0x00000000000000000000000000000000000000aa");

/// The functions of `reproducer/Samples.sol`, which tells whether a replay is faithful.
fn samples() -> Target {
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

fn scene() -> Scene {
    let code = Code::Source { import: "../src/Samples.sol".into(), name: "Samples".into() };
    let arguments = [[0; 32], U256::from_be_slice(DEPLOYER.as_slice()).to_be_bytes()].concat();
    Scene {
        deployments: vec![Deployment { code, address: MAIN, arguments, value: U256::from(5) }],
        deployer: DEPLOYER,
        senders: vec![SENDER, DEPLOYER],
        sender_balance: U256::from(0xffff_ffff_u64),
        property_sender: SENDER,
        call_gas: 12_500_000,
        property_gas: 12_500_000,
        timestamp: 1_524_785_992,
        block: 4_370_000,
        chain_id: 1,
        set_up: None,
    }
}

fn id(target: &Target, name: &str) -> FunctionId {
    let index = target.functions.iter().position(|function| function.name == name).unwrap();
    FunctionId(index as u32)
}

fn call(target: &Target, name: &str, args: Vec<Value>) -> Call {
    call_by(What::Function { function: id(target, name), args })
}

fn call_by(what: What) -> Call {
    Call { what, from: SENDER, to: MAIN, value: U256::ZERO, gas_price: 0, delay: Delay::default() }
}

fn number(number: u64) -> Vec<Value> {
    vec![Value::Word(U256::from(number))]
}

/// Calls of all kinds; some of them revert.
fn steps(target: &Target) -> Vec<Call> {
    let pair = Value::List(vec![Value::Word(U256::from(7)), Value::Bytes(vec![0xde, 0xad])]);
    let text = Value::Bytes(b"a\0\"\n*/ \xff".to_vec());
    let minus = Value::Word(U256::MAX);
    vec![
        call(target, "put", number(3)),
        Call { value: U256::from(9), gas_price: 3, ..call(target, "pay", vec![]) },
        Call {
            delay: Delay { seconds: 604_800, blocks: 1 },
            ..call(target, "note", vec![text, Value::List(vec![pair]), minus])
        },
        Call { delay: Delay { seconds: 10, blocks: 2 }, ..call_by(What::Nothing) },
        Call { from: DEPLOYER, value: U256::ONE, ..call_by(What::Data(Vec::new())) },
        call_by(What::Data(hex!("deadbeef").to_vec())),
    ]
}

#[test]
fn a_sequence_is_lines_of_calls() {
    let target = samples();
    insta::assert_snapshot!(solidity::lines(&steps(&target), &target).join("\n"));
}

#[test]
fn calls_name_their_contract_where_there_are_several() {
    let mut target = samples();
    let other = Function { contract: 1, address: CHILD, ..target.functions[0].clone() };
    target.functions.push(other);
    let target = targets::deployed(vec![("Samples", MAIN), ("Child", CHILD)], target.functions);
    let last = FunctionId(target.functions.len() as u32 - 1);
    let what = What::Function { function: last, args: number(1) };
    let calls = [
        Call { to: CHILD, ..call_by(what) },
        call_by(What::Data(vec![1])),
        Call { to: SENDER, ..call_by(What::Data(vec![])) },
    ];
    insta::assert_snapshot!(solidity::lines(&calls, &target).join("\n"), @r"
    Child.add(1)  from: 0x0000000000000000000000000000000000010000
    Samples.*fallback*(0x01)  from: 0x0000000000000000000000000000000000010000
    0x0000000000000000000000000000000000010000.*fallback*()  from: 0x0000000000000000000000000000000000010000
    ");
}

/// The test for a failure after the steps and these calls.
fn replay(target: &Target, name: &str, kind: TestKind, calls: Vec<Call>) -> TestFile {
    let test = Test { name: name.to_owned(), contract: "Samples".to_owned(), kind };
    let calls: Vec<Call> = steps(target).into_iter().chain(calls).collect();
    let best = Some(I256::try_from(12).unwrap());
    let finding = Finding { test: &test, calls: &calls, best };
    foundry::write(&scene(), target, &finding).unwrap()
}

/// A snapshot of the test for each way in which a test fails.
macro_rules! replays {
    ($($case:ident: $name:literal, $function:literal, $kind:expr, $last:expr;)*) => {$(
        #[test]
        fn $case() {
            let target = samples();
            let kind: fn(FunctionId) -> TestKind = $kind;
            let last: &[(&str, Vec<Value>)] = &$last;
            let last = last.iter().map(|(name, args)| call(&target, name, args.clone())).collect();
            let file = replay(&target, $name, kind(id(&target, $function)), last);
            assert_eq!(file.file_name, format!("{}.t.sol", file.contract));
            insta::assert_snapshot!(file.text);
        }
    )*};
}

replays! {
    a_property_that_does_not_hold:
        "echidna_small", "echidna_small",
        |function| TestKind::Property { function }, [("put", number(12))];
    a_call_that_does_not_revert:
        "echidna_revert_small", "echidna_revert_small",
        |function| TestKind::MustRevert { function }, [("put", number(12))];
    an_invariant_that_reverts:
        "invariant_small", "invariant_small",
        |function| TestKind::Invariant { function }, [("put", number(12))];
    a_number_that_is_reached:
        "echidna_opt_x", "echidna_opt_x",
        |function| TestKind::Maximum { function }, [("put", number(12))];
    an_assertion_that_fails:
        "check(uint256)", "check",
        |function| TestKind::Assertion { function }, [("put", number(12)), ("check", number(12))];
    an_event_that_says_so:
        "AssertionFailed", "log",
        |_| TestKind::Event, [("log", number(12))];
    arithmetic_that_overflows:
        "add(uint256)", "add",
        |function| TestKind::Overflow { function }, [("add", vec![Value::Word(U256::MAX)])];
    a_unit_test_that_reverts:
        "test_unit(uint256)", "test_unit",
        |function| TestKind::Unit { function }, [("test_unit", number(12))];
    a_contract_that_is_destroyed:
        "destruction", "kill",
        |_| TestKind::Destruction { address: MAIN }, [("kill", vec![])];
}

fn property(target: &Target) -> Test {
    let function = id(target, "echidna_small");
    Test {
        name: "echidna_small".into(),
        contract: "Samples".into(),
        kind: TestKind::Property { function },
    }
}

#[test]
fn all_contracts_are_deployed_and_names_do_not_clash() {
    let target = samples();
    let deployment = |import: &str, name: &str, last: u8| Deployment {
        code: Code::Source { import: import.into(), name: name.into() },
        address: Address::with_last_byte(last),
        arguments: Vec::new(),
        value: U256::ZERO,
    };
    let raw = Deployment { code: Code::Bytes(vec![0x60, 1]), ..deployment("", "", 0x44) };
    let scene = Scene {
        deployments: vec![
            deployment("src/A.sol", "Token", 0x41),
            deployment("src/\"B\u{e9}\n.sol", "Token", 0x42),
            deployment("src/A.sol", "Token", 0x43),
            raw,
            deployment("src/A.sol", "vm", 0x45),
        ],
        set_up: Some(MAIN),
        ..scene()
    };
    let finding = Finding { test: &property(&target), calls: &[], best: None };
    insta::assert_snapshot!(foundry::write(&scene, &target, &finding).unwrap().text);
}

#[test]
fn each_finding_has_a_contract_of_its_own() {
    let target = samples();
    let test = property(&target);
    let name = |argument| {
        let calls = [call(&target, "put", number(argument))];
        let finding = Finding { test: &test, calls: &calls, best: None };
        foundry::write(&scene(), &target, &finding).unwrap().contract
    };
    assert_ne!(name(1), name(2));
    assert_eq!(name(1), name(1));
}

#[test]
fn what_cannot_be_a_test_is_refused() {
    let target = samples();
    let refused = |scene: &Scene, kind: TestKind, calls: &[Call]| {
        let test = Test { kind, ..property(&target) };
        foundry::write(scene, &target, &Finding { test: &test, calls, best: None }).unwrap_err()
    };
    let function = id(&target, "check");
    let name = "echidna_small".to_owned();
    let wait = call_by(What::Nothing);
    let assertion = TestKind::Assertion { function };
    assert_eq!(refused(&scene(), assertion.clone(), &[]), NoTest::NoStep(name.clone()));
    assert_eq!(refused(&scene(), assertion.clone(), &[wait]), NoTest::NoStep(name.clone()));
    assert_eq!(refused(&scene(), TestKind::Maximum { function }, &[]), NoTest::NoNumber(name));
    let mut hostile = scene();
    let bad = "A {} contract B";
    hostile.deployments[0].code = Code::Source { import: "a.sol".into(), name: bad.into() };
    assert_eq!(refused(&hostile, assertion, &[]), NoTest::Name(bad.to_owned()));
}

#[test]
fn no_name_can_write_code() {
    let mut target = samples();
    let function = id(&target, "echidna_small");
    let name = "f()\n    selfdestruct(msg.sender); // \u{202e}\"".to_owned();
    target.functions[function.0 as usize].signature = name.clone();
    target.functions[function.0 as usize].name = name.clone();
    let test = Test { name, contract: "A\r\n".into(), kind: TestKind::Property { function } };
    let calls = [call_by(What::Function { function, args: Vec::new() })];
    let finding = Finding { test: &test, calls: &calls, best: None };
    let text = foundry::write(&scene(), &target, &finding).unwrap().text;
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
fn long_arguments_do_not_make_long_comments() {
    let target = targets::target_of(&[vec![Type::Bytes]]);
    let what = What::Function { function: FunctionId(0), args: vec![Value::Bytes(vec![7; 5000])] };
    let test = Test {
        name: "f0(bytes)".into(),
        contract: "Main".into(),
        kind: TestKind::Unit { function: FunctionId(0) },
    };
    let finding = Finding { test: &test, calls: &[call_by(what)], best: None };
    let file = foundry::write(&scene(), &target, &finding).unwrap();
    let comment = file.text.lines().find(|line| line.contains("// f0(0x0707")).unwrap();
    assert!(comment.len() < 200 && comment.ends_with(" ..."), "{comment}");
}
