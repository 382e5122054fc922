//! Kills a program with everything that it started: a compiler may be a script that starts the real one.

use std::process::Child;

/// Kills a program and its descendants, and waits for the program.
pub(super) fn kill_tree(child: &mut Child) {
    kill_descendants(child.id());
    // Fails if it has ended already, which is fine.
    drop(child.kill());
    drop(child.wait());
}

#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn kill_descendants(root: u32) {
    use rustix::process::{Pid, Signal, kill_process};

    /// Rounds in which processes are stopped that were started meanwhile.
    const ROUNDS: usize = 8;
    let send = |process: u32, signal| {
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        let _ = process.map(|process| kill_process(process, signal));
    };
    // A process that is stopped starts no others, and its id is not used anew.
    let mut stopped = vec![root];
    send(root, Signal::STOP);
    for _ in 0..ROUNDS {
        let found = list_descendants(root);
        let new: Vec<_> = found.into_iter().filter(|it| !stopped.contains(it)).collect();
        if new.is_empty() {
            break;
        }
        new.iter().for_each(|&process| send(process, Signal::STOP));
        stopped.extend(new);
    }
    stopped.into_iter().skip(1).for_each(|process| send(process, Signal::KILL));
}

#[cfg(not(all(target_os = "linux", not(vouch_portable))))]
fn kill_descendants(_: u32) {}

/// Returns the processes below another one.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn list_descendants(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let parents: Vec<_> = entries
        .filter_map(|entry| {
            let process: u32 = entry.file_name().to_str()?.parse().ok()?;
            let text = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program is in brackets, and may contain any character.
            let (_, fields) = text.rsplit_once(')')?;
            Some((process, fields.split_whitespace().nth(1)?.parse::<u32>().ok()?))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == process);
        found.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}
