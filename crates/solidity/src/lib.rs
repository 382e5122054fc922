//! What compilers make of Solidity: contracts with ABI and code, and how their code maps to source lines.
//!
//! [`load`] takes whatever a person points at (a `.sol` file, a project, a compiler's output) and gives one [`Build`].
//! It runs compilers, and reads neither the environment nor a terminal: where compilers may be found is told through
//! [`Toolchain`]. It fetches nothing; only [`install`] does, which nothing here calls. It knows nothing of executing
//! code.
//!
//! Start with `load.rs`, which decides what a path is. `format` reads what compilers write, `project` finds it in a
//! Foundry or Hardhat project, `compile` runs a compiler; `merge` and `fresh` are the last steps of all three.

mod arithmetic;
mod build;
mod compile;
mod error;
mod find;
mod format;
mod fresh;
mod literals;
mod load;
mod merge;
mod node;
mod project;
mod read;
mod source_map;
mod toolchain;

pub use arithmetic::{Arithmetic, Unchecked};
pub use build::{Build, Code, Contract, Link, Source, Unlinked};
pub use error::{CompileErrors, LoadError, Malformed};
pub use find::FindError;
pub use fresh::{Stale, StaleFile, Why};
pub use literals::{Literals, literals, push_operands};
pub use load::load;
pub use source_map::{Jump, SourceMap, Span, offsets};
pub use toolchain::{
    CompileOptions, DEFAULT_SOLC, InstallError, ToolError, Toolchain, UnknownArgument, install,
};
