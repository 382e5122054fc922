//! The contracts, each the same source for all tools, and the files that each tool needs to fuzz it.
//!
//! ```text
//! <folder of the run>/<name>/
//!   build.json                what the compiler made of the contract, for vouch and the bare loop
//!   forge/foundry.toml
//!   forge/src/<contract>.sol      the contract, with the property `echidna_holds`
//!   forge/test/<contract>.t.sol   what asks the property for forge
//!   echidna/<contract>.sol        the contract again: crytic-compile would take a folder of forge for a project
//!   echidna/peer.yaml
//! ```

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::peers::Peers;

/// A contract in a folder of this repository.
macro_rules! own {
    ($folder:literal, $name:literal, $title:literal) => {
        $crate::fuzz::subjects::Source {
            name: $name,
            title: $title,
            text: include_str!(concat!($folder, $name, ".sol")),
        }
    };
}
pub(crate) use own;

/// A contract of this repository.
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// Those whose property always holds.
pub(crate) const HOLDING: [Source; 2] =
    [own!("contracts/", "Setter", "setter"), own!("contracts/", "Erc20", "ERC-20")];

/// Those whose property can be broken.
pub(crate) const BREAKABLE: [Source; 6] = [
    own!("contracts/", "Flags", "two flags"),
    own!("contracts/", "SelfTransfer", "self-transfer"),
    own!("contracts/", "Combination", "four dials in order"),
    own!("contracts/", "Magic", "sum of 20 bytes"),
    own!("contracts/", "TimeLock", "time lock"),
    own!("contracts/", "Shares", "rounded shares"),
];

/// A contract that is compiled and ready for all tools.
pub(crate) struct Subject {
    pub(crate) title: String,
    pub(crate) contract: String,
    pub(crate) folder: PathBuf,
}

impl Subject {
    /// Compiles a contract of this repository.
    pub(crate) fn own(peers: &Peers, work: &Path, source: &Source) -> Result<Self> {
        let place = work.join(source.name);
        Self::prepare(peers, place, source.title, source.name, source.text)
    }

    /// A maze with a property, for all tools that want one. Its assertions are left out: forge ends with the first that
    /// fails, in whichever function, and the question is how many calls it makes.
    pub(crate) fn maze_with_property(
        peers: &Peers,
        work: &Path,
        daedaluzz: &Path,
        number: u32,
    ) -> Result<Self> {
        let text = maze(daedaluzz, number)?;
        let text = format!("{}\n{WITH_PROPERTY}", text.replace("assert(false);", ""));
        let (title, place) =
            (format!("maze {number}"), work.join(format!("Maze{number}WithProperty")));
        Self::prepare(peers, place, &title, "MazeWithProperty", &text)
    }

    /// A maze as it is.
    pub(crate) fn maze(peers: &Peers, work: &Path, daedaluzz: &Path, number: u32) -> Result<Self> {
        let (title, place) = (format!("maze {number}"), work.join(format!("Maze{number}")));
        Self::prepare(peers, place, &title, "Maze", &maze(daedaluzz, number)?)
    }

    fn prepare(
        peers: &Peers,
        folder: PathBuf,
        title: &str,
        contract: &str,
        text: &str,
    ) -> Result<Self> {
        let file = format!("{contract}.sol");
        let (forge, echidna) = (folder.join("forge"), folder.join("echidna"));
        write(&forge.join("foundry.toml"), &foundry_toml(&peers.solc()))?;
        write(&forge.join("src").join(&file), text)?;
        write(&forge.join("test").join(format!("{contract}.t.sol")), &harness(contract))?;
        write(&echidna.join(&file), text)?;
        write(&echidna.join("peer.yaml"), ECHIDNA_YAML)?;
        // Beside the build, where vouch looks for the lines that ran.
        write(&folder.join(&file), text)?;
        let output = compile(peers, &file, text).with_context(|| format!("compiling {title}"))?;
        fs::write(folder.join("build.json"), output)?;
        Ok(Self { title: title.to_owned(), contract: contract.to_owned(), folder })
    }

    pub(crate) fn build(&self) -> PathBuf {
        self.folder.join("build.json")
    }

    /// The folder from which forge runs.
    pub(crate) fn forge(&self) -> PathBuf {
        self.folder.join("forge")
    }

    /// The folder from which Echidna runs, and the source there.
    pub(crate) fn echidna(&self) -> (PathBuf, String) {
        (self.folder.join("echidna"), format!("{}.sol", self.contract))
    }
}

const WITH_PROPERTY: &str = "contract MazeWithProperty is Maze {
  function echidna_holds() external view returns (bool) {
    return address(this).balance < 1e40;
  }
}
";

/// Writes a file, and makes the folders that it lies in.
fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn maze(daedaluzz: &Path, number: u32) -> Result<String> {
    let path = daedaluzz.join(format!("generated-mazes/maze-{number}.sol"));
    fs::read_to_string(&path).with_context(|| {
        format!(
            "{} cannot be read; is `{}` a checkout of Consensys/daedaluzz?",
            path.display(),
            daedaluzz.display()
        )
    })
}

/// A test of Foundry that asks the contract's own property, with the callers that the others have.
fn harness(contract: &str) -> String {
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

/// Delays are those of the others; without them no lock would ever open.
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

/// The compiler's standard JSON.
fn compile(peers: &Peers, source: &str, text: &str) -> Result<Vec<u8>> {
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
    let output = answer(command.arg("--standard-json"), input.to_string().as_bytes())?;
    let json: Value = serde_json::from_slice(&output).context("the compiler wrote no JSON")?;
    for error in json["errors"].as_array().into_iter().flatten() {
        if error["severity"] == "error" {
            bail!("{}", error["formattedMessage"].as_str().unwrap_or("an error without a text"));
        }
    }
    Ok(output)
}

/// What the program writes when it is given the input.
fn answer(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    child.stdin.take().context("stdin is piped")?.write_all(input)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the compiler ended with {}", output.status);
    Ok(output.stdout)
}
