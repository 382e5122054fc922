//! Eight processes append to one memory file while they are killed at random. Every acknowledged entry is present,
//! complete and unique, and the audit log still verifies.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stdio::Session;
use crate::support::Project;

const WRITERS: usize = 8;
const ENTRIES: usize = 10_000;
/// More are written if the machine is so fast that the processes were killed less often.
const KILLS: usize = 50;
/// Concurrent requests per writer, so that kills hit calls at every stage.
const WINDOW: u64 = 4;

const CONFIG: &str = "\
[policy]
approve = \"always\"
[tools.write_memory_entry]
rate_per_minute = 100000000
timeout_ms = 60000
";

/// Process id of a writer, while the process may be killed.
type Slot = Mutex<Option<Pid>>;

struct KillTest {
    project: Project,
    slots: Vec<Slot>,
    acknowledged: AtomicUsize,
    kills: AtomicUsize,
    done: AtomicBool,
}

#[test]
fn acknowledged_entries_survive_kills() {
    let run = KillTest {
        project: Project::new().with("vouch.toml", CONFIG),
        slots: (0..WRITERS).map(|_| Slot::default()).collect(),
        acknowledged: AtomicUsize::new(0),
        kills: AtomicUsize::new(0),
        done: AtomicBool::new(false),
    };
    let written = std::thread::scope(|scope| {
        let run = &run;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write_entries(run, writer))).collect();
        kill_at_random(run);
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        written.collect::<Vec<_>>()
    });
    let acknowledged: Vec<_> = written.iter().flat_map(|written| &written.acknowledged).collect();
    let refused: Vec<_> = written.iter().flat_map(|written| &written.refused).collect();
    let count = acknowledged.len();
    let kills = run.kills.load(Ordering::Relaxed);
    assert!(count >= ENTRIES && kills >= KILLS, "{count} entries, {kills} kills");

    let file = run.project.read(".claude/memory/progress_log.jsonl");
    let mut found: HashMap<(u64, u64), usize> = HashMap::new();
    for line in file.lines() {
        let entry: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("not whole: {line}"));
        let key = (entry["writer"].as_u64().unwrap(), entry["number"].as_u64().unwrap());
        assert_eq!(entry, make_entry(key.0, key.1), "not what was sent");
        *found.entry(key).or_default() += 1;
    }
    assert!(file.ends_with('\n'));
    let twice: Vec<_> = found.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "written more than once: {twice:?}");
    let missing: Vec<_> = acknowledged.iter().filter(|key| !found.contains_key(**key)).collect();
    assert!(missing.is_empty(), "acknowledged and gone: {missing:?}");

    let unwanted: Vec<_> = refused.iter().filter(|key| found.contains_key(**key)).collect();
    assert!(unwanted.is_empty(), "refused and yet written: {unwanted:?}");

    let report = run.project.run_json(&["audit", "verify", "--json"]);
    assert_eq!(report["ok"], true, "{report:#}");
    assert!(report["lines"].as_u64().unwrap() >= count as u64);
    // Every entry has an intent, and every intent has an outcome or is reported as unknown.
    let log = run.project.read_state("audit.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: HashSet<_> = lines.iter().filter_map(|line| line["call"].as_str()).collect();
    let intents: Vec<_> = lines.iter().filter_map(|line| line["intent"].as_str()).collect();
    assert!(intents.len() >= found.len(), "{} intents, {} entries", intents.len(), found.len());
    let open = intents.iter().filter(|id| !outcomes.contains(**id)).count();
    assert_eq!(report["unknown"], open);
}

fn make_entry(writer: u64, number: u64) -> Value {
    // Lengths vary, so that interleaved writes are detected.
    let text = format!("{number:04}").repeat((number % 40) as usize);
    json!({"writer": writer, "number": number, "text": text})
}

/// Answers that writers received, by writer and number of the entry.
#[derive(Default)]
struct WriterAnswers {
    acknowledged: Vec<(u64, u64)>,
    refused: Vec<(u64, u64)>,
}

/// Writes entries until all writers together have enough. Returns the answers.
fn write_entries(run: &KillTest, writer: usize) -> WriterAnswers {
    let mut written = WriterAnswers::default();
    let mut next = 0;
    while !run.done.load(Ordering::Relaxed) {
        let mut session = Session::start(run.project.command(&["serve", "--stdio"]));
        *run.slots[writer].lock().unwrap() = Some(Pid::from_child(&session.child));
        // An error or the end of the answers means that the process was killed.
        let _ = append_entries(run, writer as u64, &mut session, &mut next, &mut written);
        // From here on the process may be gone, and its id reused.
        *run.slots[writer].lock().unwrap() = None;
    }
    written
}

fn append_entries(
    run: &KillTest,
    writer: u64,
    session: &mut Session,
    next: &mut u64,
    written: &mut WriterAnswers,
) -> std::io::Result<()> {
    session.handshake()?;
    let mut under_way = 0;
    loop {
        let done = run.done.load(Ordering::Relaxed);
        while under_way < WINDOW && !done {
            let arguments = json!({"file": "progress_log.jsonl", "entry": make_entry(writer, *next).to_string()});
            let id = *next + 1;
            *next += 1;
            session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "write_memory_entry", "arguments": arguments}}))?;
            under_way += 1;
        }
        if under_way == 0 {
            return Ok(());
        }
        let Some(frame) = session.receive() else { return Ok(()) };
        under_way -= 1;
        let number = frame["id"].as_u64().unwrap() - 1;
        let answer = &frame["result"]["structuredContent"];
        if answer["success"] == false {
            // Contention on the file may cause a timeout, which means that nothing was written.
            assert_eq!(answer["error"]["code"], "EXECUTION_TIMEOUT", "{frame}");
            written.refused.push((writer, number));
            continue;
        }
        written.acknowledged.push((writer, number));
        let is_enough = run.acknowledged.fetch_add(1, Ordering::Relaxed) + 1 >= ENTRIES;
        if is_enough && run.kills.load(Ordering::Relaxed) >= KILLS {
            run.done.store(true, Ordering::Relaxed);
        }
    }
}

/// Kills random processes until enough entries are acknowledged.
fn kill_at_random(run: &KillTest) {
    // The seed is fixed although the run is not repeatable; only the spread of the kills matters.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    while !run.done.load(Ordering::Relaxed) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(40_000 + random % 320_000));
        let slot = (random % WRITERS as u64) as usize;
        if let Some(pid) = *run.slots[slot].lock().unwrap() {
            let is_killed = kill_process(pid, Signal::KILL).is_ok();
            run.kills.fetch_add(usize::from(is_killed), Ordering::Relaxed);
        }
    }
}
