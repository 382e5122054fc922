//! Corpus tests: the format is Echidna's, and files are neither lost nor partially written.

use std::fs;
use std::path::Path;

use alloy_primitives::{Address, U256, address};
use fuzz::abi::{AbiType, AbiValue};
use fuzz::call::{CallDelay, CallPayload, SequenceCall};
use fuzz::corpus::folder::MAX_FILE_BYTES;
use fuzz::corpus::format::{parse_sequence, serialize_sequence};
use fuzz::corpus::{CorpusFolder, CorpusFolderError, SequenceKind};
use fuzz::target::FunctionId;
use proptest::prelude::*;

use crate::any::{any_type, value_of};
use crate::targets::{self, MAIN, SENDER};

const GAS: u64 = 12_500_000;

/// All kinds of arguments in one call, as Echidna 2.3 writes it.
const MODERN: &str = include_str!("corpus/modern.json");

/// A call as Echidna 2.0.2 writes it.
const LEGACY: &str = include_str!("corpus/legacy.json");

fn target_with_all_types() -> fuzz::target::FuzzTarget {
    targets::target(&[
        "function all(uint8,int16,address,bool,bytes4,bytes,string,uint256[],bool[2],(address,string)[],function)",
        "function put(uint256)",
        "function put(address)",
    ])
}

#[test]
fn echidna_files_round_trip() {
    let target = target_with_all_types();
    let calls = parse_sequence(MODERN, &target).unwrap();
    insta::assert_debug_snapshot!(calls);
    // The fixture is pretty-printed; the output is compact.
    let compact: serde_json::Value = serde_json::from_str(MODERN).unwrap();
    assert_eq!(serialize_sequence(&calls, &target, GAS), compact.to_string());
}

#[test]
fn reads_files_of_old_echidna_versions() {
    let target = target_with_all_types();
    let put = target.find_function("put(uint256)", None).unwrap();
    let call = |args, seconds| SequenceCall {
        payload: CallPayload::Function { function: put, args: vec![args] },
        from: SENDER,
        to: MAIN,
        value: U256::from(0xff),
        gas_price: 3,
        delay: CallDelay { seconds, blocks: 2 },
    };
    let expected =
        vec![call(AbiValue::Word(U256::from(42)), 16), call(AbiValue::Word(U256::MAX), 0)];
    assert_eq!(parse_sequence(LEGACY, &target).unwrap(), expected);
}

#[test]
fn corpus_follows_a_contract_to_a_new_address() {
    let moved = address!("0x00000000000000000000000000000000000000aa");
    let text = serialize_sequence(
        &parse_sequence(LEGACY, &target_with_all_types()).unwrap(),
        &target_with_all_types(),
        GAS,
    );
    let target = targets::target_at(moved, &["function put(uint256)"]);
    let calls = parse_sequence(&text, &target).unwrap();
    assert!(calls.iter().all(|call| call.to == moved));
}

/// Returns the error for one call whose fields are replaced by these.
fn read_error(fields: &[(&str, &str)]) -> String {
    let mut call: serde_json::Value = serde_json::from_str(
        r#"{"call":{"tag":"NoCall"},"delay":["0","0"],"dst":"0x1","gas":1,"gasprice":"0","src":"0x1","value":"0"}"#,
    )
    .unwrap();
    for (name, json) in fields {
        match serde_json::from_str(json) {
            Ok(json) => call[name] = json,
            Err(_) => drop(call.as_object_mut().unwrap().remove(*name)),
        }
    }
    match parse_sequence(&serde_json::Value::from(vec![call]).to_string(), &target_with_all_types())
    {
        Ok(calls) => panic!("{fields:?} was read as {calls:?}"),
        Err(error) => format!("{error}{}", if error.is_foreign() { " (foreign)" } else { "" }),
    }
}

