//! Constants from ASTs and bytecode.

use proptest::prelude::*;
use serde_json::{Value, json};
use solidity::{
    SolidityBuild, SoliditySource, SourceLiterals, collect_literals, collect_push_operands,
};

use crate::folder::TestFolder;
use crate::outputs::FOUNDRY;

/// Describes the sets, one per line, with escaped strings.
fn describe_literals(found: &SourceLiterals) -> String {
    let strings: Vec<_> =
        found.strings.iter().map(|bytes| bytes.escape_ascii().to_string()).collect();
    let SourceLiterals { numbers, addresses, enums, .. } = found;
    format!("{numbers:?}\n{strings:?}\n{addresses:?}\n{enums:?}")
}

#[test]
fn collects_constants_of_a_real_build() {
    let folder = TestFolder::new();
    folder.write("out.json", FOUNDRY);
    insta::assert_snapshot!(describe_literals(&collect_literals(&folder.load("out.json").unwrap())), @r#"
    {400, 1000, 604800, 1500000000000000000, 3000000000000000000, 115792089237316195423570985008687907853269984665640564039457584007913129638936}
    ["above the cap", "paid", "\\xc0\\xff\\xee\\x00"]
    {0x5b38da6a701c568545dcfcb03fcb875f56beddc4}
    {"Bank.Phase": 3}
    "#);
}

fn literals_in(ast: Value) -> SourceLiterals {
    let source =
        SoliditySource { id: 0, path: "a.sol".into(), text: "".into(), ast: Some(ast.into()) };
    collect_literals(&SolidityBuild { sources: vec![source], ..SolidityBuild::default() })
}

fn number(text: &str, unit: Option<&str>) -> String {
    let node = json!({
        "nodeType": "Literal", "kind": "number", "value": text, "subdenomination": unit,
    });
    literals_in(node).numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn parses_numbers_with_units() {
    let cases = [
        ("1_000", None),
        ("0xFf_00", None),
        ("1.50", Some("ether")),
        ("2.5e3", None),
        ("25e-1", Some("gwei")),
        ("0.000", None),
        (".5", Some("days")),
        ("2", Some("weeks")),
        ("1e77", None),
        ("115792089237316195423570985008687907853269984665640564039457584007913129639935", None),
        // The following are not integers below 2^256.
        ("1e78", None),
        ("1.5", None),
        ("1e999999999999999999999", None),
        ("1e9223372036854775807", Some("ether")),
        ("1e-9223372036854775808", None),
        ("e5", None),
        ("", None),
        ("7", Some("parsecs")),
    ];
    let line = |(text, unit): &(&str, Option<&str>)| {
        format!("{text} {} => {}", unit.unwrap_or_default(), number(text, *unit))
    };
    insta::assert_snapshot!(cases.iter().map(line).collect::<Vec<_>>().join("\n"), @"
    1_000  => 1000
    0xFf_00  => 65280
    1.50 ether => 1500000000000000000
    2.5e3  => 2500
    25e-1 gwei => 2500000000
    0.000  => 0
    .5 days => 43200
    2 weeks => 1209600
    1e77  => 100000000000000000000000000000000000000000000000000000000000000000000000000000
    115792089237316195423570985008687907853269984665640564039457584007913129639935  => 115792089237316195423570985008687907853269984665640564039457584007913129639935
    1e78  => 
    1.5  => 
    1e999999999999999999999  => 
    1e9223372036854775807 ether => 
    1e-9223372036854775808  => 
    e5  => 
      => 
    7 parsecs =>
    ");
}

#[test]
fn collects_long_negatives_legacy_asts_and_assembly() {
    let long = "57896044618658097711785492504343953926634992332820282019728792003956564819967";
    let found = literals_in(json!([
        {
            "nodeType": "UnaryOperation",
            "operator": "-",
            "typeDescriptions": { "typeString": "int_const -578...(70 digits omitted)...9967" },
            "subExpression": { "nodeType": "Literal", "kind": "number", "value": long },
        },
        { "typeDescriptions": { "typeString": "int_const -5" } },
        {
            "name": "Literal",
            "attributes": {
                "token": "number", "value": "3", "subdenomination": "minutes",
                "type": "int_const 180",
            },
        },
        { "name": "Literal", "attributes": { "token": "string", "hexvalue": "6869" } },
        { "nodeType": "YulLiteral", "kind": "number", "value": "0x40" },
        { "nodeType": "Literal", "kind": "hexString", "hexValue": "not hex" },
        { "nodeType": "Literal", "kind": "number" },
    ]));
    insta::assert_snapshot!(describe_literals(&found), @r#"
    {64, 180, 57896044618658097711785492504343953926634992332820282019728792003956564819967, 57896044618658097711785492504343953926634992332820282019728792003956564819969, 115792089237316195423570985008687907853269984665640564039457584007913129639931}
    ["hi"]
    {}
    {}
    "#);
}

#[test]
fn collects_push_operands_without_metadata() {
    // PUSH1 05, PUSH0, PUSH2 0100, STOP, then a CBOR map of two bytes with its length.
    let code = [0x60, 5, 0x5f, 0x61, 1, 0, 0x00, 0xa1, 0x60, 0, 2];
    let numbers: Vec<_> = collect_push_operands(&code).iter().map(ToString::to_string).collect();
    assert_eq!(numbers, ["5", "256"]);
    assert_eq!(collect_push_operands(&[]).len(), 0);
    // An operand truncated by the end of the bytecode keeps its remaining bytes.
    assert_eq!(collect_push_operands(&[0x7f, 9]).len(), 1);
}

proptest! {
    #[test]
    fn collects_push_operands_of_any_bytecode(code in prop::collection::vec(any::<u8>(), 0..300)) {
        collect_push_operands(&code);
    }

    #[test]
    fn parses_every_integer(value in any::<u128>()) {
        prop_assert_eq!(number(&value.to_string(), None), value.to_string());
        prop_assert_eq!(number(&format!("{value:#x}"), None), value.to_string());
    }

    #[test]
    fn accepts_any_text_as_number(text in "[0-9a-fxXeE._-]{0,40}", unit in prop::option::of("[a-z]{0,7}")) {
        number(&text, unit.as_deref());
    }
}
