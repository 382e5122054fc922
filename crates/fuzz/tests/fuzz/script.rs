//! Tests of written calls: every syntax parses, invalid calls are rejected with a reason, and formatted calls round-trip.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, U256, address};
use fuzz::abi::{AbiType, AbiValue};
use fuzz::call::{CallDelay, CallPayload, SequenceCall};
use fuzz::deploy;
use fuzz::reproducer::solidity;
use fuzz::script::{self, ArgumentPattern, MAX_TEXT, ScriptError, ScriptStep};
use fuzz::target::{FunctionId, FuzzTarget, TargetFunction};
use proptest::prelude::*;

use crate::any::{any_type, value_of};
use crate::suite::{BAD, build};
use crate::targets::{self, MAIN, SENDER};

const OTHER: Address = address!("0x00000000000000000000000000000000000000aa");
const TWIN: Address = address!("0x00000000000000000000000000000000000000bb");

/// Returns a target with a function for each kind of type, overloads, and three contracts, two of them with equal names.
fn target() -> FuzzTarget {
    let functions = |contract, address, abi: &[&str]| {
        TargetFunction::from_abi(contract, address, &JsonAbi::parse(abi.iter().copied()).unwrap())
            .unwrap()
    };
    let main = functions(
        0,
        MAIN,
        &[
            "function transfer(address,uint256) returns (bool)",
            "function approve(address,uint256) returns (bool)",
            "function set(uint8)",
            "function tilt(int8)",
            "function say(string)",
            "function send(bytes)",
            "function tag(bytes4)",
            "function flag(bool)",
            "function hook(function)",
            "function list(uint256[])",
            "function pair(uint8[2])",
            "function grid(int8[][2])",
            "function fill((address,uint96,(bytes4,uint256)[]))",
            "function noise()",
            "function over(uint256)",
            "function over(address)",
            "function over(string)",
            "function over(uint256,uint256)",
            "function width(uint8)",
            "function width(uint16)",
            "function width((uint8,bool)[])",
            "function width((uint16,bool)[])",
            "function shared(uint256)",
        ],
    );
    let other = functions(1, OTHER, &["function shared(uint256)", "function only(string)"]);
    let twin = functions(2, TWIN, &["function shared(uint256)", "function only(string)"]);
    let contracts = vec![("Main", MAIN), ("Other", OTHER), ("Other", TWIN)];
    targets::build_target(contracts, [main, other, twin].concat())
}

/// Returns the contract, signature and formatted step that a text parses to, or the error.
fn read(text: &str) -> String {
    let target = target();
    match script::parse_call(text, &target) {
        Ok(step) => {
            let TargetFunction { address, signature, .. } = target.function(step.function);
            let at = target.contracts.iter().position(|it| it.address == *address).unwrap();
            format!("{at} {signature}: {}", step.to_text(&target))
        }
        Err(error) => format!("error: {error}"),
    }
}

fn all(texts: &[&str]) -> String {
    let results =
        texts.iter().map(|text| format!("{}\n  {}", text.replace('\u{1b}', "ESC"), read(text)));
    results.collect::<Vec<_>>().join("\n")
}

