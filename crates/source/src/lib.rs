//! What one source file says: its language, its pieces, what it imports, and which files that means.
//!
//! [`Language::of`] names the language, [`outline`] cuts a text into chunks at functions and types and lists its imports,
//! [`Resolver`] finds the files behind the imports, [`role_of`] and [`Modules`] say what a file is for and what it is
//! part of. Nothing is remembered between calls except inside a [`Resolver`], a [`Parsed`] or [`Modules`].
//!
//! Not owned here: which files a project has, what is searched, and where results are kept.

mod import;
mod language;
mod lines;
mod modules;
mod outline;
mod parse;
mod parsed;
mod resolve;
mod role;
mod yaml;

pub use self::import::{Import, ImportKind};
pub use self::language::Language;
pub use self::modules::Modules;
pub use self::outline::{Chunk, ChunkKind, Outline, imports, outline};
pub use self::parse::Stopped;
pub use self::parsed::Parsed;
pub use self::resolve::{Resolution, Resolver};
pub use self::role::{Role, role_of};
