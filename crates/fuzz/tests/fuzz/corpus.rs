//! Corpora: the format is Echidna's, and no file is lost or half there.

use std::fs;
use std::path::Path;

use alloy_primitives::{Address, U256, address};
use fuzz::abi::{Type, Value};
use fuzz::call::{Call, Delay, What};
use fuzz::corpus::folder::MAX_FILE_BYTES;
use fuzz::corpus::format::{read, write};
use fuzz::corpus::{Folder, FolderError, Kind};
use fuzz::target::FunctionId;
use proptest::prelude::*;

use crate::any::{any_type, value_of};
use crate::targets::{self, MAIN, SENDER};

const GAS: u64 = 12_500_000;

/// All kinds of arguments in one call, as Echidna 2.3 writes it.
const MODERN: &str = include_str!("corpus/modern.json");

/// A call as Echidna 2.0.2 writes it.
const LEGACY: &str = include_str!("corpus/legacy.json");

fn everything() -> fuzz::target::Target {
    targets::target(&[
        "function all(uint8,int16,address,bool,bytes4,bytes,string,uint256[],bool[2],(address,string)[],function)",
        "function put(uint256)",
        "function put(address)",
    ])
}

#[test]
fn files_of_echidna_are_read_and_written_back_as_they_are() {
    let target = everything();
    let calls = read(MODERN, &target).unwrap();
    insta::assert_debug_snapshot!(calls);
    // The file is laid out for people, and what is written is not.
    let compact: serde_json::Value = serde_json::from_str(MODERN).unwrap();
    assert_eq!(write(&calls, &target, GAS), compact.to_string());
}

#[test]
fn files_of_old_versions_of_echidna_are_read() {
    let target = everything();
    let put = target.find("put(uint256)", None).unwrap();
    let call = |args, seconds| Call {
        what: What::Function { function: put, args: vec![args] },
        from: SENDER,
        to: MAIN,
        value: U256::from(0xff),
        gas_price: 3,
        delay: Delay { seconds, blocks: 2 },
    };
    let expected = vec![call(Value::Word(U256::from(42)), 16), call(Value::Word(U256::MAX), 0)];
    assert_eq!(read(LEGACY, &target).unwrap(), expected);
}

#[test]
fn a_contract_that_moved_keeps_its_corpus() {
    let moved = address!("0x00000000000000000000000000000000000000aa");
    let text = write(&read(LEGACY, &everything()).unwrap(), &everything(), GAS);
    let target = targets::target_at(moved, &["function put(uint256)"]);
    let calls = read(&text, &target).unwrap();
    assert!(calls.iter().all(|call| call.to == moved));
}

/// What is said of one call whose fields are these in the place of good ones.
fn refusal(fields: &[(&str, &str)]) -> String {
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
    match read(&serde_json::Value::from(vec![call]).to_string(), &everything()) {
        Ok(calls) => panic!("{fields:?} was read as {calls:?}"),
        Err(error) => format!("{error}{}", if error.is_foreign() { " (foreign)" } else { "" }),
    }
}

