//! Parses the output of `solc --combined-json`, and the "solc" export of crytic-compile in the same format.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{OutputFile, abi, ast, bytecode, with_contract_name};
use crate::{LoadError, MalformedContract, SolidityBuild, SolidityContract, SoliditySource};

const FORMAT: &str = "combined-JSON output of solc";

#[derive(Deserialize)]
struct CombinedOutput<'a> {
    #[serde(borrow)]
    contracts: BTreeMap<String, CombinedContract<'a>>,
    #[serde(rename = "sourceList", default)]
    source_list: Vec<String>,
    #[serde(borrow, default)]
    sources: BTreeMap<String, CombinedSource<'a>>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct CombinedSource<'a> {
    #[serde(rename = "AST", borrow)]
    ast: Option<&'a RawValue>,
}

/// A contract in this format and in the native format of crytic-compile.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct CombinedContract<'a> {
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
    /// Placeholder of each library; only in exports of crytic-compile.
    libraries: Option<BTreeMap<String, String>>,
}

pub(super) fn read_combined(file: &OutputFile<'_>) -> Result<SolidityBuild, LoadError> {
    let output: CombinedOutput<'_> = file.parse_as(FORMAT)?;
    let mut contracts = Vec::new();
    for (key, compiled) in &output.contracts {
        let (source, name) = key.rsplit_once(':').unwrap_or(("", key));
        contracts.push(with_contract_name(
            file.path,
            source,
            name,
            compiled.to_contract(source, name),
        )?);
    }
    let trees = output.sources.iter().map(|(path, tree)| (path.clone(), tree.ast));
    let sources = number_sources(&output.source_list, trees);
    Ok(SolidityBuild { compiler: output.version, sources, contracts })
}

/// Returns sources with the ids in their ASTs. The position in the list is only a fallback, because crytic-compile does
/// not preserve its order.
pub(super) fn number_sources<'a>(
    list: &[String],
    trees: impl Iterator<Item = (String, Option<&'a RawValue>)>,
) -> Vec<SoliditySource> {
    let mut sources: BTreeMap<String, SoliditySource> = BTreeMap::new();
    for (id, path) in (0..).zip(list) {
        sources.insert(
            path.clone(),
            SoliditySource { id, path: path.clone(), text: "".into(), ast: None },
        );
    }
    for (path, raw) in trees {
        let Some(tree) = ast::parse_ast(raw) else { continue };
        let listed = sources.get(&path).map(|source| source.id);
        let Some(id) = ast::source_id(&tree).or(listed) else { continue };
        let source = SoliditySource { id, path: path.clone(), text: "".into(), ast: Some(tree) };
        sources.insert(path, source);
    }
    sources.into_values().collect()
}

impl CombinedContract<'_> {
    pub(super) fn to_contract(
        &self,
        source: &str,
        name: &str,
    ) -> Result<SolidityContract, MalformedContract> {
        Ok(SolidityContract {
            name: name.to_owned(),
            source: source.to_owned(),
            abi: abi::parse_abi(self.abi)?,
            creation: self.parse_code(&self.bin, &self.srcmap)?,
            runtime: self.parse_code(&self.bin_runtime, &self.srcmap_runtime)?,
            // This format does not contain them.
            immutables: Vec::new(),
        })
    }

    fn parse_code(
        &self,
        object: &str,
        source_map: &str,
    ) -> Result<crate::ContractBytecode, MalformedContract> {
        let mut code = bytecode::parse_bytecode(object, source_map, &BTreeMap::new())?;
        for link in &mut code.links {
            let known = self.libraries.iter().flatten();
            if let Some((name, _)) =
                known.clone().find(|(_, placeholder)| **placeholder == link.library)
            {
                link.library.clone_from(name);
            }
        }
        Ok(code)
    }
}
