//! Source file analysis: language detection, outlines, imports and import resolution.
//!
//! Start with [`Language::detect`] and [`build_outline`], which splits a text into chunks at functions and types and
//! lists its imports. [`ImportResolver`] maps imports to files. [`detect_role`] and [`ModuleMap`] classify a file by
//! purpose and by module. The only state kept between calls is inside an [`ImportResolver`], a [`ParseCache`] or a
//! [`ModuleMap`].
//!
//! Out of scope: listing the files of a project, searching them, and storing results.

mod import;
mod language;
mod line_starts;
mod module_map;
mod outline;
mod parse;
mod parse_cache;
mod resolve;
mod role;
mod yaml;

pub use self::import::{Import, ImportKind};
pub use self::language::Language;
pub use self::module_map::ModuleMap;
pub use self::outline::{Chunk, ChunkKind, Outline, build_outline, extract_imports};
pub use self::parse::ParseFailure;
pub use self::parse_cache::ParseCache;
pub use self::resolve::{ImportResolution, ImportResolver};
pub use self::role::{FileRole, detect_role};
