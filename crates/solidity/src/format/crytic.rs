//! Exports of crytic-compile in its own format ("standard", and "archive", which adds the sources' text).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::combined::{Compiled, numbered};
use super::{File, named};
use crate::{Build, LoadError};

const FORMAT: &str = "an export of crytic-compile";

#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow)]
    compilation_units: BTreeMap<String, Unit<'a>>,
    /// By absolute path; only in an archive.
    #[serde(default)]
    source_content: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Unit<'a> {
    compiler: Option<Compiler>,
    #[serde(borrow)]
    source_units: BTreeMap<String, SourceUnit<'a>>,
    #[serde(default)]
    filenames: Vec<Filename>,
}

#[derive(Deserialize)]
struct Compiler {
    version: Option<String>,
}

#[derive(Deserialize)]
struct SourceUnit<'a> {
    #[serde(borrow)]
    ast: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contracts: BTreeMap<String, Compiled<'a>>,
}

/// The names that crytic-compile has for one file.
#[derive(Deserialize)]
struct Filename {
    absolute: String,
    used: String,
    relative: String,
}

pub(super) fn read(file: &File<'_>) -> Result<Vec<Build>, LoadError> {
    let export: Export<'_> = file.parse(FORMAT)?;
    export.compilation_units.values().map(|unit| unit.build(file, &export.source_content)).collect()
}

impl Unit<'_> {
    fn build(&self, file: &File<'_>, texts: &BTreeMap<String, String>) -> Result<Build, LoadError> {
        let mut contracts = Vec::new();
        for (source, unit) in &self.source_units {
            for (name, compiled) in &unit.contracts {
                contracts.push(named(file.path, source, name, compiled.contract(source, name))?);
            }
        }
        let list: Vec<_> = self.source_units.keys().cloned().collect();
        let trees = self.source_units.iter().map(|(path, unit)| (path.clone(), unit.ast));
        let mut sources = numbered(&list, trees);
        for source in &mut sources {
            if let Some(text) = texts.get(self.absolute(&source.path)) {
                source.text = text.as_str().into();
            }
        }
        let compiler = self.compiler.as_ref().and_then(|compiler| compiler.version.clone());
        Ok(Build { compiler, sources, contracts })
    }

    fn absolute<'a>(&'a self, path: &'a str) -> &'a str {
        let known = self.filenames.iter().find(|one| one.used == path || one.relative == path);
        known.map_or(path, |one| &one.absolute)
    }
}
