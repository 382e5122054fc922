//! Prepares the smart contracts, one source for all tools, and the files that each tool needs to fuzz it.
//!
//! ```text
//! <folder of the run>/<name>/
//!   build.json                    output of the compiler, for vouch and the bare loop
//!   forge/foundry.toml
//!   forge/src/<contract>.sol      the source, with the property `echidna_holds`
//!   forge/test/<contract>.t.sol   the test that checks the property in forge
//!   echidna/<contract>.sol        the source again: crytic-compile would take a forge folder for a project
//!   echidna/peer.yaml
//! ```

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::peers::FuzzPeers;

/// Includes the source of a smart contract from a folder of this repository.
macro_rules! solidity_source {
    ($folder:literal, $name:literal, $title:literal) => {
        $crate::fuzz::subjects::SoliditySource {
            name: $name,
            title: $title,
            text: include_str!(concat!($folder, $name, ".sol")),
        }
    };
}
pub(crate) use solidity_source;

/// Source of a smart contract of this repository.
pub(crate) struct SoliditySource {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// Smart contracts whose property always holds.
pub(crate) const HOLDING: [SoliditySource; 2] = [
    solidity_source!("contracts/", "Setter", "setter"),
    solidity_source!("contracts/", "Erc20", "ERC-20"),
];

/// Smart contracts whose property can be broken.
pub(crate) const BREAKABLE: [SoliditySource; 6] = [
    solidity_source!("contracts/", "Flags", "two flags"),
    solidity_source!("contracts/", "SelfTransfer", "self-transfer"),
    solidity_source!("contracts/", "Combination", "four dials in order"),
    solidity_source!("contracts/", "Magic", "sum of 20 bytes"),
    solidity_source!("contracts/", "TimeLock", "time lock"),
    solidity_source!("contracts/", "Shares", "rounded shares"),
];

/// A compiled smart contract that is ready for all tools.
pub(crate) struct FuzzSubject {
    pub(crate) title: String,
    pub(crate) contract: String,
    pub(crate) folder: PathBuf,
}

impl FuzzSubject {
    /// Compiles a smart contract of this repository.
    pub(crate) fn from_source(
        peers: &FuzzPeers,
        work: &Path,
        source: &SoliditySource,
    ) -> Result<Self> {
        let place = work.join(source.name);
        Self::prepare_files(peers, place, source.title, source.name, source.text)
    }

    /// Compiles a maze with a property. Its assertions are left out, because forge ends at the first that fails, and
    /// this measures how many calls it makes.
    pub(crate) fn from_maze_with_property(
        peers: &FuzzPeers,
        work: &Path,
        daedaluzz: &Path,
        number: u32,
    ) -> Result<Self> {
        let text = read_maze(daedaluzz, number)?;
        let text = format!("{}\n{WITH_PROPERTY}", text.replace("assert(false);", ""));
        let (title, place) =
            (format!("maze {number}"), work.join(format!("Maze{number}WithProperty")));
        Self::prepare_files(peers, place, &title, "MazeWithProperty", &text)
    }

    /// Compiles an unchanged maze.
    pub(crate) fn from_maze(
        peers: &FuzzPeers,
        work: &Path,
        daedaluzz: &Path,
        number: u32,
    ) -> Result<Self> {
        let (title, place) = (format!("maze {number}"), work.join(format!("Maze{number}")));
        Self::prepare_files(peers, place, &title, "Maze", &read_maze(daedaluzz, number)?)
    }

    fn prepare_files(
        peers: &FuzzPeers,
        folder: PathBuf,
        title: &str,
        contract: &str,
        text: &str,
    ) -> Result<Self> {
        let file = format!("{contract}.sol");
        let (forge, echidna) = (folder.join("forge"), folder.join("echidna"));
        write_file(&forge.join("foundry.toml"), &foundry_toml(&peers.solc()))?;
        write_file(&forge.join("src").join(&file), text)?;
        write_file(
            &forge.join("test").join(format!("{contract}.t.sol")),
            &forge_harness(contract),
        )?;
        write_file(&echidna.join(&file), text)?;
        write_file(&echidna.join("peer.yaml"), ECHIDNA_YAML)?;
        // Next to the build, where vouch looks up source lines.
        write_file(&folder.join(&file), text)?;
        let output = compile_source(peers, &file, text)
            .with_context(|| format!("failed to compile {title}"))?;
        fs::write(folder.join("build.json"), output)?;
        Ok(Self { title: title.to_owned(), contract: contract.to_owned(), folder })
    }

