//! The outcome of a compilation, whichever tool it came from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::Address;

use crate::SourceMap;

/// Everything that was compiled together.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The compiler's version where it is told, such as `0.8.37+commit.f401782d`.
    pub compiler: Option<String>,
    pub sources: Vec<Source>,
    pub contracts: Vec<Contract>,
}

/// A source file.
#[derive(Clone, Debug)]
pub struct Source {
    /// The number by which source maps name it.
    pub id: u32,
    /// The path as the compiler knows it.
    pub path: String,
    /// Empty where neither the output nor the disk has it.
    pub text: Arc<str>,
    /// The compiler's syntax tree, where it was kept and nests no deeper than 400 levels. In its `src` fields
    /// only the offsets mean something: the number of the source is that of one compilation, and several may have
    /// been merged.
    pub ast: Option<Arc<serde_json::Value>>,
}

/// A contract, library or interface.
#[derive(Clone, Debug)]
pub struct Contract {
    pub name: String,
    /// The path of its source.
    pub source: String,
    pub abi: JsonAbi,
    /// What deploys it; empty for interfaces and abstract contracts.
    pub creation: Code,
    /// What lies at its address then.
    pub runtime: Code,
    /// Where in the runtime code the constructor fills in immutable values.
    pub immutables: Vec<Range<usize>>,
}

/// Bytecode with what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Places where the address of a library belongs are zero.
    pub bytes: Vec<u8>,
    pub links: Vec<Link>,
    /// Empty where the compiler's output has none.
    pub source_map: SourceMap,
}

/// A place for the address of a library, 20 bytes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `path:Name` where the output tells it, else the placeholder's text.
    pub library: String,
    pub offset: usize,
}

/// A library whose address nobody gave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the library `{0}` is not linked")]
pub struct Unlinked(pub String);

impl Contract {
    /// `path:Name`, which no two contracts of a build share.
    pub fn qualified_name(&self) -> String {
        format!("{}:{}", self.source, self.name)
    }

    /// True unless it is an interface or abstract.
    pub fn is_deployable(&self) -> bool {
        !self.creation.bytes.is_empty()
    }
}

impl Code {
    /// The code with the addresses of its libraries, looked up by `path:Name` or by the bare name.
    pub fn linked(&self, libraries: &BTreeMap<String, Address>) -> Result<Vec<u8>, Unlinked> {
        let mut bytes = self.bytes.clone();
        for link in &self.links {
            let bare = link.library.rsplit(':').next().unwrap_or(&link.library);
            let address = libraries
                .get(&link.library)
                .or_else(|| libraries.get(bare))
                .ok_or_else(|| Unlinked(link.library.clone()))?;
            if let Some(place) = bytes.get_mut(link.offset..link.offset + 20) {
                place.copy_from_slice(address.as_slice());
            }
        }
        Ok(bytes)
    }
}
