//! Cache of vectors of the embedded model under `target/bench/vectors`, by the hash of their text.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result};
use embed::{Embedder, MiniLm};
use rank::vectors::VectorIndex;
use sha2::{Digest, Sha256};

use xtask::command::root;

/// Number of texts that are embedded before they are written.
const BATCH: usize = 256;

const DIMENSIONS: usize = 384;

type VectorKey = [u8; 32];

pub(crate) struct EmbeddingCache {
    model: MiniLm,
    folder: PathBuf,
}

impl EmbeddingCache {
    pub(crate) fn new() -> Result<Self> {
        let folder = root().join("target/bench/vectors");
        fs::create_dir_all(&folder).context("failed to create the folder of the vectors")?;
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Self { model: MiniLm::new(threads), folder })
    }

    /// Returns the vectors of some texts; document `n` is text `n`.
    pub(crate) fn embed_texts(&self, name: &str, texts: &[String]) -> Result<VectorIndex> {
        let path = self.folder.join(name);
        let mut known = self.read(&path)?;
        let keys: Vec<VectorKey> = texts.iter().map(|text| self.key(text)).collect();
        let new = |index: &usize| !known.contains_key(&keys[*index]);
        let missing: Vec<usize> = (0..texts.len()).filter(new).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        for (done, batch) in missing.chunks(BATCH).enumerate() {
            println!("    embedding {name}: {} of {}", done * BATCH, missing.len());
            let these: Vec<&str> = batch.iter().map(|&index| texts[index].as_str()).collect();
            for (&index, vector) in batch.iter().zip(self.model.embed(&these)?) {
                let row = VectorIndex::encode_vector(&vector);
                file.write_all(&keys[index])?;
                file.write_all(&u32::try_from(row.len())?.to_le_bytes())?;
                file.write_all(&row)?;
                known.insert(keys[index], row);
            }
        }
        let mut vectors = VectorIndex::new(DIMENSIONS);
        for (id, key) in keys.iter().enumerate() {
            vectors.insert_encoded(u32::try_from(id)?, &known[key]);
        }
        Ok(vectors)
    }

    fn key(&self, text: &str) -> VectorKey {
        Sha256::new().chain_update(&self.model.model().hash).chain_update(text).finalize().into()
    }

    /// Reads complete rows and truncates the rest; an interrupted run leaves at most one incomplete row.
    fn read(&self, path: &PathBuf) -> Result<HashMap<VectorKey, Vec<u8>>> {
        let mut known = HashMap::new();
        let Ok(file) = File::open(path) else { return Ok(known) };
        let mut rest = BufReader::new(file);
        let (mut key, mut length, mut whole) = (VectorKey::default(), [0; 4], 0);
        while rest.read_exact(&mut key).and_then(|()| rest.read_exact(&mut length)).is_ok() {
            let mut row = vec![0; u32::from_le_bytes(length) as usize];
            if rest.read_exact(&mut row).is_err() {
                break;
            }
            whole += (key.len() + length.len() + row.len()) as u64;
            known.insert(key, row);
        }
        OpenOptions::new().write(true).open(path)?.set_len(whole)?;
        Ok(known)
    }
}
