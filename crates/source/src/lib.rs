//! What one source file says: its language, its pieces, what it imports, and what it is for.
//!
//! [`Language::of`] names the language, [`outline`] cuts a text into chunks at functions and types and lists its imports,
//! [`role_of`] says what a file is for. All of it is a function of the text and its path.
//!
//! Not owned here: which files a project has, what is searched, and where results are kept.

mod import;
mod language;
mod lines;
mod outline;
mod parse;
mod role;

pub use self::import::{Import, ImportKind};
pub use self::language::Language;
pub use self::outline::{Chunk, ChunkKind, Outline, imports, outline};
pub use self::parse::Stopped;
pub use self::role::{Role, role_of};