fn read_argument_error(json: &str) -> String {
    read_error(&[("call", &format!(r#"{{"tag":"SolCall","contents":["put",[{json}]]}}"#))])
}

#[test]
fn rejects_invalid_sequences_with_reason() {
    let messages = [
        read_error(&[("call", "")]),
        read_error(&[("call", r#"{"tag":"Nonsense"}"#)]),
        read_error(&[("call", r#"{"tag":"SolCreate","contents":"\"`\""}"#)]),
        read_error(&[("call", r#"{"tag":"SolCalldata","contents":"no literal"}"#)]),
        read_error(&[("call", r#"{"tag":"SolCall","contents":["gone",[]]}"#)]),
        read_error(&[("src", r#""0x1ffffffffffffffffffffffffffffffffffffffff""#)]),
        read_error(&[("value", r#""-1""#)]),
        read_error(&[("value", "1.5")]),
        read_error(&[("delay", r#"["0"]"#)]),
        read_error(&[("delay", r#"["0x10000000000000000", "0"]"#)]),
        read_error(&[("gasprice", r#""0x100000000000000000000000000000000""#)]),
        read_argument_error(r#"{"tag":"AbiUInt","contents":[7,"1"]}"#),
        read_argument_error(r#"{"tag":"AbiUInt","contents":[8,"256"]}"#),
        read_argument_error(r#"{"tag":"AbiUInt","contents":[8]}"#),
        read_argument_error(r#"{"tag":"AbiUInt","contents":[16,"1"]}"#),
        read_argument_error(r#"{"tag":"AbiInt","contents":[8,"-129"]}"#),
        read_argument_error(r#"{"tag":"AbiBytes","contents":[33,"\"\""]}"#),
        read_argument_error(r#"{"tag":"AbiBytes","contents":[2,"\"a\""]}"#),
        read_argument_error(r#"{"tag":"AbiArray","contents":[2,{"tag":"AbiBoolType"},[]]}"#),
        read_argument_error(
            r#"{"tag":"AbiArrayDynamic","contents":[{"tag":"AbiBoolType"},[{"tag":"AbiString","contents":"\"\""}]]}"#,
        ),
    ];
    insta::assert_snapshot!(messages.join("\n"));
    for text in ["", "{}", "[1]", "[", &"[".repeat(100_000)] {
        assert!(parse_sequence(text, &target_with_all_types()).is_err());
    }
}

proptest! {
    #[test]
    fn sequences_round_trip((types, calls) in any_sequence()) {
        let target = targets::target_of(&types);
        prop_assert_eq!(parse_sequence(&serialize_sequence(&calls, &target, GAS), &target).unwrap(), calls);
    }

    #[test]
    fn reading_a_damaged_file_never_panics(at in 0..MODERN.len(), byte: u8) {
        let mut bytes = MODERN.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = parse_sequence(&String::from_utf8_lossy(&bytes), &target_with_all_types());
    }
}

/// Generates functions by their argument types, and calls of them.
fn any_sequence() -> impl Strategy<Value = (Vec<Vec<AbiType>>, Vec<SequenceCall>)> {
    let functions = prop::collection::vec(prop::collection::vec(any_type(), 0..4), 1..4);
    functions.prop_flat_map(|functions| {
        let calls = prop::collection::vec(any_call(functions.clone()), 0..6);
        (Just(functions), calls)
    })
}

fn any_call(functions: Vec<Vec<AbiType>>) -> impl Strategy<Value = SequenceCall> {
    let function = (0..functions.len()).prop_flat_map(move |index| {
        let args: Vec<_> = functions[index].iter().map(value_of).collect();
        args.prop_map(move |args| CallPayload::Function {
            function: FunctionId(index as u32),
            args,
        })
    });
    let data = prop::collection::vec(any::<u8>(), 0..40).prop_map(CallPayload::Data);
    let what = prop_oneof![6 => function, 1 => data, 1 => Just(CallPayload::WaitOnly)];
    (what, any::<[u8; 20]>(), any::<[u64; 4]>(), any::<u128>(), any::<[u64; 2]>()).prop_map(
        |(what, from, value, gas_price, [seconds, blocks])| SequenceCall {
            payload: what,
            from: Address::from(from),
            to: MAIN,
            value: U256::from_limbs(value),
            gas_price,
            delay: CallDelay { seconds, blocks },
        },
    )
}

/// Returns a sequence of one call of `put(uint256)`.
fn put(target: &fuzz::target::FuzzTarget, number: u64) -> Vec<SequenceCall> {
    let function = target.find_function("put(uint256)", None).unwrap();
    vec![SequenceCall {
        payload: CallPayload::Function { function, args: vec![AbiValue::Word(U256::from(number))] },
        from: SENDER,
        to: MAIN,
        value: U256::ZERO,
        gas_price: 0,
        delay: CallDelay::default(),
    }]
}

fn list_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn loads_saved_sequences() {
    let (parent, target) = (tempfile::tempdir().unwrap(), target_with_all_types());
    let path = parent.path().join("deep/corpus");
    let folder = CorpusFolder::open(&path).unwrap();
    let first =
        folder.save_sequence(SequenceKind::Coverage, &put(&target, 1), &target, GAS).unwrap();
    let again =
        folder.save_sequence(SequenceKind::Coverage, &put(&target, 1), &target, GAS).unwrap();
    let found =
        folder.save_sequence(SequenceKind::Reproducer, &put(&target, 2), &target, GAS).unwrap();
    let unshrunk =
        folder.save_sequence(SequenceKind::Unshrunk, &put(&target, 3), &target, GAS).unwrap();
    let best =
        folder.save_sequence(SequenceKind::Optimization, &put(&target, 4), &target, GAS).unwrap();
    assert!(first.is_new && !again.is_new && found.is_new && unshrunk.is_new && best.is_new);
    assert_eq!(first.path, again.path);
    let stem = first.path.file_stem().unwrap().to_str().unwrap();
    assert!(stem.parse::<i64>().is_ok(), "{stem} is not an Echidna file name");

    drop(folder);
    let loaded = CorpusFolder::open(&path).unwrap().load(&target).unwrap();
    let expected = [(found, 2), (unshrunk, 3), (best, 4), (first, 1)];
    let expected = expected.map(|(saved, value)| (saved.path, put(&target, value)));
    assert_eq!(loaded.sequences, expected);
    assert!(loaded.set_aside.is_empty() && loaded.foreign.is_empty());
    insta::assert_snapshot!(list_names(&path).join("\n"), @r"
    .vouch-lock
    coverage
    foundry
    reproducers
    reproducers-optimizations
    reproducers-unshrunk
    ");
}

#[test]
fn two_campaigns_cannot_use_one_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = CorpusFolder::open(parent.path()).unwrap();
    let error = CorpusFolder::open(parent.path()).unwrap_err();
    assert!(matches!(&error, CorpusFolderError::InUse(path) if path == parent.path()), "{error}");
    drop(folder);
    CorpusFolder::open(parent.path()).unwrap();
}

#[test]
fn reports_unusable_files_and_loads_the_rest() {
    let (parent, target) = (tempfile::tempdir().unwrap(), target_with_all_types());
    let folder = CorpusFolder::open(parent.path()).unwrap();
    let coverage = parent.path().join("coverage");
    fs::write(coverage.join("1.txt"), "").unwrap();
    fs::write(coverage.join("2.txt"), [0xff, 0xfe]).unwrap();
    fs::write(coverage.join("3.txt"), MODERN.replace("\"all\"", "\"other\"")).unwrap();
    fs::write(coverage.join("4.txt"), LEGACY).unwrap();
    fs::write(coverage.join("5.txt"), &MODERN[..MODERN.len() / 2]).unwrap();
    let huge = fs::File::create(coverage.join("6.txt")).unwrap();
    huge.set_len(MAX_FILE_BYTES + 1).unwrap();
    fs::write(coverage.join("notes.md"), "not ours").unwrap();
    fs::create_dir(coverage.join("7.txt")).unwrap();

    let loaded = folder.load(&target).unwrap();
    assert_eq!(loaded.sequences.len(), 1);
    assert_eq!(loaded.sequences[0].0, coverage.join("4.txt"));
    let report = |unused: &[fuzz::corpus::SkippedFile]| {
        let lines = unused.iter().map(|unused| {
            format!("{}: {}", unused.path.file_name().unwrap().display(), unused.reason)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(report(&loaded.set_aside), @r"
    1.txt.corrupt: invalid JSON
    2.txt.corrupt: the file is not valid UTF-8
    5.txt.corrupt: invalid JSON
    ");
    insta::assert_snapshot!(report(&loaded.foreign), @r"
    3.txt: call 1: the contracts under test have no function `other(uint8,int16,address,bool,bytes4,bytes,string,uint256[],bool[2],(address,string)[],function)`
    6.txt: the file is larger than 16777216 bytes
    ");
    insta::assert_snapshot!(list_names(&coverage).join(" "), @"1.txt.corrupt 2.txt.corrupt 3.txt 4.txt 5.txt.corrupt 6.txt 7.txt notes.md");
    assert!(folder.load(&target).unwrap().set_aside.is_empty(), "damaged files are reported once");
}

#[test]
fn removes_temporary_files_of_a_killed_campaign() {
    let (parent, target) = (tempfile::tempdir().unwrap(), target_with_all_types());
    drop(CorpusFolder::open(parent.path()).unwrap());
    let half = parent.path().join("coverage/.0.vouch-tmp");
    fs::write(&half, &MODERN[..100]).unwrap();
    let folder = CorpusFolder::open(parent.path()).unwrap();
    assert!(!half.exists());
    assert!(folder.load(&target).unwrap().set_aside.is_empty());
}

#[test]
fn failed_write_is_an_error() {
    let (parent, target) = (tempfile::tempdir().unwrap(), target_with_all_types());
    let folder = CorpusFolder::open(parent.path()).unwrap();
    let kept =
        folder.save_sequence(SequenceKind::Reproducer, &put(&target, 1), &target, GAS).unwrap();
    // A file in place of a folder prevents writes below it, even for root.
    fs::remove_dir(parent.path().join("coverage")).unwrap();
    fs::write(parent.path().join("coverage"), "").unwrap();
    let error =
        folder.save_sequence(SequenceKind::Coverage, &put(&target, 2), &target, GAS).unwrap_err();
    assert!(matches!(error, CorpusFolderError::Write { .. }), "{error}");
    assert!(kept.path.exists());
}

#[test]
fn saves_foundry_tests_under_plain_names_only() {
    let parent = tempfile::tempdir().unwrap();
    let folder = CorpusFolder::open(parent.path()).unwrap();
    let saved = folder.save_foundry_test("A.t.sol", "contract A {}").unwrap();
    assert_eq!(saved.path, parent.path().join("foundry/A.t.sol"));
    for name in ["", "../A.t.sol", ".A", "a\\b"] {
        assert!(
            matches!(folder.save_foundry_test(name, ""), Err(CorpusFolderError::Name(_))),
            "{name}"
        );
    }
}

#[test]
fn saves_from_many_threads() {
    let (parent, target) = (tempfile::tempdir().unwrap(), target_with_all_types());
    let folder = CorpusFolder::open(parent.path()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..8 {
                    folder
                        .save_sequence(SequenceKind::Coverage, &put(&target, number), &target, GAS)
                        .unwrap();
                }
            });
        }
    });
    let loaded = folder.load(&target).unwrap();
    assert_eq!(loaded.sequences.len(), 8);
    assert_eq!(list_names(&parent.path().join("coverage")).len(), 8, "temporary files are removed");
}
