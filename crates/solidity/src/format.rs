//! Parsers of compiler output formats. Each yields one [`SolidityBuild`] per compilation unit.
//!
//! A file is first probed for the keys that distinguish the formats, then parsed by the parser of its format. Parsing it
//! into a generic JSON tree first would take several times its size in memory, and ASTs nest deeper than is safe.

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

use crate::{LoadError, MalformedContract, SolidityBuild, SolidityContract, bounded_file};

/// Reads compiler output. Returns one build per compilation unit.
pub(crate) fn read_output(path: &Path) -> Result<Vec<SolidityBuild>, LoadError> {
    let text = bounded_file::read_text(path, bounded_file::MAX_JSON)?;
    let file = OutputFile { path, text: &text };
    match file.probe_format()? {
        CompilerOutputFormat::Crytic => crytic::read_crytic_export(&file),
        CompilerOutputFormat::BuildInfo => {
            build_info::read_build_info(&file).map(|build| vec![build])
        }
        CompilerOutputFormat::SplitBuildInfo => {
            build_info::read_split_build_info(&file).map(|build| vec![build])
        }
        CompilerOutputFormat::Combined => combined::read_combined(&file).map(|build| vec![build]),
        CompilerOutputFormat::Standard => standard::read_standard(&file).map(|build| vec![build]),
        CompilerOutputFormat::Other(found) => {
            Err(LoadError::UnknownJson { path: path.to_owned(), found })
        }
    }
}

/// Text of a file, with the path for errors.
struct OutputFile<'a> {
    path: &'a Path,
    text: &'a str,
}

/// Format of a JSON file.
enum CompilerOutputFormat {
    Crytic,
    BuildInfo,
    /// Hardhat 3 stores input and output in two files.
    SplitBuildInfo,
    Combined,
    Standard,
    /// Not compiler output; holds a description.
    Other(&'static str),
}

/// Top-level keys that distinguish the formats.
#[derive(Deserialize)]
struct FormatKeys {
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

impl FormatKeys {
    fn detect_format(&self) -> CompilerOutputFormat {
        if self.compilation_units.is_some() {
            CompilerOutputFormat::Crytic
        } else if self.input.is_some() && self.output.is_some() {
            CompilerOutputFormat::BuildInfo
        } else if self.input.is_some() || self.output.is_some() {
            CompilerOutputFormat::SplitBuildInfo
        } else if self.source_id_to_path.is_some() {
            CompilerOutputFormat::Other(
                "a build-info without code (`forge build` without `--build-info`)",
            )
        } else if self.language.is_some() && self.sources.is_some() {
            CompilerOutputFormat::Other("a standard-JSON input")
        } else if self.abi.is_some() {
            CompilerOutputFormat::Other("the artifact of a single contract")
        } else if self.contracts.is_some() && (self.source_list.is_some() || self.version.is_some())
        {
            CompilerOutputFormat::Combined
        } else if self.contracts.is_some() || self.sources.is_some() || self.errors.is_some() {
            CompilerOutputFormat::Standard
        } else {
            CompilerOutputFormat::Other("unrecognized JSON")
        }
    }
}

impl<'a> OutputFile<'a> {
    fn probe_format(&self) -> Result<CompilerOutputFormat, LoadError> {
        match serde_json::from_str::<FormatKeys>(self.text) {
            Ok(keys) => Ok(keys.detect_format()),
            Err(error) if error.is_data() => Ok(CompilerOutputFormat::Other("unrecognized JSON")),
            Err(source) => Err(LoadError::InvalidJson { path: self.path.to_owned(), source }),
        }
    }

    fn parse_as<T: Deserialize<'a>>(&self, format: &'static str) -> Result<T, LoadError> {
        serde_json::from_str(self.text).map_err(|source| LoadError::InvalidFormat {
            path: self.path.to_owned(),
            format,
            source,
        })
    }
}

/// Adds the file and the contract to an error.
fn with_contract_name(
    path: &Path,
    source: &str,
    name: &str,
    contract: Result<SolidityContract, MalformedContract>,
) -> Result<SolidityContract, LoadError> {
    contract.map_err(|error| LoadError::InvalidContract {
        path: path.to_owned(),
        contract: format!("{source}:{name}"),
        source: error,
    })
}
