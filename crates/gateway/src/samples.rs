//! Samples on disk, for learning contracts: `<folder>/<upstream>/<tool>.jsonl`, one call per line.
//!
//! Samples contain real answers, so they are stored in the project's state directory, which no tool can read.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admit::learn::{CallSample, SampleSet};
use parking_lot::Mutex;
use tokio::task::JoinSet;

#[derive(Debug, thiserror::Error)]
#[error("failed to read the samples of {file}")]
pub struct SamplesError {
    file: String,
    source: io::Error,
}

/// Returns the samples of an upstream by the server's tool names. Invalid and incomplete lines are skipped.
pub fn read_samples(
    folder: &Path,
    upstream: &str,
) -> Result<BTreeMap<String, SampleSet>, SamplesError> {
    let mut all = BTreeMap::new();
    let folder = folder.join(upstream);
    let fail = |source| SamplesError { file: upstream.to_owned(), source };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
        Err(error) => return Err(fail(error)),
    };
    for entry in entries {
        let name = entry.map_err(fail)?.file_name();
        let Some(tool) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        all.insert(tool.to_owned(), read_sample_file(&folder.join(&name)).map_err(fail)?);
    }
    Ok(all)
}

fn read_sample_file(path: &Path) -> io::Result<SampleSet> {
    let mut samples = SampleSet::default();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(samples),
        Err(error) => return Err(error),
    };
    for line in BufReader::new(file).lines() {
        if let Ok(sample) = serde_json::from_str::<CallSample>(&line?) {
            samples.push(sample);
        }
    }
    Ok(samples)
}

/// Records answers as samples, except duplicates and those over the limits.
pub(crate) struct SampleRecorder {
    folder: PathBuf,
    known: Mutex<HashMap<(String, String), SampleSet>>,
    writing: Mutex<JoinSet<()>>,
}

impl SampleRecorder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default(), writing: Mutex::default() }
    }

    /// Records a sample on a blocking thread. An error is logged and does not fail the call.
    pub(crate) fn record(self: &Arc<Self>, upstream: &str, tool: &str, sample: CallSample) {
        let (recorder, upstream, tool) = (Arc::clone(self), upstream.to_owned(), tool.to_owned());
        let mut writing = self.writing.lock();
        while writing.try_join_next().is_some() {}
        writing.spawn_blocking(move || {
            if let Err(error) = recorder.append_sample(&upstream, &tool, sample) {
                tracing::warn!(upstream, tool, %error, "failed to record sample");
            }
        });
    }

    /// Waits until all recorded samples are on disk.
    pub(crate) async fn flush(&self) {
        let writing = std::mem::take(&mut *self.writing.lock());
        writing.join_all().await;
    }

    fn append_sample(&self, upstream: &str, tool: &str, sample: CallSample) -> io::Result<()> {
        let folder = self.folder.join(upstream);
        let path = folder.join(format!("{tool}.jsonl"));
        let mut known = self.known.lock();
        let samples = match known.entry((upstream.to_owned(), tool.to_owned())) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(read_sample_file(&path)?)
            }
        };
        let mut line = serde_json::to_string(&sample)?;
        if !samples.push(sample) {
            return Ok(());
        }
        line.push('\n');
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut file = File::options().append(true).create(true).mode(0o600).open(&path)?;
        file.write_all(line.as_bytes())
    }
}
