//! Loads compiled Solidity: smart contracts with ABI and bytecode, source maps, ASTs and literals.
//!
//! [`load_build`] accepts a `.sol` file, a Foundry or Hardhat project, or the output of a compiler, and returns one
//! [`SolidityBuild`]. It may run compilers, but does not read the environment or a terminal: the caller passes the
//! locations of compilers in [`Toolchain`]. It does not access the network. Only [`install_solc`] does, and only the
//! caller invokes it. This crate does not execute bytecode.
//!
//! Start with `load.rs`, which determines the kind of a path. `format` parses compiler output, `project` finds it in a
//! Foundry or Hardhat project, and `driver` compiles sources with the compilers that `toolchain` finds and `compile` runs.
//! All three end with `merge` and `staleness`.

mod arithmetic;
mod ast_node;
mod bounded_file;
mod build;
mod compile;
mod driver;
mod error;
mod find;
mod format;
mod literals;
mod load;
mod merge;
mod project;
mod remappings;
mod source_map;
mod staleness;
mod toolchain;

pub use arithmetic::{ArithmeticInstruction, UncheckedArithmetic};
pub use build::{
    ContractBytecode, LibraryLink, SolidityBuild, SolidityContract, SoliditySource, UnlinkedLibrary,
};
pub use driver::{MissingCompiler, SolcVersion};
pub use error::{CompileErrors, LoadError, MalformedContract};
pub use find::FindError;
pub use literals::{SourceLiterals, collect_literals, collect_push_operands};
pub use load::{LoadedBuild, load_build, load_contract_build};
pub use project::{find_marked_folder, find_project_folder, is_project_folder};
pub use source_map::{JumpKind, SourceMap, SourceSpan, instruction_offsets};
pub use staleness::{StaleBuild, StaleFile, StaleReason};
pub use toolchain::{
    CompileOptions, DEFAULT_SOLC, InstallError, ProjectPrograms, Toolchain, ToolchainError,
    UnknownArgument, install_solc, is_bare_name,
};
