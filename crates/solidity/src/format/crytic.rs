//! Parses exports of crytic-compile in its native format: "standard", and "archive", which adds the source texts.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::combined::{CombinedContract, number_sources};
use super::{OutputFile, with_contract_name};
use crate::{LoadError, SolidityBuild};

const FORMAT: &str = "an export of crytic-compile";

#[derive(Deserialize)]
struct CryticExport<'a> {
    #[serde(borrow)]
    compilation_units: BTreeMap<String, CryticUnit<'a>>,
    /// Source texts by absolute path; only in archives.
    #[serde(default)]
    source_content: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct CryticUnit<'a> {
    compiler: Option<CryticCompiler>,
    #[serde(borrow)]
    source_units: BTreeMap<String, CryticSourceUnit<'a>>,
    #[serde(default)]
    filenames: Vec<CryticFilename>,
}

#[derive(Deserialize)]
struct CryticCompiler {
    version: Option<String>,
}

#[derive(Deserialize)]
struct CryticSourceUnit<'a> {
    #[serde(borrow)]
    ast: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contracts: BTreeMap<String, CombinedContract<'a>>,
}

/// Paths by which crytic-compile refers to one file.
#[derive(Deserialize)]
struct CryticFilename {
    absolute: String,
    used: String,
    relative: String,
}

pub(super) fn read_crytic_export(file: &OutputFile<'_>) -> Result<Vec<SolidityBuild>, LoadError> {
    let export: CryticExport<'_> = file.parse_as(FORMAT)?;
    export
        .compilation_units
        .values()
        .map(|unit| unit.to_build(file, &export.source_content))
        .collect()
}

impl CryticUnit<'_> {
    fn to_build(
        &self,
        file: &OutputFile<'_>,
        texts: &BTreeMap<String, String>,
    ) -> Result<SolidityBuild, LoadError> {
        let mut contracts = Vec::new();
        for (source, unit) in &self.source_units {
            for (name, compiled) in &unit.contracts {
                contracts.push(with_contract_name(
                    file.path,
                    source,
                    name,
                    compiled.to_contract(source, name),
                )?);
            }
        }
        let list: Vec<_> = self.source_units.keys().cloned().collect();
        let trees = self.source_units.iter().map(|(path, unit)| (path.clone(), unit.ast));
        let mut sources = number_sources(&list, trees);
        for source in &mut sources {
            if let Some(text) = texts.get(self.absolute_path(&source.path)) {
                source.text = text.as_str().into();
            }
        }
        let compiler = self.compiler.as_ref().and_then(|compiler| compiler.version.clone());
        Ok(SolidityBuild { compiler, sources, contracts })
    }

    fn absolute_path<'a>(&'a self, path: &'a str) -> &'a str {
        let known = self.filenames.iter().find(|one| one.used == path || one.relative == path);
        known.map_or(path, |one| &one.absolute)
    }
}