#[test]
fn parses_all_call_syntaxes() {
    let results = all(&[
        "noise()",
        " noise ( ) ",
        "transfer(0x1234567890AbcdEF1234567890aBcdef12345678, 100)",
        "transfer(0X1234567890ABCDEF1234567890ABCDEF12345678,0xff)",
        "transfer(address(0), 1e18)",
        "transfer(?, 1.5e3)",
        "transfer(?, 1_000_000)",
        "transfer(?, 1.5 ether)",
        "transfer(?, 0.5 gwei)",
        "transfer(?, 2  wei)",
        "transfer(?, 1.5 minutes)",
        "transfer(?, 30 seconds)",
        "transfer(?, 2 hours)",
        "transfer(?, 1 days)",
        "transfer(?, 2 weeks)",
        "transfer(?, type(uint256).max)",
        "transfer(?, type(uint).min)",
        "tilt(-128)",
        "tilt(type(int8).min)",
        "tilt(type(int8).max)",
        "set(-0)",
        "set(uint8(7))",
        "flag(true)",
        "flag(false)",
        r#"say("a \"b\" \\ \n\r\t\x41\u20ac (c) ü")"#,
        r"say('it\'s \x29')",
        r#"say(unicode"ü")"#,
        "send(0x)",
        "send(0xdeadBEEF)",
        r#"send(hex"00ff")"#,
        "send(hex'')",
        "tag(0x01020304)",
        r#"tag(hex"01020304")"#,
        "hook(0x000102030405060708090a0b0c0d0e0f1011121314151617)",
        "list([])",
        "list([1, 2e3 , ?])",
        "pair([1,2])",
        "grid([[-1], []])",
        "fill({0x1234567890abcdef1234567890abcdef12345678, 5, [{0x01020304, 1 ether}]})",
        "fill((?, 5, []))",
        "fill([?, ?, [[0x01020304, ?]]])",
        "over(5)",
        "over(0x1234567890abcdef1234567890abcdef12345678)",
        "over('five')",
        "over(1, 2)",
        "over(uint256 0x1234567890abcdef1234567890abcdef12345678)",
        "width(300)",
        "width(uint8 3)",
        "width(uint16 ?)",
        "width([{uint8 1, true}])",
        "shared(1)",
        "Other.shared(1)",
        "Other . shared(1)",
        "0x00000000000000000000000000000000000000BB.shared(1)",
        "only('there')",
    ]);
    insta::assert_snapshot!(results);
}

/// Plausible mistakes and nonsense.
const INVALID_CALLS: &[&str] = &[
    "",
    "   ",
    "noise",
    "noise(",
    "noise)",
    "noise())",
    "noise();",
    "noise() noise()",
    "(1)",
    "1noise()",
    ".noise()",
    "Main.()",
    "no-ise()",
    "nоise()",
    "noise(1)",
    "noise(?)",
    "transfer()",
    "transfer(0x1234567890abcdef1234567890abcdef12345678)",
    "transfer(0x1234567890abcdef1234567890abcdef12345678, 1, 2)",
    "transfer(0x12, 1)",
    "transfer(0x1234567890abcdef1234567890abcdef1234567g, 1)",
    "transfer(1234567890abcdef1234567890abcdef12345678, 1)",
    "transfer(?, )",
    "transfer(, 1)",
    "transfer(? 1)",
    "transfer(?, -1)",
    "transfer(?, 1.5)",
    "transfer(?, 1e78)",
    "transfer(?, 1__0)",
    "transfer(?, 1 eth)",
    "transfer(?, 1 ether wei)",
    "transfer(?, ether)",
    "transfer(?, \"1\")",
    "transfer(?, type(uint7).max)",
    "transfer(?, type(uint8)",
    "transfer(?, 115792089237316195423570985008687907853269984665640564039457584007913129639936)",
    "set(256)",
    "set(-1)",
    "set(uint16 1)",
    "set(true)",
    "set([1])",
    "tilt(128)",
    "tilt(-129)",
    "flag(1)",
    "flag(True)",
    "say(hello)",
    "say(\"hello)",
    "say('hello\")",
    r#"say("\q")"#,
    r#"say("\x4")"#,
    r#"say("\u12")"#,
    r#"say("\ud800")"#,
    "say(\"\\",
    "send(0x1)",
    "send(0xzz)",
    "send(\"text\")",
    r#"send(hex"0")"#,
    r#"send(hex"0011)"#,
    "tag(0x010203)",
    "tag(0x0102030405)",
    "tag(1)",
    "hook(0x00)",
    "list(1)",
    "list([1,])",
    "list([1)",
    "list([1}])",
    "list({1, 2})",
    "list([1, true])",
    "pair([1])",
    "pair([1, 2, 3])",
    "pair([1, 256])",
    "grid([[1], [300]])",
    "fill({?, ?})",
    "fill({?, ?, [{0x01020304}]})",
    "fill({?, ?, [{0x01020304, 1}, {0x0102, 1}]})",
    "fill({maker: ?, price: 1, items: []})",
    "over(true)",
    "over(1, 2, 3)",
    "width(3)",
    "width(70000)",
    "width([])",
    "tranfser(0x1234567890abcdef1234567890abcdef12345678, 1)",
    "Approve(?, 1)",
    "x()",
    "Mian.noise()",
    "Other.noise()",
    "0x00000000000000000000000000000000000000cc.noise()",
    "say(\u{1b}[31m)",
];

