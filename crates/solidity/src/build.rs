//! The result of a compilation, independent of the tool that produced it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::Address;

use crate::SourceMap;

/// Smart contracts and sources that were compiled together.
#[derive(Clone, Debug, Default)]
pub struct SolidityBuild {
    /// Compiler version, if known, such as `0.8.37+commit.f401782d`.
    pub compiler: Option<String>,
    pub sources: Vec<SoliditySource>,
    pub contracts: Vec<SolidityContract>,
}

/// A source file.
#[derive(Clone, Debug)]
pub struct SoliditySource {
    /// Id by which source maps refer to it.
    pub id: u32,
    /// Path as known to the compiler.
    pub path: String,
    /// Source text; empty if neither the compiler output nor the disk has it.
    pub text: Arc<str>,
    /// AST of the compiler, if it is in the output and nests no deeper than 400 levels. In its `src` fields only the
    /// offsets are valid: the source id is that of one compilation unit, and several may have been merged.
    pub ast: Option<Arc<serde_json::Value>>,
}

/// A smart contract, library or interface.
#[derive(Clone, Debug)]
pub struct SolidityContract {
    pub name: String,
    /// Path of its source file.
    pub source: String,
    pub abi: JsonAbi,
    /// Creation bytecode; empty for interfaces and abstract contracts.
    pub creation: ContractBytecode,
    /// Runtime bytecode: the code at its address after deployment.
    pub runtime: ContractBytecode,
    /// Byte ranges of the runtime bytecode that the constructor fills with immutable values.
    pub immutables: Vec<Range<usize>>,
}

/// Bytecode with its library links and source map.
#[derive(Clone, Debug, Default)]
pub struct ContractBytecode {
    /// The bytecode, with zeros in place of library addresses.
    pub bytes: Vec<u8>,
    pub links: Vec<LibraryLink>,
    /// Source map; empty if the compiler output has none.
    pub source_map: SourceMap,
}

/// A 20-byte placeholder for the address of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryLink {
    /// `path:Name` if known, otherwise the text of the placeholder.
    pub library: String,
    pub offset: usize,
}

/// The error for a library without a known address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("library `{0}` is not linked")]
pub struct UnlinkedLibrary(pub String);

impl SolidityContract {
    /// Returns `path:Name`, which is unique in a build.
    pub fn qualified_name(&self) -> String {
        format!("{}:{}", self.source, self.name)
    }

    /// Returns true unless it is an interface or abstract.
    pub fn is_deployable(&self) -> bool {
        !self.creation.bytes.is_empty()
    }
}

impl ContractBytecode {
    /// Returns the bytecode with the addresses of its libraries, looked up by `path:Name` or by the bare name.
    pub fn link_libraries(
        &self,
        libraries: &BTreeMap<String, Address>,
    ) -> Result<Vec<u8>, UnlinkedLibrary> {
        let mut bytes = self.bytes.clone();
        for link in &self.links {
            let bare = link.library.rsplit(':').next().unwrap_or(&link.library);
            let address = libraries
                .get(&link.library)
                .or_else(|| libraries.get(bare))
                .ok_or_else(|| UnlinkedLibrary(link.library.clone()))?;
            if let Some(placeholder) = bytes.get_mut(link.offset..link.offset + 20) {
                placeholder.copy_from_slice(address.as_slice());
            }
        }
        Ok(bytes)
    }
}
