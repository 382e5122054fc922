//! Build-info files: the input and the output of one run of solc, as Hardhat began to keep them and Foundry does too.
//!
//! Hardhat 3 splits them: `<id>.json` has the input, `<id>.output.json` the output.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::File;
use super::standard::Output;
use crate::{Build, LoadError, read};

const FORMAT: &str = "a build-info file";

#[derive(Deserialize)]
struct Before {
    #[serde(rename = "solcLongVersion")]
    version: Option<String>,
    input: Input,
}

#[derive(Deserialize)]
struct Input {
    sources: BTreeMap<String, InputSource>,
}

#[derive(Deserialize)]
struct InputSource {
    content: Option<String>,
}

#[derive(Deserialize)]
struct After<'a> {
    #[serde(borrow)]
    output: Output<'a>,
}

/// Reads a file that has both.
pub(super) fn read(file: &File<'_>) -> Result<Build, LoadError> {
    joined(Some(file), file)
}

/// Reads a file that has only one of both, with the other one beside it. Only the texts are lost without the input.
pub(super) fn read_halves(file: &File<'_>) -> Result<Build, LoadError> {
    let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".output.json");
    let other = match stem {
        Some(stem) => file.path.with_file_name(format!("{stem}.json")),
        None => file.path.with_extension("output.json"),
    };
    let text = match read::text(&other, read::MAX_JSON) {
        Err(LoadError::Missing(_)) => None,
        outcome => Some(outcome?),
    };
    let other = text.as_ref().map(|text| File { path: &other, text });
    match (stem, &other) {
        (Some(_), input) => joined(input.as_ref(), file),
        (None, Some(output)) => joined(Some(file), output),
        (None, None) => Err(LoadError::UnknownJson {
            path: file.path.to_owned(),
            what: "a build-info without its output",
        }),
    }
}

fn joined(input: Option<&File<'_>>, output: &File<'_>) -> Result<Build, LoadError> {
    let after: After<'_> = output.parse(FORMAT)?;
    let mut build = after.output.into_build(output.path)?;
    let Some(input) = input else { return Ok(build) };
    let before: Before = input.parse(FORMAT)?;
    build.compiler = build.compiler.or(before.version);
    let mut texts = before.input.sources;
    for source in &mut build.sources {
        if let Some(text) = texts.remove(&source.path).and_then(|input| input.content) {
            source.text = text.into();
        }
    }
    Ok(build)
}