#[test]
fn rejects_invalid_calls_with_reason() {
    let deep = format!("list({}1{})", "[".repeat(40), "]".repeat(40));
    let long = format!("say(\"{}\")", "a".repeat(MAX_TEXT));
    let shown = format!("set({})", "9".repeat(200));
    let results = all(&[INVALID_CALLS, &[&shown, &deep]].concat());
    insta::assert_snapshot!(results);
    let ScriptError::TooLong { length, limit } = script::parse_call(&long, &target()).unwrap_err()
    else {
        panic!("expected TooLong");
    };
    assert_eq!((length, limit), ("say(\"\")".len() + MAX_TEXT, MAX_TEXT));
}

#[test]
fn suggests_nearest_signatures_best_first() {
    let target = target();
    let nearest = |text: &str| script::find_nearest_signatures(text, &target);
    assert_eq!(nearest("tranfer(address,uint256)")[0], "transfer(address,uint256)");
    assert_eq!(nearest("aprove(address,uint)")[0], "approve(address,uint256)");
    assert_eq!(nearest("over(bytes32)").len(), 3);
    assert!(nearest("over(bytes32)").iter().all(|it| it.starts_with("over(")));
    assert_eq!(
        nearest(&format!("transfer{}", "x".repeat(1 << 20)))[0],
        "transfer(address,uint256)"
    );
    assert!(nearest("x()").is_empty());
    assert!(script::find_nearest_signatures("f()", &targets::target_of(&[])).is_empty());
}

#[test]
fn parses_constructor_arguments() {
    let abi = "constructor(uint256,address,address,string,string,bytes,bool[2],(int8,string)[])";
    let mut contract = build(BAD).contracts[0].clone();
    contract.abi = JsonAbi::parse([abi]).unwrap();
    let encode = |written: &[&str]| {
        let written: Vec<String> = written.iter().map(|&it| it.to_owned()).collect();
        deploy::encode_constructor_arguments(&contract, &written).map_err(|error| error.to_string())
    };
    let lax =
        ["1.5 ether", "0x1", "00000000000000000000000000000000000000aa", "a, (b)", "'c'", "ff"];
    let exact = [
        "1500000000000000000",
        "0x0000000000000000000000000000000000000001",
        "0x00000000000000000000000000000000000000aa",
        "\"a, (b)\"",
        "c",
        "0xff",
    ];
    let with = |first: &[&'static str], lists: [&'static str; 2]| [first, &lists].concat();
    assert_eq!(
        encode(&with(&lax, ["[true, false]", "[(-1, d e)]"])).unwrap(),
        encode(&with(&exact, ["[true,false]", "[{-1, \"d e\"}]"])).unwrap(),
    );
    let wrong = [
        with(&lax, ["[true]", "[]"]),
        with(&lax, ["?", "[]"]),
        with(&lax, ["[true, false]", "[(-1, d"]),
        with(&["ten", "0x1", "0x1", "", "", ""], ["[true, false]", "[]"]),
    ];
    let wrong = wrong.map(|written| encode(&written).unwrap_err());
    insta::assert_snapshot!(wrong.join("\n"));
}

fn call_of(function: u32, args: Vec<AbiValue>) -> SequenceCall {
    SequenceCall {
        payload: CallPayload::Function { function: FunctionId(function), args },
        from: SENDER,
        to: MAIN,
        value: U256::ZERO,
        gas_price: 0,
        delay: CallDelay::default(),
    }
}

/// Generates argument types and values of them.
fn arguments() -> impl Strategy<Value = (Vec<AbiType>, Vec<AbiValue>)> {
    prop::collection::vec(any_type(), 0..4).prop_flat_map(|types| {
        let values: Vec<_> = types.iter().map(value_of).collect();
        (Just(types), values)
    })
}

