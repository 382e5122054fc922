//! What all connections share: the switches, the counts, the current mutation, the record of messages.

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

use crate::args::Args;

/// What is counted. In the file of `--state` a test may read and change it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub(crate) starts: u64,
    /// First pages of `tools/list` asked for.
    pub(crate) lists: u64,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) cancelled: Vec<Cancelled>,
    /// How `good` differs from what it was at first.
    pub(crate) mutation: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cancelled {
    pub(crate) tool: String,
    /// `notification`, or `disconnect` where only the stream was closed.
    pub(crate) how: String,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) args: Args,
    pub(crate) grandchild: Option<u32>,
    /// What is offered while nothing is mutated: thousands of tools are made once.
    pub(crate) definitions: OnceLock<Vec<Value>>,
    memory: Mutex<State>,
    file: Option<Mutex<File>>,
    record: Option<Mutex<File>>,
    changes: broadcast::Sender<()>,
    ready: Instant,
}

impl World {
    pub(crate) fn new(args: Args, grandchild: Option<u32>) -> io::Result<Arc<Self>> {
        let open = |append: bool| {
            let mut options = OpenOptions::new();
            options.create(true).read(true).append(append).write(!append);
            options
        };
        let file = args.state.as_ref().map(|path| open(false).open(path)).transpose()?;
        let record = args.record.as_ref().map(|path| open(true).open(path)).transpose()?;
        let world = Self {
            ready: Instant::now() + Duration::from_millis(args.slow_start),
            args,
            grandchild,
            definitions: OnceLock::new(),
            memory: Mutex::default(),
            file: file.map(Mutex::new),
            record: record.map(Mutex::new),
            changes: broadcast::channel(16).0,
        };
        world.update(|state| state.starts += 1);
        Ok(Arc::new(world))
    }

    /// Looks at the state or changes it. With `--state`, under a lock that holds between processes.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut memory = self.memory.lock();
        let Some(file) = &self.file else { return change(&mut memory) };
        let mut file = file.lock();
        file.lock().expect("the file of --state can be locked");
        *memory = read(&mut file).expect("the file of --state can be read");
        let outcome = change(&mut memory);
        write(&mut file, &memory).expect("the file of --state can be written");
        file.unlock().expect("the file of --state can be unlocked");
        outcome
    }

    pub(crate) fn record(&self, message: &Value, headers: Option<BTreeMap<String, String>>) {
        let Some(record) = &self.record else { return };
        let line = match headers {
            Some(headers) => json!({"message": message, "headers": headers}),
            None => json!({"message": message}),
        };
        // One write for each line: several processes may append to one record.
        let line = format!("{line}\n");
        let mut record = record.lock();
        record.write_all(line.as_bytes()).expect("the file of --record can be written");
    }

    pub(crate) fn note_cancelled(&self, tool: &str, how: &str) {
        let cancelled = Cancelled { tool: tool.to_owned(), how: how.to_owned() };
        self.update(|state| state.cancelled.push(cancelled));
    }

    pub(crate) fn mutate(&self, mutation: Option<String>) {
        self.update(|state| state.mutation = mutation);
        // Without a listener there is nobody to tell.
        let _ = self.changes.send(());
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<()> {
        self.changes.subscribe()
    }

    /// Until the slow start is over; for ever if dead.
    pub(crate) async fn awake(&self) {
        if self.args.dead {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep_until(self.ready).await;
    }
}

fn read(file: &mut File) -> io::Result<State> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    if text.trim().is_empty() {
        return Ok(State::default());
    }
    Ok(serde_json::from_str(&text)?)
}

fn write(file: &mut File, state: &State) -> io::Result<()> {
    let text = serde_json::to_string_pretty(state)?;
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}
