//! The output of `solc --combined-json`, which crytic-compile's "solc" export imitates.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{File, abi, ast, bytecode, named};
use crate::{Build, Contract, LoadError, Malformed, Source};

const FORMAT: &str = "solc's combined-JSON output";

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    contracts: BTreeMap<String, Compiled<'a>>,
    #[serde(rename = "sourceList", default)]
    source_list: Vec<String>,
    #[serde(borrow, default)]
    sources: BTreeMap<String, Tree<'a>>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct Tree<'a> {
    #[serde(rename = "AST", borrow)]
    ast: Option<&'a RawValue>,
}

/// A contract as this format and crytic-compile's own have it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Compiled<'a> {
    #[serde(borrow)]
    abi: Option<&'a RawValue>,
    #[serde(default)]
    bin: String,
    #[serde(default)]
    bin_runtime: String,
    #[serde(default)]
    srcmap: String,
    #[serde(default)]
    srcmap_runtime: String,
    /// Only in exports of crytic-compile: the placeholder of each library.
    libraries: Option<BTreeMap<String, String>>,
}

pub(super) fn read(file: &File<'_>) -> Result<Build, LoadError> {
    let output: Output<'_> = file.parse(FORMAT)?;
    let mut contracts = Vec::new();
    for (key, compiled) in &output.contracts {
        let (source, name) = key.rsplit_once(':').unwrap_or(("", key));
        contracts.push(named(file.path, source, name, compiled.contract(source, name))?);
    }
    let trees = output.sources.iter().map(|(path, tree)| (path.clone(), tree.ast));
    let sources = numbered(&output.source_list, trees);
    Ok(Build { compiler: output.version, sources, contracts })
}

/// Sources with the numbers that their trees tell. The list tells the others: crytic-compile does not keep its order.
pub(super) fn numbered<'a>(
    list: &[String],
    trees: impl Iterator<Item = (String, Option<&'a RawValue>)>,
) -> Vec<Source> {
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for (id, path) in (0..).zip(list) {
        sources.insert(path.clone(), Source { id, path: path.clone(), text: "".into(), ast: None });
    }
    for (path, raw) in trees {
        let Some(tree) = ast::parse(raw) else { continue };
        let listed = sources.get(&path).map(|source| source.id);
        let Some(id) = ast::source_id(&tree).or(listed) else { continue };
        let source = Source { id, path: path.clone(), text: "".into(), ast: Some(tree) };
        sources.insert(path, source);
    }
    sources.into_values().collect()
}

impl Compiled<'_> {
    pub(super) fn contract(&self, source: &str, name: &str) -> Result<Contract, Malformed> {
        Ok(Contract {
            name: name.to_owned(),
            source: source.to_owned(),
            abi: abi::parse(self.abi)?,
            creation: self.code(&self.bin, &self.srcmap)?,
            runtime: self.code(&self.bin_runtime, &self.srcmap_runtime)?,
            // This format does not tell them.
            immutables: Vec::new(),
        })
    }

    fn code(&self, object: &str, source_map: &str) -> Result<crate::Code, Malformed> {
        let mut code = bytecode::parse(object, source_map, &BTreeMap::new())?;
        for link in &mut code.links {
            let known = self.libraries.iter().flatten();
            if let Some((name, _)) = known.clone().find(|(_, mark)| **mark == link.library) {
                link.library.clone_from(name);
            }
        }
        Ok(code)
    }
}