/// Replaces parts of a value by holes, as `holes` decides.
fn with_holes(
    ty: &AbiType,
    value: &AbiValue,
    holes: &mut impl Iterator<Item = bool>,
) -> ArgumentPattern {
    if holes.next().unwrap_or_default() {
        return ArgumentPattern::Any;
    }
    let (AbiValue::List(values), AbiType::Array(_) | AbiType::FixedArray(..) | AbiType::Tuple(_)) =
        (value, ty)
    else {
        return ArgumentPattern::Value(value.clone());
    };
    let inner = |index: usize| match ty {
        AbiType::Array(element) | AbiType::FixedArray(element, _) => &**element,
        AbiType::Tuple(fields) => &fields[index],
        other => other,
    };
    let parts = values.iter().enumerate();
    let parts: Vec<_> = parts.map(|(index, it)| with_holes(inner(index), it, holes)).collect();
    if parts.iter().all(|part| matches!(part, ArgumentPattern::Value(_))) {
        return ArgumentPattern::Value(value.clone());
    }
    if matches!(ty, AbiType::Tuple(_)) {
        ArgumentPattern::Tuple(parts)
    } else {
        ArgumentPattern::Array(parts)
    }
}

proptest! {
    #[test]
    fn formatted_calls_round_trip((types, values) in arguments()) {
        let target = targets::target_of(&[types]);
        let call = call_of(0, values);
        let text = solidity::format_call(&call, &target);
        prop_assert_eq!(script::parse_call(&text, &target), Ok(ScriptStep::from_call(&call).unwrap()), "{}", text);
    }

    #[test]
    fn formatted_steps_round_trip_with_one_closing_parenthesis(
        (types, values) in arguments(),
        holes in prop::collection::vec(prop::bool::weighted(0.2), 0..40),
    ) {
        let mut holes = holes.into_iter();
        let args = types.iter().zip(&values).map(|(ty, it)| with_holes(ty, it, &mut holes));
        let step = ScriptStep { function: FunctionId(0), args: args.collect() };
        let target = targets::target_of(&[types]);
        let text = step.to_text(&target);
        prop_assert_eq!(text.find(')'), Some(text.len() - 1), "{}", text);
        prop_assert_eq!(script::parse_call(&text, &target), Ok(step), "{}", text);
    }

    /// Overloads and equal names in other contracts do not matter.
    #[test]
    fn steps_of_overloads_round_trip(number: u8, which in 0_usize..3, contract in 0_usize..3) {
        let target = target();
        let wanted = [
            ("shared(uint256)", [MAIN, OTHER, TWIN][contract]),
            ("width(uint8)", MAIN),
            ("width(uint16)", MAIN),
        ][which];
        let function = target.find_function(wanted.0, Some(wanted.1)).unwrap();
        let args = vec![ArgumentPattern::Value(AbiValue::Word(U256::from(number)))];
        let step = ScriptStep { function, args };
        let text = step.to_text(&target);
        prop_assert_eq!(script::parse_call(&text, &target), Ok(step), "{}", text);
    }

    #[test]
    fn errors_for_arbitrary_text_are_one_line(text: String) {
        if let Err(error) = script::parse_call(&text, &target()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    /// Valid calls with a few changed characters.
    #[test]
    fn errors_for_damaged_calls_are_one_line(
        which in 0_usize..4,
        at in 0_usize..60,
        with in r#"[\[\]{}(),?"'\\a-z0-9 .\-_\u{fc}\u{0}-\u{10}]{0,3}"#,
    ) {
        let text = [
            "fill({?, 5, [{0x01020304, 1 ether}, [hex\"01020304\", type(uint8).max]]})",
            r#"say("a \"b\" \x41 \u20ac")"#,
            "Other.shared(uint256 1.5e3)",
            "grid([[-1, 2 minutes], int8[] []])",
        ][which];
        let at = at.min(text.len());
        let damaged = format!("{}{with}{}", &text[..at], text.get(at + 1..).unwrap_or_default());
        if let Err(error) = script::parse_call(&damaged, &target()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
