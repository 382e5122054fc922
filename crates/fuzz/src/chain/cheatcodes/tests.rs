//! Tests cheat codes as smart contracts observe them.
//!
//! The contracts are in `tests/Cheater.sol`, which documents how they were compiled. They check most results
//! themselves, and also run under Foundry.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_json_abi::Function;
use alloy_primitives::{Address, Bytes, Selector, U256, address, hex};
use revm::interpreter::{CallInput, CallInputs, CallScheme, CallValue, InstructionResult};

use super::super::{
    CallLimits, ChainSetup, ChainState, CompiledCodeIndex, EvmMachine, EvmTransaction,
    NotRunReason, StateChange, TransactionOutcome,
};
use super::table::compute_selector;
use super::{CHEATCODE_ADDRESS, SUPPORTED_CHEATCODES, encoding, run_cheatcode};

const LIMITS: CallLimits = CallLimits { gas: 12_500_000, time: Duration::from_secs(60) };
const SENDER: Address = address!("0x0000000000000000000000000000000000010000");
const ALICE: Address = address!("0x00000000000000000000000000000000000a11ce");

/// Returns a chain with the contract deployed, and its address.
fn deploy_cheater() -> (EvmMachine, Address) {
    let mut machine = machine(true);
    let code = include_str!("tests/Cheater.hex").replace('\n', "");
    let code = hex::decode(code).expect("the file holds hexadecimal digits");
    let (outcome, address) = machine.deploy_code(SENDER, None, code.into(), U256::ZERO);
    assert!(outcome.is_success(), "{outcome:?}");
    (machine, address.expect("the contract was deployed"))
}

fn machine(cheats: bool) -> EvmMachine {
    machine_with(cheats, false)
}

fn machine_with(cheats: bool, ffi: bool) -> EvmMachine {
    let setup = ChainSetup {
        timestamp: 1_000,
        block: 10,
        chain_id: 1,
        code_size: usize::MAX,
        cheats,
        ffi,
        ffi_path: None,
    };
    EvmMachine::new(
        ChainState::new(&setup),
        Arc::new(CompiledCodeIndex::default()),
        Vec::new(),
        LIMITS,
    )
}

fn transaction(to: Address, data: impl Into<Bytes>) -> EvmTransaction {
    EvmTransaction { from: SENDER, to, value: U256::ZERO, gas_price: 0, data: data.into() }
}

fn call(
    machine: &mut EvmMachine,
    to: Address,
    signature: &str,
    arguments: &[u8],
) -> TransactionOutcome {
    let data = [compute_selector(signature).as_slice(), arguments].concat();
    machine.call(&transaction(to, data))
}

/// Calls functions without arguments, each on a fresh chain, and returns their outcomes as text.
fn run_functions(names: &[&str]) -> String {
    let mut report = String::new();
    let (mut machine, at) = deploy_cheater();
    let fresh = machine.checkpoint();
    for name in names {
        machine.rewind(&fresh);
        let outcome = call(&mut machine, at, &format!("{name}()"), &[]);
        let broken = if outcome.breaks_assertion() { " [breaks an assertion]" } else { "" };
        writeln!(report, "{name}: {}{broken}", reason(&outcome)).expect("strings take any text");
    }
    report
}

fn reason(outcome: &TransactionOutcome) -> String {
    let text =
        outcome.output.strip_prefix(&encoding::CHEATCODE_ERROR).and_then(|rest| rest.get(64..));
    match text {
        _ if outcome.is_discarded() => "discarded".to_owned(),
        _ if outcome.is_success() => "passes".to_owned(),
        Some(text) => String::from_utf8_lossy(text).trim_end_matches('\0').to_owned(),
        None => format!("{:?} {}", outcome.result, outcome.output),
    }
}

