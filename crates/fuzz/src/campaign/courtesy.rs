//! Workers use every core; whoever answers questions about them goes first.

/// How much nicer than the process a worker is.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const NICER: i32 = 5;

/// Lets other threads of the process go before the one that calls this.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
pub(super) fn step_back() {
    use rustix::process::{getpriority_process, setpriority_process};
    // On Linux each thread has a niceness of its own, under its own number.
    let thread = rustix::thread::gettid();
    if let Ok(now) = getpriority_process(Some(thread)) {
        // Where that is forbidden, all threads are alike, as they are elsewhere.
        let _ = setpriority_process(Some(thread), now + NICER);
    }
}

/// Elsewhere a niceness belongs to the whole process.
#[cfg(not(all(target_os = "linux", not(vouch_portable))))]
pub(super) fn step_back() {}

#[cfg(all(test, target_os = "linux", not(vouch_portable)))]
mod tests {
    use rustix::process::getpriority_process;
    use rustix::thread::gettid;

    #[test]
    fn a_thread_steps_back_and_no_other() {
        let niceness = || getpriority_process(Some(gettid())).expect("it exists");
        let before = niceness();
        let stepped = std::thread::spawn(move || {
            super::step_back();
            niceness()
        });
        let stepped = stepped.join().expect("it does not crash");
        assert_eq!((stepped, niceness()), ((before + super::NICER).min(19), before));
    }
}
