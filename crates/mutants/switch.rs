//! The switches that `cargo xtask mutants` compiles into a copy of the workspace. No part of the product.
//!
//! `MUTANT_ID` activates one mutant of the process. `MUTANT_REACH` names a folder in which a process records the mutants
//! that it reached; the file of a process is named by its id, and holds eight bytes per mutant.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

enum Mode {
    Off,
    Active(u64),
    Record(PathBuf, Mutex<HashSet<u64>>),
}

static MODE: OnceLock<Mode> = OnceLock::new();

/// A cache of recorded mutants that needs no lock, since loops reach a mutant millions of times.
static SEEN: [AtomicU64; 1 << 14] = [const { AtomicU64::new(0) }; 1 << 14];

fn read_mode() -> Mode {
    if let Some(id) = std::env::var("MUTANT_ID").ok().and_then(|id| id.parse().ok()) {
        return Mode::Active(id);
    }
    match std::env::var_os("MUTANT_REACH") {
        Some(folder) => Mode::Record(folder.into(), Mutex::default()),
        None => Mode::Off,
    }
}

/// Returns whether the mutant is active.
#[inline]
pub fn on(id: u64) -> bool {
    match MODE.get_or_init(read_mode) {
        Mode::Off => false,
        Mode::Active(active) => *active == id,
        Mode::Record(folder, reached) => {
            let seen = &SEEN[id as usize % SEEN.len()];
            if seen.load(Ordering::Relaxed) != id {
                record(folder, reached, id);
                seen.store(id, Ordering::Relaxed);
            }
            false
        }
    }
}

/// Records a mutant at once: tests kill processes, and some processes end without running destructors.
#[cold]
fn record(folder: &std::path::Path, reached: &Mutex<HashSet<u64>>, id: u64) {
    let Ok(mut reached) = reached.lock() else { return };
    if !reached.insert(id) {
        return;
    }
    let file = folder.join(std::process::id().to_string());
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(file) {
        let _ = file.write_all(&id.to_le_bytes());
    }
}

/// Returns the variables above, for tests that start a program with an environment of their own.
pub fn variables() -> Vec<(String, String)> {
    ["MUTANT_ID", "MUTANT_REACH"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .collect()
}

/// A number that can be a limit.
pub trait Limit {
    fn plus_one(self) -> Self;
    fn maximum() -> Self;
}

macro_rules! limits {
    ($($number:ty)*) => { $(impl Limit for $number {
        fn plus_one(self) -> Self { self + 1 }
        fn maximum() -> Self { <$number>::MAX }
    })* };
}
limits!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// Returns a limit, one larger if the mutant is active.
pub fn plus_one<T: Limit>(id: u64, limit: T) -> T {
    if on(id) { limit.plus_one() } else { limit }
}

/// Returns a limit, or the largest number if the mutant is active.
pub fn unlimited<T: Limit>(id: u64, limit: T) -> T {
    if on(id) { T::maximum() } else { limit }
}

/// Returns a time limit, or a day if the mutant is active.
pub fn endless(id: u64, limit: Duration) -> Duration {
    if on(id) { Duration::from_secs(86_400) } else { limit }
}

/// Returns a deadline, or a day later if the mutant is active.
pub fn a_day_later<T: std::ops::Add<Duration, Output = T>>(id: u64, deadline: T) -> T {
    if on(id) { deadline + Duration::from_secs(86_400) } else { deadline }
}
