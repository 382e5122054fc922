//! Baselines for `cargo xtask bench fuzz`, in a separate process so that its time can be measured.
//!
//! ```text
//! bench bare BUILD CONTRACT CALLS SEED        random calls on plain revm: the limit
//! bench bugs BUILD CONTRACT FOLDER            replays a corpus on plain revm and names the assertions that failed
//! bench observer BUILD CONTRACT SLICE ROUNDS  a campaign, alternately observed and not observed
//! ```
//!
//! BUILD is a compiler output. Each prints one JSON object. This is a development tool, not part of the product.

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
use solidity::{SolidityBuild, Toolchain};

const USAGE: &str = "usage: bench bare BUILD CONTRACT CALLS SEED
       bench bugs BUILD CONTRACT FOLDER
       bench observer BUILD CONTRACT SLICE_MS ROUNDS";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut stderr = std::io::stderr();
    match run_command(&args).and_then(|result| Ok(writeln!(std::io::stdout(), "{result}")?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr, "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_command(args: &[&str]) -> Result<Value> {
    let [what, build, contract, rest @ ..] = args else { return Err(USAGE.into()) };
    let subject = BenchSubject::load(Path::new(build), contract)?;
    match (*what, rest) {
        ("bare", [calls, seed]) => {
            bare::run_bare(&subject, parse_number(calls)?, parse_number(seed)?)
        }
        ("bugs", [folder]) => bugs::count_bugs(&subject, Path::new(folder)),
        ("observer", [slice, rounds]) => {
            observer::measure_observer(&subject, parse_number(slice)?, parse_number(rounds)?)
        }
        _ => Err(USAGE.into()),
    }
}

fn parse_number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| format!("invalid number `{text}`\n{USAGE}").into())
}

/// A smart contract of a build.
struct BenchSubject {
    build: Arc<SolidityBuild>,
    contract: usize,
}

impl BenchSubject {
    fn load(path: &Path, name: &str) -> Result<Self> {
        let build = solidity::load_build(path, &Toolchain::default())?;
        let found = build.contracts.iter().position(|contract| contract.name == name);
        let contract = found.ok_or_else(|| format!("unknown contract `{name}`"))?;
        Ok(Self { build: Arc::new(build), contract })
    }

    fn contract(&self) -> &solidity::SolidityContract {
        &self.build.contracts[self.contract]
    }
}
