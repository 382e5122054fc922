//! Progress reports of a build start at none and end at all, however fast the work is and however slow its observer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pack_context::Progress;

use crate::support::{LIMIT, Project};

/// Builds an index and returns how many files were reported as read, report by report, and how many files there are.
fn build(observe: impl Fn() + Sync, before_each_file: impl Fn() + Sync) -> (Vec<usize>, usize) {
    let project = Project::shop();
    let reports = Mutex::new(Vec::new());
    let report = |progress| {
        reports.lock().unwrap().push(progress);
        observe();
    };
    let cancelled = || {
        before_each_file();
        false
    };
    assert!(project.open().pack.index().complete(&report, &cancelled));
    let reports = reports.into_inner().unwrap();
    assert_eq!(reports[0], Progress::Listing { files: 0 });
    let read = reports.iter().filter_map(|progress| match progress {
        Progress::Analysing { done, all } => Some((*done, *all)),
        _ => None,
    });
    let (done, all): (Vec<_>, Vec<_>) = read.unzip();
    assert!(all.iter().all(|count| *count == all[0]), "{all:?}");
    (done, all[0])
}

fn check(done: &[usize], all: usize) {
    assert_eq!((done.first(), done.last()), (Some(&0), Some(&all)), "{done:?}");
    assert!(done.is_sorted(), "{done:?}");
}

#[test]
fn fast_build_reports_start_and_end() {
    let (done, all) = build(|| (), || ());
    check(&done, all);
}

/// The observer is so slow that all files are read before it looks a second time.
#[test]
fn slow_observer_sees_start_and_end() {
    let (done, all) = build(|| thread::sleep(Duration::from_millis(300)), || ());
    check(&done, all);
}

/// Each file waits for another report, so reports come from the middle of the work.
#[test]
fn slow_build_reports_steps_between_start_and_end() {
    let reports = AtomicUsize::new(0);
    let observe = || {
        reports.fetch_add(1, Ordering::SeqCst);
    };
    let reporter = thread::current().id();
    let before_each_file = || {
        let (seen, ends) = (reports.load(Ordering::SeqCst), Instant::now() + LIMIT);
        // The thread that reports asks, too, and would wait for itself.
        if thread::current().id() == reporter {
            return;
        }
        while reports.load(Ordering::SeqCst) == seen && Instant::now() < ends {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (done, all) = build(observe, before_each_file);
    check(&done, all);
    assert!(done.iter().any(|count| (1..all).contains(count)), "{done:?}");
}
