//! State shared by all connections: flags, counts, the current mutation, the record of messages.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::args::AdversaryArgs;

/// Counts and the current mutation. Tests may read and change them in the `--state` file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PersistentState {
    pub(crate) starts: u64,
    /// Number of requests for the first page of `tools/list`.
    pub(crate) lists: u64,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) cancelled: Vec<CancelledCall>,
    /// The current change to the definition of `good`: its kind, or a whole definition.
    pub(crate) mutation: Option<String>,
}

/// A tool call that the client cancelled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CancelledCall {
    pub(crate) tool: String,
    /// `notification`, or `disconnect` if only the stream was closed.
    pub(crate) how: String,
}

/// The state of the server.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) args: AdversaryArgs,
    pub(crate) grandchild: Option<u32>,
    /// Definitions without mutations, built once because there may be thousands.
    pub(crate) definitions: OnceLock<Vec<Value>>,
    memory: Mutex<PersistentState>,
    file: Option<Mutex<File>>,
    record: Option<Mutex<File>>,
    changes: broadcast::Sender<()>,
    ready: Instant,
}

impl SharedState {
    pub(crate) fn new(args: AdversaryArgs, grandchild: Option<u32>) -> io::Result<Arc<Self>> {
        let open = |append: bool| {
            let mut options = OpenOptions::new();
            options.create(true).read(true).append(append).write(!append);
            options
        };
        let file = args.state.as_ref().map(|path| open(false).open(path)).transpose()?;
        let record = args.record.as_ref().map(|path| open(true).open(path)).transpose()?;
        let shared = Self {
            ready: Instant::now() + Duration::from_millis(args.slow_start),
            args,
            grandchild,
            definitions: OnceLock::new(),
            memory: Mutex::default(),
            file: file.map(Mutex::new),
            record: record.map(Mutex::new),
            changes: broadcast::channel(16).0,
        };
        shared.update_state(|state| state.starts += 1);
        Ok(Arc::new(shared))
    }

    /// Reads or changes the state and returns the result of the closure. With `--state`, a file lock excludes other processes.
    pub(crate) fn update_state<T>(&self, change: impl FnOnce(&mut PersistentState) -> T) -> T {
        let mut memory = self.memory.lock();
        let Some(file) = &self.file else { return change(&mut memory) };
        let mut file = file.lock();
        file.lock().expect("the file of --state can be locked");
        *memory = read_state(&mut file).expect("the file of --state can be read");
        let outcome = change(&mut memory);
        write_state(&mut file, &memory).expect("the file of --state can be written");
        file.unlock().expect("the file of --state can be unlocked");
        outcome
    }

    /// Appends a received message to the `--record` file, if there is one.
    pub(crate) fn record_message(
        &self,
        message: &Value,
        headers: Option<BTreeMap<String, String>>,
    ) {
        let Some(record) = &self.record else { return };
        let line = match headers {
            Some(headers) => json!({"message": message, "headers": headers}),
            None => json!({"message": message}),
        };
        // One write per line, because several processes may append to one record.
        let line = format!("{line}\n");
        let mut record = record.lock();
        record.write_all(line.as_bytes()).expect("the file of --record can be written");
    }

    pub(crate) fn record_cancellation(&self, tool: &str, how: &str) {
        let cancelled = CancelledCall { tool: tool.to_owned(), how: how.to_owned() };
        self.update_state(|state| state.cancelled.push(cancelled));
    }

    pub(crate) fn set_mutation(&self, mutation: Option<String>) {
        self.update_state(|state| state.mutation = mutation);
        // Fails only if there is no subscriber.
        let _ = self.changes.send(());
    }

    pub(crate) fn subscribe_changes(&self) -> broadcast::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until the slow start is over; never returns with `--dead`.
    pub(crate) async fn wait_until_ready(&self) {
        if self.args.dead {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep_until(self.ready).await;
    }

    /// Waits until the file of `--hold` exists.
    pub(crate) async fn wait_until_released(&self) {
        while self.args.hold.as_ref().is_some_and(|file| !file.exists()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn read_state(file: &mut File) -> io::Result<PersistentState> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    if text.trim().is_empty() {
        return Ok(PersistentState::default());
    }
    Ok(serde_json::from_str(&text)?)
}

fn write_state(file: &mut File, state: &PersistentState) -> io::Result<()> {
    let text = serde_json::to_string_pretty(state)?;
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}
