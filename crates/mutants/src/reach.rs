//! Which tests reach which mutants: each test runs once in a process of its own, without a mutant.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::compile::{TestProgram, program_variables, read_json, write_json};
use crate::copy::Folders;
use crate::test_process::{TestEnd, TestRun, TestSetting, list_tests, run_tests};

/// Limit of one test without a mutant. It only ends tests that hang.
const LIMIT: f64 = 180.0;

/// A test and what it reaches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TestReach {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) passed: bool,
    pub(crate) mutants: HashSet<u64>,
}

/// The tests of one program, and the time of the program that they were recorded with.
#[derive(Serialize, Deserialize)]
struct ProgramReach {
    modified: u64,
    tests: Vec<TestReach>,
}

/// Returns what each test of each program reaches, in the order of the programs. Programs that did not change since the
/// last run are not run again.
pub(crate) fn record_reach(
    folders: &Folders,
    programs: &[TestProgram],
    temporary: &Path,
    jobs: usize,
) -> Result<Vec<Vec<TestReach>>> {
    let cache_path = folders.state.join("reach.json");
    let mut cache: BTreeMap<String, ProgramReach> = read_json(&cache_path).unwrap_or_default();
    // Programs that a test starts, such as `vouch`, are compiled from the same sources as the test.
    let started = modified_time(&folders.programs.join("debug/vouch"));
    let mut waiting = Vec::new();
    let mut times = HashMap::new();
    for (index, program) in programs.iter().enumerate() {
        let key = program.path.display().to_string();
        let modified = match &*program.crate_name {
            "cli" => modified_time(&program.path).max(started),
            _ => modified_time(&program.path),
        };
        if cache.get(&key).is_none_or(|known| known.modified != modified) {
            waiting.extend(list_tests(program)?.into_iter().map(|test| (index, test)));
            times.insert(index, modified);
        }
    }
    if !waiting.is_empty() {
        println!("==> record what {} tests reach", waiting.len());
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, TestReach)>> = Mutex::default();
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..jobs)
            .map(|worker| {
                let folder = temporary.join(format!("reach-{worker}"));
                let (next, found, waiting) = (&next, &found, &waiting);
                scope.spawn(move || -> Result<()> {
                    while let Some((index, test)) =
                        waiting.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let reach = record_test(folders, &programs[*index], test, &folder)?;
                        found.lock().expect("no worker panics").push((*index, reach));
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let mut found = found.into_inner().expect("no worker panics");
    found.sort_by(|(_, left), (_, right)| left.name.cmp(&right.name));
    for (index, modified) in times {
        let tests = found.iter().filter(|(of, _)| *of == index).map(|(_, test)| test.clone());
        let tests = without_start_up(tests.collect());
        let key = programs[index].path.display().to_string();
        cache.insert(key, ProgramReach { modified, tests });
    }
    write_json(&cache_path, &cache)?;
    let reach_of = |program: &TestProgram| {
        cache.get(&program.path.display().to_string()).map(|known| known.tests.clone())
    };
    Ok(programs.iter().map(|program| reach_of(program).unwrap_or_default()).collect())
}

fn record_test(
    folders: &Folders,
    program: &TestProgram,
    test: &str,
    temporary: &Path,
) -> Result<TestReach> {
    let reached = temporary.with_extension("reached");
    let _ = std::fs::remove_dir_all(&reached);
    std::fs::create_dir_all(&reached)?;
    let mut variables: Vec<(&str, String)> = program_variables(folders)
        .into_iter()
        .map(|(name, path)| (name, path.display().to_string()))
        .collect();
    variables.push(("MUTANT_REACH", reached.display().to_string()));
    let setting = TestSetting { variables, temporary, threads: 1, limit: LIMIT };
    let TestRun { end, seconds } = run_tests(program, &[test], &setting)?;
    let mut mutants = HashSet::new();
    for entry in std::fs::read_dir(&reached)? {
        let bytes = std::fs::read(entry?.path())?;
        let ids = bytes.chunks_exact(8);
        mutants.extend(ids.map(|id| u64::from_le_bytes(id.try_into().expect("eight bytes"))));
    }
    let passed = end == TestEnd::Passed;
    if !passed {
        println!("    left out: {} {test} fails without a mutant", program.crate_name);
    }
    Ok(TestReach { name: test.to_owned(), seconds, passed, mutants })
}

/// Most seconds for starting a program.
const MAX_START_UP: f64 = 0.05;

/// Subtracts the time of starting the program, as one process runs many tests later.
fn without_start_up(mut tests: Vec<TestReach>) -> Vec<TestReach> {
    let start_up = tests.iter().map(|test| test.seconds).fold(MAX_START_UP, f64::min);
    for test in &mut tests {
        test.seconds -= start_up;
    }
    tests
}

fn modified_time(path: &Path) -> u64 {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    let since = modified.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}