    pub(crate) fn build_path(&self) -> PathBuf {
        self.folder.join("build.json")
    }

    /// Returns the folder in which forge runs.
    pub(crate) fn forge_folder(&self) -> PathBuf {
        self.folder.join("forge")
    }

    /// Returns the folder in which Echidna runs, and the file name of the source.
    pub(crate) fn echidna_source(&self) -> (PathBuf, String) {
        (self.folder.join("echidna"), format!("{}.sol", self.contract))
    }
}

const WITH_PROPERTY: &str = "contract MazeWithProperty is Maze {
  function echidna_holds() external view returns (bool) {
    return address(this).balance < 1e40;
  }
}
";

/// Writes a file and creates its parent folders.
fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("the file has no parent folder")?)?;
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

fn read_maze(daedaluzz: &Path, number: u32) -> Result<String> {
    let path = daedaluzz.join(format!("generated-mazes/maze-{number}.sol"));
    fs::read_to_string(&path).with_context(|| {
        format!(
            "{} cannot be read; is `{}` a checkout of Consensys/daedaluzz?",
            path.display(),
            daedaluzz.display()
        )
    })
}

/// Returns a Foundry test that checks the property, with the callers that the other tools use.
fn forge_harness(contract: &str) -> String {
    format!(
        r#"// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

import {{{contract}}} from "../src/{contract}.sol";

contract BenchTest {{
    {contract} private target;

    function setUp() external {{
        target = new {contract}();
    }}

    function targetContracts() external view returns (address[] memory all) {{
        all = new address[](1);
        all[0] = address(target);
    }}

    function targetSenders() external pure returns (address[] memory all) {{
        all = new address[](3);
        (all[0], all[1], all[2]) = (address(0x10000), address(0x20000), address(0x30000));
    }}

    function invariant_holds() external view {{
        require(target.echidna_holds(), "broken");
    }}
}}
"#
    )
}

/// Returns the configuration of forge. Delays equal those of the other tools; without them no time lock opens.
fn foundry_toml(solc: &Path) -> String {
    format!(
        "[profile.default]
libs = []
solc = '{}'
offline = true
optimizer = true
optimizer_runs = 200

[invariant]
fail_on_revert = false
shrink_run_limit = 0
max_time_delay = 604800
max_block_delay = 60480
failure_persist_dir = 'failures'
",
        solc.display()
    )
}

const ECHIDNA_YAML: &str = "format: json
quiet: true
seqLen: 100
shrinkLimit: 0
stopOnFail: true
";

/// Returns the standard JSON output of the compiler.
fn compile_source(peers: &FuzzPeers, source: &str, text: &str) -> Result<Vec<u8>> {
    let input = json!({
        "language": "Solidity",
        "sources": {source: {"content": text}},
        "settings": {
            "optimizer": {"enabled": true, "runs": 200},
            "outputSelection": {"*": {
                "": ["ast"],
                "*": ["abi", "evm.bytecode", "evm.deployedBytecode"],
            }},
        },
    });
    let mut command = peers.command(&peers.solc())?;
    let output = run_with_input(command.arg("--standard-json"), input.to_string().as_bytes())?;
    let json: Value = serde_json::from_slice(&output).context("the compiler wrote no JSON")?;
    for error in json["errors"].as_array().into_iter().flatten() {
        if error["severity"] == "error" {
            bail!("{}", error["formattedMessage"].as_str().unwrap_or("an error without a text"));
        }
    }
    Ok(output)
}

/// Runs a program with this input and returns its stdout.
fn run_with_input(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {:?}", command.get_program()))?;
    child.stdin.take().context("stdin is piped")?.write_all(input)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the compiler failed with {}", output.status);
    Ok(output.stdout)
}
