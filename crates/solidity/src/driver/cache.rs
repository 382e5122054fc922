//! Cache of compiler output, by the content of the input and the compiler.
//!
//! The input contains every source and every remapping, so that a file which is found instead of another one changes it.
//!
//! ```text
//! <cache>/builds/<hash>.json     standard JSON output; deleting it costs time only
//! ```
//!
//! The folder belongs to the user, never to a project: a clone could bring outputs of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use alloy_primitives::{hex, keccak256};

use crate::bounded_file;
use crate::staleness::modified_time;
use crate::toolchain::SolcCompiler;

/// Bytes and files that are kept. A large project takes about 100 MB.
const MAX_BYTES: u64 = 2 << 30;
const MAX_FILES: usize = 200;

/// Cache of compiler output.
pub(crate) struct BuildCache {
    folder: PathBuf,
}

impl BuildCache {
    pub(crate) fn new(cache: &Path) -> Self {
        Self { folder: cache.join("builds") }
    }

    /// Returns the file for the output of a compiler. An unreadable compiler has none.
    pub(crate) fn entry_path(&self, input: &str, compiler: &SolcCompiler) -> Option<PathBuf> {
        let identity = compiler_identity(compiler)?;
        let mut content = keccak256(input).to_vec();
        content.extend(identity.as_bytes());
        Some(self.folder.join(format!("{}.json", hex::encode(keccak256(content)))))
    }

    /// Returns the output, if it is there.
    pub(crate) fn load(&self, entry: &Path) -> Option<String> {
        let text = bounded_file::read_text(entry, bounded_file::MAX_JSON).ok()?;
        // What is used is removed last. The time is all that is lost if it cannot be set.
        drop(File::options().append(true).open(entry).map(|it| it.set_modified(SystemTime::now())));
        Some(text)
    }

    /// Stores an output. A failure costs time only: the next run compiles again.
    pub(crate) fn store(&self, entry: &Path, output: &[u8]) {
        drop(self.try_store(entry, output));
        self.remove_oldest();
    }

    fn try_store(&self, entry: &Path, output: &[u8]) -> std::io::Result<()> {
        create_private_folder(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(output)?;
        file.persist(entry)?;
        Ok(())
    }

    fn remove_oldest(&self) {
        let entries = self.folder.read_dir().into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<_> = entries
            .map(|entry| {
                (
                    modified_time(&entry.path()),
                    entry.metadata().map_or(0, |it| it.len()),
                    entry.path(),
                )
            })
            .collect();
        files.sort();
        let (mut count, mut bytes) =
            (files.len(), files.iter().map(|(_, len, _)| len).sum::<u64>());
        for (_, len, path) in files {
            if count <= MAX_FILES && bytes <= MAX_BYTES {
                break;
            }
            drop(fs::remove_file(path));
            (count, bytes) = (count - 1, bytes - len);
        }
    }
}

#[cfg(unix)]
fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

/// Returns a text that changes with the compiler. The file is large, so its size and time stand for its content.
fn compiler_identity(compiler: &SolcCompiler) -> Option<String> {
    let file = match compiler {
        SolcCompiler::Native(program) => program.clone(),
        SolcCompiler::Package { folder, .. } => folder.join("soljson.js"),
    };
    let file = file.canonicalize().ok()?;
    let metadata = file.metadata().ok()?;
    let time = modified_time(&file).duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", file.display(), metadata.len(), time.as_nanos()))
}
