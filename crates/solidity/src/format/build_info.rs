//! Build-info files of Hardhat and Foundry: the input and the output of one run of solc.
//!
//! Hardhat 3 splits them: `<id>.json` contains the input, `<id>.output.json` the output.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::OutputFile;
use super::standard::StandardOutput;
use crate::{LoadError, SolidityBuild, bounded_file};

const FORMAT: &str = "a build-info file";

#[derive(Deserialize)]
struct BuildInfoInput {
    #[serde(rename = "solcLongVersion")]
    version: Option<String>,
    input: SolcInput,
}

#[derive(Deserialize)]
struct SolcInput {
    sources: BTreeMap<String, SolcInputSource>,
}

#[derive(Deserialize)]
struct SolcInputSource {
    content: Option<String>,
}

#[derive(Deserialize)]
struct BuildInfoOutput<'a> {
    #[serde(borrow)]
    output: StandardOutput<'a>,
}

/// Reads a file with both input and output.
pub(super) fn read_build_info(file: &OutputFile<'_>) -> Result<SolidityBuild, LoadError> {
    join_halves(Some(file), file)
}

/// Reads a file with only input or output, and its counterpart beside it. A missing input only loses the source texts.
pub(super) fn read_split_build_info(file: &OutputFile<'_>) -> Result<SolidityBuild, LoadError> {
    let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".output.json");
    let other = match stem {
        Some(stem) => file.path.with_file_name(format!("{stem}.json")),
        None => file.path.with_extension("output.json"),
    };
    let text = match bounded_file::read_text(&other, bounded_file::MAX_JSON) {
        Err(LoadError::NotFound(_)) => None,
        outcome => Some(outcome?),
    };
    let other = text.as_ref().map(|text| OutputFile { path: &other, text });
    match (stem, &other) {
        (Some(_), input) => join_halves(input.as_ref(), file),
        (None, Some(output)) => join_halves(Some(file), output),
        (None, None) => Err(LoadError::UnknownJson {
            path: file.path.to_owned(),
            found: "a build-info without its output",
        }),
    }
}

fn join_halves(
    input: Option<&OutputFile<'_>>,
    output: &OutputFile<'_>,
) -> Result<SolidityBuild, LoadError> {
    let after: BuildInfoOutput<'_> = output.parse_as(FORMAT)?;
    let mut build = after.output.into_build(output.path)?;
    let Some(input) = input else { return Ok(build) };
    let before: BuildInfoInput = input.parse_as(FORMAT)?;
    build.compiler = build.compiler.or(before.version);
    let mut texts = before.input.sources;
    for source in &mut build.sources {
        if let Some(text) = texts.remove(&source.path).and_then(|input| input.content) {
            source.text = text.into();
        }
    }
    Ok(build)
}
