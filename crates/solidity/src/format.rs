//! What compilers write, in the forms that are in use. Each form becomes the same [`Build`], one for each compilation.
//!
//! A file is first probed for the keys that tell the forms apart, then read by the one reader that knows the form:
//! reading it as a tree first would take several times its size in memory, and trees nest deeper than is safe.

mod abi;
mod ast;
mod build_info;
mod bytecode;
mod combined;
mod crytic;
pub(crate) mod standard;

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::{Build, Contract, LoadError, Malformed, read};

/// Reads a compiler's output. There are several builds in an export of several compilations.
pub(crate) fn read(path: &Path) -> Result<Vec<Build>, LoadError> {
    let text = read::text(path, read::MAX_JSON)?;
    let file = File { path, text: &text };
    match file.probe()? {
        Form::Crytic => crytic::read(&file),
        Form::BuildInfo => build_info::read(&file).map(|build| vec![build]),
        Form::HalfBuildInfo => build_info::read_halves(&file).map(|build| vec![build]),
        Form::Combined => combined::read(&file).map(|build| vec![build]),
        Form::Standard => standard::read(&file).map(|build| vec![build]),
        Form::Other(what) => Err(LoadError::UnknownJson { path: path.to_owned(), what }),
    }
}

/// A text with the path that errors name.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

enum Form {
    Crytic,
    BuildInfo,
    /// Hardhat 3 keeps input and output in two files.
    HalfBuildInfo,
    Combined,
    Standard,
    Other(&'static str),
}

/// The keys that tell the forms apart.
#[derive(Deserialize)]
struct Keys {
    compilation_units: Option<IgnoredAny>,
    input: Option<IgnoredAny>,
    output: Option<IgnoredAny>,
    contracts: Option<IgnoredAny>,
    sources: Option<IgnoredAny>,
    errors: Option<IgnoredAny>,
    #[serde(rename = "sourceList")]
    source_list: Option<IgnoredAny>,
    version: Option<IgnoredAny>,
    language: Option<IgnoredAny>,
    source_id_to_path: Option<IgnoredAny>,
    abi: Option<IgnoredAny>,
}

impl Keys {
    fn form(&self) -> Form {
        if self.compilation_units.is_some() {
            Form::Crytic
        } else if self.input.is_some() && self.output.is_some() {
            Form::BuildInfo
        } else if self.input.is_some() || self.output.is_some() {
            Form::HalfBuildInfo
        } else if self.source_id_to_path.is_some() {
            Form::Other("a build-info without code (`forge build` without `--build-info`)")
        } else if self.language.is_some() && self.sources.is_some() {
            Form::Other("a standard-JSON input")
        } else if self.abi.is_some() {
            Form::Other("the artefact of a single contract")
        } else if self.contracts.is_some() && (self.source_list.is_some() || self.version.is_some())
        {
            Form::Combined
        } else if self.contracts.is_some() || self.sources.is_some() || self.errors.is_some() {
            Form::Standard
        } else {
            Form::Other("some other JSON")
        }
    }
}

impl<'a> File<'a> {
    fn probe(&self) -> Result<Form, LoadError> {
        match serde_json::from_str::<Keys>(self.text) {
            Ok(keys) => Ok(keys.form()),
            Err(error) if error.is_data() => Ok(Form::Other("some other JSON")),
            Err(source) => Err(LoadError::Json { path: self.path.to_owned(), source }),
        }
    }

    fn parse<T: Deserialize<'a>>(&self, format: &'static str) -> Result<T, LoadError> {
        serde_json::from_str(self.text).map_err(|source| LoadError::Shape {
            path: self.path.to_owned(),
            format,
            source,
        })
    }
}

/// Adds the file and the contract to what is wrong with a contract.
fn named(
    path: &Path,
    source: &str,
    name: &str,
    contract: Result<Contract, Malformed>,
) -> Result<Contract, LoadError> {
    contract.map_err(|error| LoadError::Contract {
        path: path.to_owned(),
        contract: format!("{source}:{name}"),
        source: error,
    })
}
