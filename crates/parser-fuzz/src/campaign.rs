//! Files of the fuzzer for smart contracts: calls as text, Echidna's configuration and corpus.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use alloy_json_abi::JsonAbi;
use alloy_primitives::Address;
use fuzz::chain::{ChainSetup, ChainState, CompiledCodeIndex};
use fuzz::target::{DeployedContract, FuzzTarget, TargetFunction};

/// Functions with every kind of ABI type.
const FUNCTIONS: [&str; 7] = [
    "function deposit(uint256 amount) payable",
    "function move(address to, int8 steps, bool fast)",
    "function store(bytes32 key, bytes data, string text)",
    "function many(uint8[] small, uint256[3] fixedSize, address[2][] pairs)",
    "function pack((uint256,(bytes4,string)[]))",
    "function none()",
    "function deposit(int256 amount)",
];

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    let abi = JsonAbi::parse(FUNCTIONS).expect("valid declarations");
    let address = Address::repeat_byte(0x11);
    let functions = TargetFunction::from_abi(0, address, &abi).expect("known types");
    let contract = DeployedContract { name: "Main".to_owned(), contract: 0, address };
    FuzzTarget {
        build: Arc::default(),
        codes: Arc::new(CompiledCodeIndex::default()),
        state: ChainState::new(&ChainSetup {
            timestamp: 1,
            block: 1,
            chain_id: 1,
            code_size: 1 << 20,
            cheats: false,
            ffi: false,
            ffi_path: None,
        }),
        hits: Arc::default(),
        contracts: vec![contract],
        functions,
        callable: Vec::new(),
        tests: Vec::new(),
        units: HashSet::new(),
        reverts_fail: Default::default(),
        foundry: Default::default(),
        fixtures: Default::default(),
        seeds: Vec::new(),
        settings: Default::default(),
        fallbacks: Vec::new(),
        warnings: Vec::new(),
    }
});

/// A call that parses is written and parsed again without a change.
pub(crate) fn parse_call_script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines() {
        let Ok(step) = fuzz::script::parse_call(line, &TARGET) else { continue };
        let written = step.to_text(&TARGET);
        let again = fuzz::script::parse_call(&written, &TARGET)
            .unwrap_or_else(|error| panic!("`{written}` does not parse: {error}"));
        assert_eq!(again.to_text(&TARGET), written);
    }
}

/// A sequence that parses is written and parsed again without a change.
pub(crate) fn parse_corpus_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(calls) = fuzz::corpus::format::parse_sequence(text, &TARGET) else { return };
    let written = fuzz::corpus::format::serialize_sequence(&calls, &TARGET, 1_000_000);
    let again =
        fuzz::corpus::format::parse_sequence(&written, &TARGET).expect("a written sequence parses");
    assert_eq!(fuzz::corpus::format::serialize_sequence(&again, &TARGET, 1_000_000), written);
}

pub(crate) fn parse_echidna_yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok((settings, warnings)) = fuzz::config::echidna_yaml::parse_config(text) {
        drop((settings.check_bounds(), settings.ineffective(), warnings));
    }
}
