//! What `cargo xtask bench fuzz` measures the fuzzer against, in a process of its own so that its time can be taken.
//!
//! ```text
//! bench bare BUILD CONTRACT CALLS SEED        random calls on plain revm: the limit
//! bench bugs BUILD CONTRACT FOLDER            replays a corpus on plain revm and names the assertions that failed
//! bench observer BUILD CONTRACT SLICE ROUNDS  a campaign that is watched and not watched in turn
//! ```
//!
//! BUILD is what a compiler wrote. Each prints one JSON object. Nothing here belongs to the product.

mod bare;
mod bugs;
mod observer;
mod plain;

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use solidity::{Build, Toolchain};

const USAGE: &str = "usage: bench bare BUILD CONTRACT CALLS SEED
       bench bugs BUILD CONTRACT FOLDER
       bench observer BUILD CONTRACT SLICE_MS ROUNDS";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut stderr = std::io::stderr();
    match run(&args).and_then(|result| Ok(writeln!(std::io::stdout(), "{result}")?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr, "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<Value> {
    let [what, build, contract, rest @ ..] = args else { return Err(USAGE.into()) };
    let subject = Subject::load(Path::new(build), contract)?;
    match (*what, rest) {
        ("bare", [calls, seed]) => bare::run(&subject, number(calls)?, number(seed)?),
        ("bugs", [folder]) => bugs::run(&subject, Path::new(folder)),
        ("observer", [slice, rounds]) => observer::run(&subject, number(slice)?, number(rounds)?),
        _ => Err(USAGE.into()),
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| format!("`{text}` is no number\n{USAGE}").into())
}

/// A contract of a build.
struct Subject {
    build: Arc<Build>,
    contract: usize,
}

impl Subject {
    fn load(path: &Path, name: &str) -> Result<Self> {
        let build = solidity::load(path, &Toolchain::default())?;
        let found = build.contracts.iter().position(|contract| contract.name == name);
        let contract = found.ok_or_else(|| format!("there is no contract `{name}`"))?;
        Ok(Self { build: Arc::new(build), contract })
    }

    fn contract(&self) -> &solidity::Contract {
        &self.build.contracts[self.contract]
    }
}
