//! Writes of memory entries through the whole pipeline, on a disk that fails and loses power in the middle of them.
//!
//! Each lifetime of the server begins with what the last power failure left, calls `write_memory_entry` again and again,
//! and ends with a power failure at a random operation of the disk. Then the files must show
//! that no acknowledged entry is lost, that no torn one is read, that the audit log has the intent of every entry, and that it
//! reports every intent without an outcome as unknown.
//!
//! `VOUCH_STORM_WRITES=10000 cargo test -p testkit --test storm -- --nocapture` runs the full number of killed writes, and
//! `VOUCH_STORM_SEED` selects other random choices. `VOUCH_STORM_FAULTS=1` adds failing syncs and full disks before the power
//! failure.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod audit_log;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use contract::Caller;
use disk::simulated::{DiskFault, SimulatedDisk};
use pack_repo::{RepoOptions, build_tools};
use runtime::{ApprovalMode, Catalog, Pipeline, PipelineOptions, ToolCall, ToolReply};
use serde_json::{Map, Value, json};
use store::{SqliteStore, StateDir, Store};
use tempfile::TempDir;

/// Number of killed writes without `VOUCH_STORM_WRITES`.
const DEFAULT_WRITES: u64 = 200;
/// Number of killed writes in one project. A new one is begun then, so that files stay small.
const WRITES_PER_PROJECT: u64 = 50;
/// Operations of the disk in one lifetime, at most. An entry takes 2 to 9 of them, and the audit log several.
const MAX_OPERATIONS: usize = 40;
const TOOL: &str = "write_memory_entry";
const EIO: i32 = 5;
const LOG: &str = "app/.claude/memory/progress_log.jsonl";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writes_lose_no_acknowledged_entry() {
    let number = |name: &str, default| {
        std::env::var(name).ok().map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let writes = number("VOUCH_STORM_WRITES", DEFAULT_WRITES);
    let mut rng = fastrand::Rng::with_seed(number("VOUCH_STORM_SEED", 16));
    let mut totals = StormTotals::default();
    let mut left = writes;
    while left > 0 {
        let mut project = StormProject::new();
        for _ in 0..left.min(WRITES_PER_PROJECT) {
            project.live_until_power_fails(&mut rng).await;
            project.check_files();
            left -= 1;
        }
        totals.add(&project);
    }
    println!("{totals:?}");
    assert_eq!(totals.killed, writes);
    assert!(totals.acknowledged > writes / 4, "{totals:?}");
}

/// Sums over all projects.
#[derive(Debug, Default)]
struct StormTotals {
    /// Power failures, each in the middle of a write or of the recovery before it.
    killed: u64,
    acknowledged: u64,
    /// Entries on the disk whose caller got no answer.
    unacknowledged_on_disk: u64,
    torn_lines: u64,
    refused_writes: u64,
    /// Intents without an outcome, all of which verification reports.
    unknown_outcomes: u64,
}

impl StormTotals {
    fn add(&mut self, project: &StormProject) {
        self.killed += project.killed;
        self.acknowledged += project.acknowledged.len() as u64;
        let on_disk = project.entries_on_disk().0;
        let unacknowledged = on_disk.keys().filter(|id| !project.acknowledged.contains(*id));
        self.unacknowledged_on_disk += unacknowledged.count() as u64;
        self.torn_lines += project.entries_on_disk().1;
        self.refused_writes += project.refused;
        self.unknown_outcomes += project.unknown;
    }
}

/// One project on a simulated disk.
struct StormProject {
    folder: TempDir,
    disk: Arc<SimulatedDisk>,
    /// Approvals are in a database, which is not on the simulated disk.
    store: Arc<dyn Store>,
    _database: TempDir,
    /// Entries by id, with everything that was ever passed to the tool.
    issued: HashMap<String, Value>,
    acknowledged: BTreeSet<String>,
    /// Acknowledged entries whose outcome must be in the audit log. If the log could not be written after the change, the
    /// caller is told of the change all the same, and the outcome may be unknown: then the intent must be open.
    recorded: BTreeSet<String>,
    with_other_faults: bool,
    has_other_fault: bool,
    refused: u64,
    /// Intents without an outcome in the audit log.
    unknown: u64,
    killed: u64,
}

impl StormProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("app")).unwrap();
        audit_log::create_folders(folder.path());
        let database = tempfile::tempdir().unwrap();
        let state = StateDir::open(database.path().join("state")).unwrap();
        let disk = SimulatedDisk::with_exclusion(folder.path(), audit_log::is_excluded).unwrap();
        Self {
            disk,
            folder,
            store: Arc::new(SqliteStore::open(&state).unwrap()),
            _database: database,
            issued: HashMap::new(),
            acknowledged: BTreeSet::new(),
            recorded: BTreeSet::new(),
            with_other_faults: std::env::var_os("VOUCH_STORM_FAULTS").is_some(),
            has_other_fault: false,
            refused: 0,
            unknown: 0,
            killed: 0,
        }
    }

    /// Starts a server and calls the tool until power fails. Then sets the files back to what the disk may have.
    async fn live_until_power_fails(&mut self, rng: &mut fastrand::Rng) {
        let off = rng.usize(0..MAX_OPERATIONS);
        let is_after = rng.bool();
        let fault = if is_after { DiskFault::PowerOffAfter } else { DiskFault::PowerOffBefore };
        self.disk.plan_fault(off, fault);
        self.has_other_fault = self.with_other_faults && off > 0 && rng.u8(0..3) == 0;
        if self.has_other_fault {
            let faults = [DiskFault::Error(EIO), DiskFault::ShortWrite, DiskFault::Full(100)];
            self.disk.plan_fault(rng.usize(0..off), *rng.choice(&faults).unwrap());
        }
        // A process that cannot even start is ended by the power failure as well.
        if let Some(pipeline) = self.open_pipeline().await {
            for _ in 0..MAX_OPERATIONS {
                self.write_entry(&pipeline, rng).await;
                if self.disk.is_off() {
                    break;
                }
                // Room is made on a full disk before the next call.
                self.disk.make_room();
            }
            pipeline.drain().await;
        }
        // A server that could not start because of another fault is switched off here.
        self.killed += 1;
        self.disk.crash(rng.u64(..)).unwrap();
    }

    async fn open_pipeline(&self) -> Option<Arc<Pipeline>> {
        let disk = Arc::clone(&self.disk);
        let options = RepoOptions { disk, ..RepoOptions::default() };
        let tools = build_tools(self.folder.path().join("app"), options).unwrap();
        let mut catalog = Catalog::default();
        for tool in tools.into_iter().filter(|tool| tool.contract().name == TOOL) {
            let adjust = |constraints: &mut contract::Constraints| {
                constraints.rate_per_minute = u32::MAX;
                constraints.timeout = Duration::from_secs(60);
                constraints.audit_values = true;
            };
            catalog.add_tool_with(tool, adjust).unwrap();
        }
        let audit = audit_log::open(self.folder.path(), &self.disk)?;
        let options = PipelineOptions {
            approve: HashMap::from([(TOOL.to_owned(), ApprovalMode::Always)]),
            ..PipelineOptions::default()
        };
        let pipeline = Pipeline::new(catalog, Arc::clone(&self.store), audit, options).await;
        Some(pipeline.unwrap())
    }

    async fn write_entry(&mut self, pipeline: &Pipeline, rng: &mut fastrand::Rng) {
        let id = format!("entry-{}", self.issued.len());
        let entry = json!({"id": id, "padding": "x".repeat(rng.usize(0..1_500))});
        let arguments = json!({"file": "progress_log.jsonl", "entry": entry.to_string()});
        self.issued.insert(id.clone(), entry);
        let Value::Object(arguments) = arguments else { unreachable!("it is an object") };
        let reply = pipeline.call(ToolCall::new(TOOL, arguments, Caller::new("storm"))).await;
        match reply {
            // A caller whose machine is off receives nothing.
            _ if self.disk.is_off() => {}
            ToolReply::Done(_) => {
                if !self.has_other_fault {
                    self.recorded.insert(id.clone());
                }
                self.acknowledged.insert(id);
            }
            _ => self.refused += 1,
        }
    }

    /// Returns how often each entry is in the memory file, and the number of lines that are no entries.
    fn entries_on_disk(&self) -> (BTreeMap<String, usize>, u64) {
        let bytes = fs::read(self.folder.path().join(LOG)).unwrap_or_default();
        let (mut found, mut torn) = (BTreeMap::new(), 0);
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(value) = serde_json::from_slice::<Map<String, Value>>(line) else {
                torn += 1;
                continue;
            };
            let id = value["id"].as_str().unwrap().to_owned();
            assert_eq!(self.issued[&id], Value::Object(value), "a torn entry is read");
            *found.entry(id).or_insert(0) += 1;
        }
        (found, torn)
    }

    fn check_files(&mut self) {
        let (found, _) = self.entries_on_disk();
        for id in &self.acknowledged {
            assert_eq!(found.get(id), Some(&1), "{id} was acknowledged");
        }
        assert!(found.values().all(|times| *times == 1), "an entry is stored twice: {found:?}");
        let (acknowledged, recorded) = (&self.acknowledged, &self.recorded);
        self.unknown =
            audit_log::check(self.folder.path(), &self.disk, &found, acknowledged, recorded);
    }
}
