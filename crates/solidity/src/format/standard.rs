//! The output of `solc --standard-json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bytecode::{self, LinkReferences, Piece};
use super::{File, abi, ast, named};
use crate::{Build, CompileErrors, Contract, LoadError, Malformed, Source};

const FORMAT: &str = "solc's standard-JSON output";

#[derive(Deserialize)]
pub(crate) struct Output<'a> {
    #[serde(borrow, default)]
    contracts: BTreeMap<String, BTreeMap<String, ContractOutput<'a>>>,
    #[serde(borrow, default)]
    sources: BTreeMap<String, SourceOutput<'a>>,
    #[serde(default)]
    errors: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct SourceOutput<'a> {
    id: Option<u32>,
    #[serde(borrow)]
    ast: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContractOutput<'a> {
    #[serde(borrow)]
    abi: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default)]
    evm: Evm,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Evm {
    bytecode: Bytecode,
    deployed_bytecode: Bytecode,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Bytecode {
    object: String,
    source_map: String,
    link_references: LinkReferences,
    immutable_references: BTreeMap<String, Vec<Piece>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Diagnostic {
    severity: String,
    formatted_message: Option<String>,
    #[serde(default)]
    message: String,
}

/// Reads an output that lies in a file.
pub(super) fn read(file: &File<'_>) -> Result<Build, LoadError> {
    file.parse::<Output<'_>>(FORMAT)?.into_build(file.path)
}

/// Reads what a compiler has just written. None if it is no such output.
pub(crate) fn parse(text: &str) -> Option<Output<'_>> {
    serde_json::from_str(text).ok()
}

impl Output<'_> {
    /// What the compiler rejected; None if it only warned.
    pub(crate) fn errors(&self) -> Option<CompileErrors> {
        let fatal = self.errors.iter().filter(|diagnostic| diagnostic.severity == "error");
        let texts = fatal.map(|one| one.formatted_message.as_ref().unwrap_or(&one.message).clone());
        let errors = CompileErrors::new(texts);
        (!errors.messages.is_empty()).then_some(errors)
    }

    /// What was compiled, as the file at `path` tells it.
    pub(crate) fn into_build(self, path: &Path) -> Result<Build, LoadError> {
        if let Some(errors) = self.errors() {
            return Err(LoadError::FailedBuild { path: path.to_owned(), errors });
        }
        let all = || self.contracts.values().flat_map(BTreeMap::values);
        let compiler = all().find_map(|contract| version(contract.metadata?));
        let mut contracts = Vec::new();
        for (source, names) in &self.contracts {
            for (name, output) in names {
                contracts.push(named(path, source, name, output.contract(source, name))?);
            }
        }
        let sources = self.sources.into_iter().filter_map(|(path, output)| output.source(path));
        Ok(Build { compiler, sources: sources.collect(), contracts })
    }
}

impl SourceOutput<'_> {
    /// None for a source without a number, which nothing can refer to.
    fn source(self, path: String) -> Option<Source> {
        let ast = ast::parse(self.ast);
        let id = self.id.or_else(|| ast::source_id(ast.as_deref()?))?;
        Some(Source { id, path, text: "".into(), ast })
    }
}

impl ContractOutput<'_> {
    fn contract(&self, source: &str, name: &str) -> Result<Contract, Malformed> {
        let runtime = self.evm.deployed_bytecode.code()?;
        let references = &self.evm.deployed_bytecode.immutable_references;
        Ok(Contract {
            name: name.to_owned(),
            source: source.to_owned(),
            abi: abi::parse(self.abi)?,
            creation: self.evm.bytecode.code()?,
            immutables: bytecode::immutables(references, &runtime.bytes),
            runtime,
        })
    }
}

impl Bytecode {
    fn code(&self) -> Result<crate::Code, Malformed> {
        let names = bytecode::library_names(&self.link_references);
        bytecode::parse(&self.object, &self.source_map, &names)
    }
}

/// The compiler's version as a contract's metadata tells it, which is a JSON text within the JSON.
fn version(metadata: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Metadata {
        compiler: Compiler,
    }
    #[derive(Deserialize)]
    struct Compiler {
        version: String,
    }
    let text: String = serde_json::from_str(metadata.get()).ok()?;
    Some(serde_json::from_str::<Metadata>(&text).ok()?.compiler.version)
}
