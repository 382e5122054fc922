//! Builds of solc 0.8.37 with hits recorded by an independent EVM. `fixtures/README.md` describes their origin.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use coverage::{CodeHits, CodeSection, CoverageReport, EdgeHit};
use serde_json::Value;
use solidity::{ContractBytecode, SolidityBuild, SolidityContract, SoliditySource, SourceMap};

/// Compiler settings of a fixture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Unoptimized,
    Optimized,
    ViaIr,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Unoptimized => "none",
            Self::Optimized => "opt",
            Self::ViaIr => "ir",
        }
    }
}

/// A build with recorded hits.
pub(crate) struct Fixture {
    pub(crate) build: SolidityBuild,
    pub(crate) hits: Vec<CodeHits>,
}

impl Fixture {
    /// Loads a fixture. The executed contract has the name of the file.
    pub(crate) fn load(name: &str, mode: Mode) -> Self {
        let path = format!("{name}.sol");
        let ast = json(&format!("{name}.ast.json"));
        let compiled = json(&format!("{name}.{}.json", mode.name()));
        let source = SoliditySource {
            id: 0,
            path: path.clone(),
            text: read(&path).into(),
            ast: Some(Arc::new(ast)),
        };
        let contracts = compiled["contracts"].as_object().expect("contracts").iter();
        let contracts: Vec<SolidityContract> = contracts
            .map(|(name, contract)| SolidityContract {
                name: name.clone(),
                source: path.clone(),
                abi: serde_json::from_str("[]").expect("an empty ABI"),
                creation: code(&contract["creation"]),
                runtime: code(&contract["runtime"]),
                immutables: Vec::new(),
            })
            .collect();
        let run =
            contracts.iter().position(|contract| contract.name == name).expect("the contract");
        let hits = [(CodeSection::Creation, "Creation"), (CodeSection::Runtime, "Runtime")]
            .map(|(part, key)| hits(&contracts[run], run, part, &compiled["hits"][key]));
        let build = SolidityBuild { compiler: None, sources: vec![source], contracts };
        Self { build, hits: hits.into() }
    }

    pub(crate) fn report(&self) -> CoverageReport {
        CoverageReport::new(&self.build, &self.hits)
    }
}

fn hits(
    contract: &SolidityContract,
    index: usize,
    part: CodeSection,
    recorded: &Value,
) -> CodeHits {
    let code = match part {
        CodeSection::Creation => &contract.creation,
        CodeSection::Runtime => &contract.runtime,
    };
    let edges = recorded["edges"].as_array().expect("edges").iter().map(|edge| EdgeHit {
        offset: number(&edge[0]),
        taken: edge[1].as_bool().expect("taken"),
        seen: true,
    });
    CodeHits {
        contract: index,
        part,
        code: code.bytes.clone(),
        blocks: counts(&recorded["blocks"]),
        edges: edges.collect(),
        halts: counts(&recorded["halts"]),
    }
}

fn counts(pairs: &Value) -> Vec<(usize, u64)> {
    let pairs = pairs.as_array().expect("pairs").iter();
    pairs.map(|pair| (number(&pair[0]), pair[1].as_u64().expect("count"))).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("number")).expect("an offset")
}

fn code(part: &Value) -> ContractBytecode {
    let object = part["object"].as_str().expect("code").as_bytes();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal")
    };
    ContractBytecode {
        bytes: object.chunks(2).map(byte).collect(),
        links: Vec::new(),
        source_map: SourceMap::parse(part["sourceMap"].as_str().expect("source map")),
    }
}

fn json(file: &str) -> Value {
    serde_json::from_str(&read(file)).expect("JSON")
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
