//! Lowers the priority of worker threads, so that threads that serve requests stay responsive.

/// Niceness added to that of the process.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const NICENESS_INCREMENT: i32 = 5;

/// Lowers the scheduling priority of the calling thread.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
pub(super) fn lower_thread_priority() {
    use rustix::process::{getpriority_process, setpriority_process};
    // On Linux each thread has its own niceness, addressed by its thread id.
    let thread = rustix::thread::gettid();
    if let Ok(now) = getpriority_process(Some(thread)) {
        // If this is forbidden, all threads keep the same priority, as on other systems.
        let _ = setpriority_process(Some(thread), now + NICENESS_INCREMENT);
    }
}

/// No-op: on other systems the niceness belongs to the whole process.
#[cfg(not(all(target_os = "linux", not(vouch_portable))))]
pub(super) fn lower_thread_priority() {}

#[cfg(all(test, target_os = "linux", not(vouch_portable)))]
mod tests {
    use rustix::process::getpriority_process;
    use rustix::thread::gettid;

    #[test]
    fn lowers_priority_of_calling_thread_only() {
        let niceness = || getpriority_process(Some(gettid())).expect("the thread exists");
        let before = niceness();
        let lowered = std::thread::spawn(move || {
            super::lower_thread_priority();
            niceness()
        });
        let lowered = lowered.join().expect("the thread does not panic");
        assert_eq!((lowered, niceness()), ((before + super::NICENESS_INCREMENT).min(19), before));
    }
}
