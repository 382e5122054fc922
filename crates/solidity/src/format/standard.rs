//! Parses the output of `solc --standard-json`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bytecode::{self, BytecodeRange, LinkReferences};
use super::{OutputFile, abi, ast, with_contract_name};
use crate::{
    CompileErrors, LoadError, MalformedContract, SolidityBuild, SolidityContract, SoliditySource,
};

const FORMAT: &str = "standard-JSON output of solc";

#[derive(Deserialize)]
pub(crate) struct StandardOutput<'a> {
    #[serde(borrow, default)]
    contracts: BTreeMap<String, BTreeMap<String, ContractOutput<'a>>>,
    #[serde(borrow, default)]
    sources: BTreeMap<String, SourceOutput<'a>>,
    #[serde(default)]
    errors: Vec<SolcDiagnostic>,
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
    evm: EvmOutput,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EvmOutput {
    bytecode: BytecodeOutput,
    deployed_bytecode: BytecodeOutput,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BytecodeOutput {
    object: String,
    source_map: String,
    link_references: LinkReferences,
    immutable_references: BTreeMap<String, Vec<BytecodeRange>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SolcDiagnostic {
    severity: String,
    formatted_message: Option<String>,
    #[serde(default)]
    message: String,
}

/// Reads the output from a file.
pub(super) fn read_standard(file: &OutputFile<'_>) -> Result<SolidityBuild, LoadError> {
    file.parse_as::<StandardOutput<'_>>(FORMAT)?.into_build(file.path)
}

/// Parses the output of a compiler run. Returns `None` if it is not standard JSON.
pub(crate) fn parse_standard(text: &str) -> Option<StandardOutput<'_>> {
    serde_json::from_str(text).ok()
}

impl StandardOutput<'_> {
    /// Returns true if the compiler was given all sources that it used, and searched for none itself.
    pub(crate) fn depends_only_on(&self, given: &HashSet<&str>) -> bool {
        let used = self.sources.keys().chain(self.contracts.keys());
        used.into_iter().all(|source| given.contains(source.as_str()))
    }

    /// Returns the errors of the compiler, or `None` if there are only warnings.
    pub(crate) fn compile_errors(&self) -> Option<CompileErrors> {
        let fatal = self.errors.iter().filter(|diagnostic| diagnostic.severity == "error");
        let texts = fatal.map(|one| one.formatted_message.as_ref().unwrap_or(&one.message).clone());
        let errors = CompileErrors::new(texts);
        (!errors.messages.is_empty()).then_some(errors)
    }

    /// Converts the output to a build. `path` is used in errors only.
    pub(crate) fn into_build(self, path: &Path) -> Result<SolidityBuild, LoadError> {
        if let Some(errors) = self.compile_errors() {
            return Err(LoadError::FailedBuild { path: path.to_owned(), errors });
        }
        let all = || self.contracts.values().flat_map(BTreeMap::values);
        let compiler = all().find_map(|contract| read_compiler_version(contract.metadata?));
        let mut contracts = Vec::new();
        for (source, names) in &self.contracts {
            for (name, output) in names {
                contracts.push(with_contract_name(
                    path,
                    source,
                    name,
                    output.to_contract(source, name),
                )?);
            }
        }
        let sources =
            self.sources.into_iter().filter_map(|(path, output)| output.into_source(path));
        Ok(SolidityBuild { compiler, sources: sources.collect(), contracts })
    }
}

impl SourceOutput<'_> {
    /// Returns `None` for a source without an id, because source maps cannot refer to it.
    fn into_source(self, path: String) -> Option<SoliditySource> {
        let ast = ast::parse_ast(self.ast);
        let id = self.id.or_else(|| ast::source_id(ast.as_deref()?))?;
        Some(SoliditySource { id, path, text: "".into(), ast })
    }
}

impl ContractOutput<'_> {
    fn to_contract(&self, source: &str, name: &str) -> Result<SolidityContract, MalformedContract> {
        let runtime = self.evm.deployed_bytecode.parse_code()?;
        let references = &self.evm.deployed_bytecode.immutable_references;
        Ok(SolidityContract {
            name: name.to_owned(),
            source: source.to_owned(),
            abi: abi::parse_abi(self.abi)?,
            creation: self.evm.bytecode.parse_code()?,
            immutables: bytecode::immutable_ranges(references, &runtime.bytes),
            runtime,
        })
    }
}

impl BytecodeOutput {
    fn parse_code(&self) -> Result<crate::ContractBytecode, MalformedContract> {
        let names = bytecode::library_names(&self.link_references);
        bytecode::parse_bytecode(&self.object, &self.source_map, &names)
    }
}

/// Returns the compiler version in the metadata of a contract, which is a JSON string within the JSON.
fn read_compiler_version(metadata: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct ContractMetadata {
        compiler: MetadataCompiler,
    }
    #[derive(Deserialize)]
    struct MetadataCompiler {
        version: String,
    }
    let text: String = serde_json::from_str(metadata.get()).ok()?;
    Some(serde_json::from_str::<ContractMetadata>(&text).ok()?.compiler.version)
}