#[test]
fn passes_where_foundry_passes() {
    let names = [
        "test_block",
        "test_accounts",
        "test_prank_is_for_one_call",
        "test_prank_with_origin",
        "test_prank_lasts_until_stopped",
        "test_prank_nests",
        "nest_pranks_of_two_kinds",
        "test_prank_pays",
        "test_prank_creates",
        "test_prank_of_helper_stays_there",
        "test_prank_is_used_up_by_libraries",
        "test_sender_is_real",
        "test_expected_reverts",
        "test_expected_revert_with_prank_and_depth",
        "undo_what_reverted",
        "test_keys",
        "test_texts",
        "test_events",
        "test_assertions",
        "test_near",
        "test_caught_assertion",
        "test_nothing_is_changed",
    ];
    let all = names.map(|name| format!("{name}: passes\n")).concat();
    assert_eq!(run_functions(&names), all);
}

#[test]
fn fails_with_reason_where_foundry_fails() {
    insta::assert_snapshot!(run_functions(&[
        "test_not_chain_id_too_large",
        "test_not_lower_nonce",
        "test_not_etch_precompile",
        "test_not_prank_twice",
        "test_not_prank_within_lasting",
        "test_not_prank_without_money",
        "test_not_reverted",
        "test_not_that_selector",
        "test_not_that_text",
        "test_not_silent",
        "test_not_without_call",
        "test_not_without_call_deeper",
        "test_not_expect_twice",
        "test_not_key_zero",
        "test_not_true",
        "test_not_false",
        "test_not_equal",
        "test_not_equal_text",
        "test_not_equal_list",
        "test_not_different",
        "test_not_less",
        "test_not_greater",
        "test_not_near",
        "test_not_near_share",
        "test_not_near_zero",
        "test_not_noted",
    ]), @r#"
    test_not_chain_id_too_large: vm.chainId: 18446744073709551616 is too large for a chain id
    test_not_lower_nonce: vm.setNonce: nonce 8 is below the current nonce 9 of 0x00000000000000000000000000000000000A11cE
    test_not_etch_precompile: vm.etch: 0x0000000000000000000000000000000000000002 is a precompile; its code cannot be replaced
    test_not_prank_twice: vm.prank: the previous prank has not been used; make a call before starting another
    test_not_prank_within_lasting: vm.prank: a `startPrank` prank is active; call `stopPrank` first
    test_not_prank_without_money: Revert 0x
    test_not_reverted: the call was expected to revert, but it did not [breaks an assertion]
    test_not_that_selector: the call reverted with 0x0b35a66f0000000000000000000000000000000000000000000000000000000000000001, but 0x0b35a66f was expected [breaks an assertion]
    test_not_that_text: the call reverted with "no", but "yes" was expected [breaks an assertion]
    test_not_silent: the call reverted with no data, but "yes" was expected [breaks an assertion]
    test_not_without_call: a revert was expected, but no call followed [breaks an assertion]
    test_not_without_call_deeper: a revert was expected, but no call followed [breaks an assertion]
    test_not_expect_twice: vm.expectRevert: a revert is already expected; make the reverting call first
    test_not_key_zero: vm.addr: invalid private key: must be nonzero and below the order of secp256k1
    test_not_true: assertion failed [breaks an assertion]
    test_not_false: it is [breaks an assertion]
    test_not_equal: assertion failed: 1 != 2 [breaks an assertion]
    test_not_equal_text: letters: a != b [breaks an assertion]
    test_not_equal_list: assertion failed: [0x, 0x0102] != [0x, 0x] [breaks an assertion]
    test_not_different: assertion failed: 0x0000000000000000000000000000000000000B0b == 0x0000000000000000000000000000000000000B0b [breaks an assertion]
    test_not_less: assertion failed: 0 >= -1 [breaks an assertion]
    test_not_greater: size: 1 < 2 [breaks an assertion]
    test_not_near: assertion failed: 100 !~= 103 (difference 3 exceeds 2) [breaks an assertion]
    test_not_near_share: share: -94 !~= -100 (relative difference 60000000000000000 / 1e18 exceeds 50000000000000000 / 1e18) [breaks an assertion]
    test_not_near_zero: zero: 1 !~= 0 (only 0 is approximately 0) [breaks an assertion]
    test_not_noted: passes [breaks an assertion]
    "#);
}

#[test]
fn calls_every_test_of_the_fixture() {
    let source = include_str!("tests/Cheater.sol");
    let here = include_str!("tests.rs");
    for (_, rest) in source.match_indices("function test_").map(|(at, _)| source.split_at(at + 9)) {
        let name = rest.split('(').next().expect("a function has parameters");
        assert!(here.contains(&format!("\"{name}\"")), "{name} is in no test");
    }
}

#[test]
fn failed_assumption_discards_and_undoes_the_call() {
    let (mut machine, at) = deploy_cheater();
    let before = machine.checkpoint();
    let outcome =
        call(&mut machine, at, "assume_less(uint256)", &U256::from(10).to_be_bytes::<32>());
    assert!(outcome.is_discarded() && !outcome.is_revert() && !outcome.is_success());
    assert!(!outcome.breaks_assertion());
    assert_eq!(machine.change_since(&before), StateChange::NOTHING);
    assert_eq!((machine.now(), machine.balance(ALICE)), ((1_000, 10), U256::ZERO));

    let outcome =
        call(&mut machine, at, "assume_less(uint256)", &U256::from(9).to_be_bytes::<32>());
    assert!(outcome.is_success() && !outcome.is_discarded());
    assert_eq!(
        machine.change_since(&before),
        StateChange { storage: false, ..StateChange::EVERYTHING }
    );
    assert_eq!((machine.now(), machine.balance(ALICE)), ((3, 10), U256::ONE));
}

#[test]
fn skipped_test_is_not_run() {
    let (mut machine, at) = deploy_cheater();
    let outcome = call(&mut machine, at, "skip_all()", &[]);
    let reason = outcome.not_run_reason().map(ToString::to_string).unwrap_or_default();
    assert!(outcome.is_discarded() && reason.starts_with("skipped by vm.skip"), "{reason}");
}

#[test]
fn expectations_and_undone_pranks_end_with_the_transaction() {
    for (first, is_real) in [
        ("test_not_without_call()", true),
        ("test_not_prank_within_lasting()", true),
        // As in forge, a prank that was not stopped goes on.
        ("leave_prank()", false),
    ] {
        let (mut machine, at) = deploy_cheater();
        call(&mut machine, at, first, &[]);
        let outcome = call(&mut machine, at, "test_sender_is_real()", &[]);
        assert_eq!(outcome.is_success(), is_real, "after {first}: {outcome:?}");
    }
}

#[test]
fn rewinding_and_failing_undo_all_changes() {
    let (mut machine, at) = deploy_cheater();
    let mark = machine.checkpoint();
    assert!(call(&mut machine, at, "change_all()", &[]).is_success());
    assert!(!call(&mut machine, at, "test_nothing_is_changed()", &[]).is_success());
    machine.rewind(&mark);
    assert!(call(&mut machine, at, "test_nothing_is_changed()", &[]).is_success());

    assert!(call(&mut machine, at, "change_all_and_fail()", &[]).is_revert());
    assert!(call(&mut machine, at, "test_nothing_is_changed()", &[]).is_success());
}

#[test]
fn block_change_alone_is_a_state_change() {
    let (mut machine, at) = deploy_cheater();
    let mark = machine.checkpoint();
    call(&mut machine, at, "test_sender_is_real()", &[]);
    assert_eq!(machine.change_since(&mark), StateChange::NOTHING);
    call(&mut machine, at, "test_block()", &[]);
    assert!(machine.change_since(&mark).block);
}

#[test]
fn refused_cheat_code_undoes_the_transaction() {
    let named = "the cheat code vm.ffi(string[]) runs programs; pass `--allow-ffi` to allow it";
    let (mut machine, at) = deploy_cheater();
    let before = machine.checkpoint();
    for function in ["use_ffi()", "catch_ffi()"] {
        let outcome = call(&mut machine, at, function, &[]);
        assert!(outcome.is_discarded() && !outcome.is_success() && !outcome.is_revert());
        assert_eq!(outcome.not_run_reason(), Some(&NotRunReason::RefusedCheatcode(named.into())));
        assert_eq!(machine.change_since(&before), StateChange::NOTHING, "{function}");
    }
    let outcome = call(&mut machine, at, "test_sender_is_real()", &[]);
    assert!(outcome.is_success() && outcome.not_run_reason().is_none(), "{outcome:?}");
}

/// Code that calls the address in its first argument with the rest of its calldata, and ignores the result.
const FORWARDER: [u8; 27] = hex!("602436036024600037600060006024360360006000 600435 5af100");

/// Forwards a call to the cheat code address, which the forwarder receives in calldata or contains.
fn forward_call(signature: &str, is_passed: bool) -> TransactionOutcome {
    let mut machine = machine(true);
    let mut code = FORWARDER.to_vec();
    let mut argument = CHEATCODE_ADDRESS.into_word();
    if !is_passed {
        let load = hex!("600435");
        let at = code.windows(3).position(|it| it == load).expect("it loads the argument");
        let push = [&[0x73][..], CHEATCODE_ADDRESS.as_slice()].concat();
        code.splice(at..at + 3, push);
        argument = Default::default();
    }
    machine.set_code(ALICE, code.into());
    let inner = compute_selector(signature);
    let data = [&[0; 4][..], argument.as_slice(), inner.as_slice()].concat();
    machine.call(&transaction(ALICE, data))
}

#[test]
fn unknown_selector_is_an_unsupported_cheat_code_unless_the_address_was_passed() {
    let outcome = forward_call("receiveEther(uint256)", false);
    let named = outcome.not_run_reason().map(ToString::to_string);
    assert_eq!(named.as_deref(), Some("unsupported cheat code with selector 0x1efa4ec0"));
    let outcome = forward_call("receiveEther(uint256)", true);
    assert!(outcome.is_success() && outcome.not_run_reason().is_none(), "{outcome:?}");
    for is_passed in [false, true] {
        let outcome = forward_call("readDir(string)", is_passed);
        let named = outcome.not_run_reason().map(ToString::to_string);
        let expected = "unsupported cheat code vm.readDir(string)";
        assert_eq!(named.as_deref(), Some(expected));
    }
}

#[test]
fn passed_address_is_forgotten_on_rewind() {
    let mut machine = machine(true);
    let mark = machine.checkpoint();
    let data = [&[0; 16][..], CHEATCODE_ADDRESS.as_slice()].concat();
    machine.call(&transaction(ALICE, data));
    assert!(machine.engine.ctx.chain.cheats.is_address_passed());
    machine.rewind(&mark);
    assert!(!machine.engine.ctx.chain.cheats.is_address_passed());
}

#[test]
fn transaction_to_the_cheat_code_address_is_an_ordinary_transfer() {
    for signature in ["assume(bool)", "mockCall(address,bytes,bytes)", "unknown(uint256)"] {
        let mut machine = machine(true);
        machine.set_balance(SENDER, U256::from(7));
        let data = [compute_selector(signature).as_slice(), &[0; 32]].concat();
        let paying =
            EvmTransaction { value: U256::from(7), ..transaction(CHEATCODE_ADDRESS, data) };
        let outcome = machine.call(&paying);
        assert!(outcome.is_success() && outcome.output.is_empty(), "{signature}: {outcome:?}");
        assert_eq!(machine.balance(CHEATCODE_ADDRESS), U256::from(7));
    }
}

#[test]
fn programs_get_the_search_path_of_the_settings() {
    let state = super::CheatcodeState::new(true, true, Some("/usr/bin:/bin"));
    assert_eq!(state.variables.get("PATH").map(String::as_str), Some("/usr/bin:/bin"));
    assert!(super::CheatcodeState::new(true, true, None).variables.is_empty());
}

#[test]
fn cheat_code_address_is_ordinary_when_disabled() {
    let mut machine = machine(false);
    let outcome = call(&mut machine, CHEATCODE_ADDRESS, "assume(bool)", &[0; 32]);
    assert!(outcome.is_success() && outcome.output.is_empty() && !outcome.is_discarded());
    assert!(machine.code(CHEATCODE_ADDRESS).is_empty());
}

/// Calls a cheat code directly, without a smart contract.
fn dispatch(signature: &str, arguments: &[u8]) -> Result<(InstructionResult, Bytes), String> {
    let mut machine = machine_with(true, true);
    let answer = call_cheatcode(&mut machine, signature, arguments);
    let reason = machine.engine.ctx.chain.cheats.verdict.not_run.as_ref();
    // Only `vm.skip` ends a test, a return to a snapshot that does not exist, and what the user did not allow.
    let may_end = ["skip(", "revertTo"].iter().any(|name| signature.starts_with(name))
        || matches!(reason, Some(NotRunReason::RefusedCheatcode(_)));
    assert!(reason.is_none() || may_end, "{signature}: {reason:?}");
    answer
}

fn call_cheatcode(
    machine: &mut EvmMachine,
    signature: &str,
    arguments: &[u8],
) -> Result<(InstructionResult, Bytes), String> {
    let data = [compute_selector(signature).as_slice(), arguments].concat();
    let inputs = CallInputs {
        input: CallInput::Bytes(data.into()),
        return_memory_offset: 0..0,
        gas_limit: LIMITS.gas,
        reservoir: 0,
        bytecode_address: CHEATCODE_ADDRESS,
        known_bytecode: Default::default(),
        target_address: CHEATCODE_ADDRESS,
        caller: SENDER,
        value: CallValue::Transfer(U256::ZERO),
        scheme: CallScheme::Call,
        is_static: false,
        charged_new_account_state_gas: false,
    };
    let result = run_cheatcode(&mut machine.engine.ctx, &inputs)?;
    Ok((result.result, result.output))
}

#[test]
fn each_supported_cheat_code_is_dispatched() {
    let mut selectors: HashSet<Selector> = HashSet::new();
    for signature in SUPPORTED_CHEATCODES {
        let parsed = Function::parse(signature).expect("a signature is one of Solidity");
        assert_eq!(&parsed.signature(), signature, "not written in full");
        assert!(selectors.insert(parsed.selector()), "{signature} is there twice");
        // 1 is valid as a private key, a number and an offset into the data.
        let ones = U256::ONE.to_be_bytes::<32>().repeat(6);
        let _ = dispatch(signature, &ones);
    }
}

#[test]
fn rejects_truncated_arguments() {
    for signature in SUPPORTED_CHEATCODES.iter().filter(|signature| !signature.ends_with("()")) {
        let parsed = Function::parse(signature).expect("a signature is one of Solidity");
        let takes_nothing = ["allowCheatcodes", "breakpoint"].contains(&parsed.name.as_str());
        let (result, output) = dispatch(signature, &[0; 31]).expect("nothing is discarded");
        assert_eq!(result.is_revert(), !takes_nothing, "{signature}");
        let text = String::from_utf8_lossy(&output);
        assert!(takes_nothing || text.contains("arguments are truncated"), "{signature}: {text}");
    }
}

#[test]
fn rejects_oversized_calldata() {
    let (result, output) =
        dispatch("toString(bytes)", &[0; 1 << 18]).expect("nothing is discarded");
    assert!(result.is_revert());
    assert!(String::from_utf8_lossy(&output).contains("has 262148 bytes; the limit is 262144"));
}

#[test]
fn assertion_messages_truncate_long_values() {
    let word = |number: usize| U256::from(number).to_be_bytes::<32>();
    let arguments = [&word(64)[..], &word(64), &word(5_000), &[0xab; 5_024]].concat();
    let (_, output) =
        dispatch("assertNotEq(bytes,bytes)", &arguments).expect("nothing is discarded");
    let text = String::from_utf8_lossy(&output).into_owned();
    assert!(text.contains("assertion failed: 0xabab") && text.contains("ab… == 0xab"), "{text}");
    assert!(output.len() < 3_000);
}

#[test]
fn selectors_match_foundry() {
    for (signature, expected) in [
        ("warp(uint256)", hex!("e5d6bf02")),
        ("prank(address)", hex!("ca669fa7")),
        ("expectRevert(bytes4)", hex!("c31eb0e0")),
        ("assume(bool)", hex!("4c63e562")),
        ("store(address,bytes32,bytes32)", hex!("70ca10bb")),
        ("sign(uint256,bytes32)", hex!("e341eaa4")),
        ("CheatcodeError(string)", encoding::CHEATCODE_ERROR),
    ] {
        assert_eq!(compute_selector(signature), expected, "{signature}");
    }
}

/// Runs a program by `ffi` and returns its output in hex, or the error.
fn check_program(machine: &mut EvmMachine, words: &[&str]) -> String {
    let words = words.iter().map(|word| DynSolValue::String((*word).to_owned())).collect();
    let arguments = DynSolValue::Tuple(vec![DynSolValue::Array(words)]).abi_encode_params();
    match call_cheatcode(machine, "ffi(string[])", &arguments) {
        Ok((InstructionResult::Return, output)) => {
            let output = DynSolType::Bytes.abi_decode(&output).expect("bytes are returned");
            hex::encode(output.as_bytes().expect("bytes are returned"))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn ffi_reverts_unless_allowed() {
    let mut machine = machine(true);
    let words = ["true"];
    assert_eq!(check_program(&mut machine, &words), r#"Err("")"#);
    let reason = machine.engine.ctx.chain.cheats.verdict.not_run.as_ref();
    let named = "the cheat code vm.ffi(string[]) runs programs; pass `--allow-ffi` to allow it";
    assert_eq!(reason, Some(&NotRunReason::RefusedCheatcode(named.into())));
}

#[test]
fn ffi_returns_decoded_hex_or_text() {
    let mut machine = machine_with(true, true);
    let variable = DynSolValue::Tuple(vec!["WORD".to_owned().into(), "0x2a".to_owned().into()]);
    call_cheatcode(&mut machine, "setEnv(string,string)", &variable.abi_encode_params())
        .expect("the variable is set");
    let say = |text| ["sh", "-c", text];
    assert_eq!(check_program(&mut machine, &say("echo 0x1234")), "1234");
    assert_eq!(check_program(&mut machine, &say("echo ok!")), hex::encode("ok!"));
    assert_eq!(check_program(&mut machine, &say("echo $WORD")), "2a");
    assert!(check_program(&mut machine, &say("exit 3")).contains("Revert"));
    assert!(check_program(&mut machine, &[]).contains("Revert"));
    assert!(check_program(&mut machine, &["/does/not/exist"]).contains("Revert"));
    assert_eq!(machine.engine.ctx.chain.cheats.verdict.not_run, None);
}

#[test]
fn charges_intrinsic_gas_before_code_runs() {
    let mut machine = machine(false);
    // Returns the gas that is left.
    machine.set_code(ALICE, hex!("5a5f5260205ff3").into());
    let limits = CallLimits { gas: 30_000, ..LIMITS };
    let outcome = machine.call_with_limits(&transaction(ALICE, vec![0, 1]), limits);
    assert_eq!(U256::from_be_slice(&outcome.output), U256::from(30_000 - 21_000 - 4 - 16 - 2));
    let limits = CallLimits { gas: 21_010, ..LIMITS };
    let outcome = machine.call_with_limits(&transaction(ALICE, vec![0, 1]), limits);
    assert_eq!(outcome.result, InstructionResult::OutOfGas);
}
