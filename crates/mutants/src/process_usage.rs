//! What a process and its descendants use. Limits of tests are in these terms, as a test on a busy machine takes many
//! times longer than on an idle one.

use std::collections::HashSet;
use std::path::Path;

/// Ticks of the processor time in `/proc` in a second, on every Linux.
const TICKS: f64 = 100.0;

/// One line of `/proc/PID/stat`.
struct ProcessStat {
    id: u32,
    parent: u32,
    group: u32,
    /// Of the process and of its children that ended.
    seconds: f64,
}

impl ProcessStat {
    fn parse(text: &str) -> Option<Self> {
        // The name of the program is in parentheses, and may hold spaces.
        let (start, rest) = text.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        let ticks: u64 = (11..15).map(number).sum::<Option<u64>>()?;
        Some(Self {
            id: start.split_whitespace().next()?.parse().ok()?,
            parent: number(1)? as u32,
            group: number(2)? as u32,
            seconds: ticks as f64 / TICKS,
        })
    }

    fn read(folder: &Path) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(folder.join("stat")).ok()?)
    }
}

/// Processor time of processes, and whether one of them could run.
#[derive(Debug, Default)]
pub(crate) struct ProcessUsage {
    pub(crate) seconds: f64,
    pub(crate) is_runnable: bool,
}

impl ProcessUsage {
    /// Returns the usage of a process that leads a group, of the group, and of their descendants.
    pub(crate) fn of_group(leader: u32) -> Self {
        let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut all: Vec<ProcessStat> =
            folders.filter_map(|entry| ProcessStat::read(&entry.path())).collect();
        all.sort_by_key(|process| process.id);
        let mut members = HashSet::from([leader]);
        loop {
            let before = members.len();
            for process in &all {
                if process.group == leader || members.contains(&process.parent) {
                    members.insert(process.id);
                }
            }
            if members.len() == before {
                break;
            }
        }
        let own = all.iter().filter(|process| members.contains(&process.id));
        Self {
            seconds: own.map(|process| process.seconds).sum(),
            is_runnable: members.iter().any(|id| has_runnable_thread(*id)),
        }
    }

    /// Returns the processor time of a process that ended and was not waited for, and of its children.
    pub(crate) fn of_ended(id: u32) -> Self {
        let stat = ProcessStat::read(Path::new(&format!("/proc/{id}")));
        Self { seconds: stat.map_or(0.0, |stat| stat.seconds), is_runnable: false }
    }
}

fn has_runnable_thread(id: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok())
        .filter_map(|text| text.rsplit_once(')')?.1.trim_start().chars().next())
        .any(|state| matches!(state, 'R' | 'D' | 'T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_times_of_a_process_and_its_children() {
        let line = "12 (a) b) S 3 4 12 0 -1 4194304 1 2 3 4 100 50 25 25 20 0 1 0 1 1 1 1";
        let stat = ProcessStat::parse(line).unwrap();
        assert_eq!((stat.id, stat.parent, stat.group), (12, 3, 4));
        assert!((stat.seconds - 2.0).abs() < f64::EPSILON);
        assert!(ProcessStat::parse("12 (a) S 3").is_none());
    }

    #[test]
    fn tells_waiting_from_running_processes() {
        use std::os::unix::process::CommandExt;
        let start = |script: &str| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", script]).process_group(0).spawn().unwrap()
        };
        let wait_until = |id: u32, is_expected: fn(&ProcessUsage) -> bool| {
            while !is_expected(&ProcessUsage::of_group(id)) {
                std::thread::yield_now();
            }
        };
        let mut waiting = start("sleep 600 & wait");
        wait_until(waiting.id(), |usage| !usage.is_runnable);
        let mut running = start("(while :; do :; done) & wait");
        wait_until(running.id(), |usage| usage.is_runnable && usage.seconds > 0.1);
        for child in [&mut waiting, &mut running] {
            let group = rustix::process::Pid::from_child(child);
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
            child.wait().unwrap();
        }
    }
}