fn argument(json: &str) -> String {
    refusal(&[("call", &format!(r#"{{"tag":"SolCall","contents":["put",[{json}]]}}"#))])
}

#[test]
fn what_is_no_sequence_is_refused_with_its_reason() {
    let said = [
        refusal(&[("call", "")]),
        refusal(&[("call", r#"{"tag":"Nonsense"}"#)]),
        refusal(&[("call", r#"{"tag":"SolCreate","contents":"\"`\""}"#)]),
        refusal(&[("call", r#"{"tag":"SolCalldata","contents":"no literal"}"#)]),
        refusal(&[("call", r#"{"tag":"SolCall","contents":["gone",[]]}"#)]),
        refusal(&[("src", r#""0x1ffffffffffffffffffffffffffffffffffffffff""#)]),
        refusal(&[("value", r#""-1""#)]),
        refusal(&[("value", "1.5")]),
        refusal(&[("delay", r#"["0"]"#)]),
        refusal(&[("delay", r#"["0x10000000000000000", "0"]"#)]),
        refusal(&[("gasprice", r#""0x100000000000000000000000000000000""#)]),
        argument(r#"{"tag":"AbiUInt","contents":[7,"1"]}"#),
        argument(r#"{"tag":"AbiUInt","contents":[8,"256"]}"#),
        argument(r#"{"tag":"AbiUInt","contents":[8]}"#),
        argument(r#"{"tag":"AbiUInt","contents":[16,"1"]}"#),
        argument(r#"{"tag":"AbiInt","contents":[8,"-129"]}"#),
        argument(r#"{"tag":"AbiBytes","contents":[33,"\"\""]}"#),
        argument(r#"{"tag":"AbiBytes","contents":[2,"\"a\""]}"#),
        argument(r#"{"tag":"AbiArray","contents":[2,{"tag":"AbiBoolType"},[]]}"#),
        argument(
            r#"{"tag":"AbiArrayDynamic","contents":[{"tag":"AbiBoolType"},[{"tag":"AbiString","contents":"\"\""}]]}"#,
        ),
    ];
    insta::assert_snapshot!(said.join("\n"));
    for text in ["", "{}", "[1]", "[", &"[".repeat(100_000)] {
        assert!(read(text, &everything()).is_err());
    }
}

proptest! {
    #[test]
    fn sequences_are_read_back((types, calls) in sequence()) {
        let target = targets::target_of(&types);
        prop_assert_eq!(read(&write(&calls, &target, GAS), &target).unwrap(), calls);
    }

    #[test]
    fn a_damaged_file_never_panics(at in 0..MODERN.len(), byte: u8) {
        let mut bytes = MODERN.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = read(&String::from_utf8_lossy(&bytes), &everything());
    }
}

/// Functions by the types of their arguments, and calls of them.
fn sequence() -> impl Strategy<Value = (Vec<Vec<Type>>, Vec<Call>)> {
    let functions = prop::collection::vec(prop::collection::vec(any_type(), 0..4), 1..4);
    functions.prop_flat_map(|functions| {
        let calls = prop::collection::vec(call(functions.clone()), 0..6);
        (Just(functions), calls)
    })
}

fn call(functions: Vec<Vec<Type>>) -> impl Strategy<Value = Call> {
    let function = (0..functions.len()).prop_flat_map(move |index| {
        let args: Vec<_> = functions[index].iter().map(value_of).collect();
        args.prop_map(move |args| What::Function { function: FunctionId(index as u32), args })
    });
    let data = prop::collection::vec(any::<u8>(), 0..40).prop_map(What::Data);
    let what = prop_oneof![6 => function, 1 => data, 1 => Just(What::Nothing)];
    (what, any::<[u8; 20]>(), any::<[u64; 4]>(), any::<u128>(), any::<[u64; 2]>()).prop_map(
        |(what, from, value, gas_price, [seconds, blocks])| Call {
            what,
            from: Address::from(from),
            to: MAIN,
            value: U256::from_limbs(value),
            gas_price,
            delay: Delay { seconds, blocks },
        },
    )
}

/// A sequence of one call of `put(uint256)`.
fn put(target: &fuzz::target::Target, number: u64) -> Vec<Call> {
    let function = target.find("put(uint256)", None).unwrap();
    vec![Call {
        what: What::Function { function, args: vec![Value::Word(U256::from(number))] },
        from: SENDER,
        to: MAIN,
        value: U256::ZERO,
        gas_price: 0,
        delay: Delay::default(),
    }]
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_saved_is_loaded_again() {
    let (place, target) = (tempfile::tempdir().unwrap(), everything());
    let path = place.path().join("deep/corpus");
    let folder = Folder::open(&path).unwrap();
    let first = folder.save(Kind::Coverage, &put(&target, 1), &target, GAS).unwrap();
    let again = folder.save(Kind::Coverage, &put(&target, 1), &target, GAS).unwrap();
    let found = folder.save(Kind::Reproducer, &put(&target, 2), &target, GAS).unwrap();
    let unshrunk = folder.save(Kind::Unshrunk, &put(&target, 3), &target, GAS).unwrap();
    let best = folder.save(Kind::Optimization, &put(&target, 4), &target, GAS).unwrap();
    assert!(first.is_new && !again.is_new && found.is_new && unshrunk.is_new && best.is_new);
    assert_eq!(first.path, again.path);
    let stem = first.path.file_stem().unwrap().to_str().unwrap();
    assert!(stem.parse::<i64>().is_ok(), "{stem} is named as Echidna names files");

    drop(folder);
    let loaded = Folder::open(&path).unwrap().load(&target).unwrap();
    let expected = [(found, 2), (unshrunk, 3), (best, 4), (first, 1)];
    let expected = expected.map(|(saved, value)| (saved.path, put(&target, value)));
    assert_eq!(loaded.sequences, expected);
    assert!(loaded.set_aside.is_empty() && loaded.foreign.is_empty());
    insta::assert_snapshot!(names(&path).join("\n"), @r"
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
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let error = Folder::open(place.path()).unwrap_err();
    assert!(matches!(&error, FolderError::InUse(path) if path == place.path()), "{error}");
    drop(folder);
    Folder::open(place.path()).unwrap();
}

#[test]
fn bad_files_are_named_and_the_rest_is_used() {
    let (place, target) = (tempfile::tempdir().unwrap(), everything());
    let folder = Folder::open(place.path()).unwrap();
    let coverage = place.path().join("coverage");
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
    let said = |unused: &[fuzz::corpus::Unused]| {
        let lines = unused.iter().map(|unused| {
            format!("{}: {}", unused.path.file_name().unwrap().display(), unused.reason)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(said(&loaded.set_aside), @r"
    1.txt.corrupt: the text is not JSON
    2.txt.corrupt: the file is not text
    5.txt.corrupt: the text is not JSON
    ");
    insta::assert_snapshot!(said(&loaded.foreign), @r"
    3.txt: call 1: `other(uint8,int16,address,bool,bytes4,bytes,string,uint256[],bool[2],(address,string)[],function)` is no function of the contracts under test
    6.txt: the file is larger than 16777216 bytes
    ");
    insta::assert_snapshot!(names(&coverage).join(" "), @"1.txt.corrupt 2.txt.corrupt 3.txt 4.txt 5.txt.corrupt 6.txt 7.txt notes.md");
    assert!(folder.load(&target).unwrap().set_aside.is_empty(), "it is told once");
}

#[test]
fn what_a_killed_campaign_left_half_written_is_cleared_away() {
    let (place, target) = (tempfile::tempdir().unwrap(), everything());
    drop(Folder::open(place.path()).unwrap());
    let half = place.path().join("coverage/.0.vouch-tmp");
    fs::write(&half, &MODERN[..100]).unwrap();
    let folder = Folder::open(place.path()).unwrap();
    assert!(!half.exists());
    assert!(folder.load(&target).unwrap().set_aside.is_empty());
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_it() {
    let (place, target) = (tempfile::tempdir().unwrap(), everything());
    let folder = Folder::open(place.path()).unwrap();
    let kept = folder.save(Kind::Reproducer, &put(&target, 1), &target, GAS).unwrap();
    // A file where a folder was: whoever runs the tests, nothing can be written below it.
    fs::remove_dir(place.path().join("coverage")).unwrap();
    fs::write(place.path().join("coverage"), "").unwrap();
    let error = folder.save(Kind::Coverage, &put(&target, 2), &target, GAS).unwrap_err();
    assert!(matches!(error, FolderError::Write { .. }), "{error}");
    assert!(kept.path.exists());
}

#[test]
fn a_test_is_kept_under_a_plain_name_only() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let saved = folder.save_test("A.t.sol", "contract A {}").unwrap();
    assert_eq!(saved.path, place.path().join("foundry/A.t.sol"));
    for name in ["", "../A.t.sol", ".A", "a\\b"] {
        assert!(matches!(folder.save_test(name, ""), Err(FolderError::Name(_))), "{name}");
    }
}

#[test]
fn many_threads_save_at_once() {
    let (place, target) = (tempfile::tempdir().unwrap(), everything());
    let folder = Folder::open(place.path()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..8 {
                    folder.save(Kind::Coverage, &put(&target, number), &target, GAS).unwrap();
                }
            });
        }
    });
    let loaded = folder.load(&target).unwrap();
    assert_eq!(loaded.sequences.len(), 8);
    assert_eq!(names(&place.path().join("coverage")).len(), 8, "nothing unfinished is left");
}
