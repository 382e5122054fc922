//! Panics while the screen is up. That of the thread that draws gives the terminal back before it is told; those of other
//! threads are kept until somebody can read them.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

pub(super) struct Panics {
    told: Arc<Mutex<Vec<String>>>,
    previous: Arc<Hook>,
}

impl Panics {
    /// Watches until it is dropped. `restore` gives the terminal back.
    pub(super) fn watch(restore: fn()) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let previous: Arc<Hook> = take_hook().into();
        let here = thread::current().id();
        let (keep, tell) = (Arc::clone(&told), Arc::clone(&previous));
        set_hook(Box::new(move |info| {
            if thread::current().id() == here {
                restore();
                tell(info);
            } else {
                keep.lock().push(info.to_string());
            }
        }));
        Self { told, previous }
    }

    /// What other threads said, once.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.lock().is_empty()
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        // A thread that panics may not change the hook, and needs no other any more.
        if !thread::panicking() {
            let previous = Arc::clone(&self.previous);
            set_hook(Box::new(move |info| previous(info)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static RESTORED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn other_threads_wait_and_our_own_gives_the_terminal_back() {
        let panics = Panics::watch(|| {
            RESTORED.fetch_add(1, Ordering::SeqCst);
        });
        assert!(panics.is_empty());
        thread::spawn(|| panic!("in a worker")).join().unwrap_err();
        assert!(!panics.is_empty());
        assert_eq!(RESTORED.load(Ordering::SeqCst), 0);
        let told = panics.take();
        assert!(told.len() == 1 && told[0].contains("in a worker"), "{told:?}");
        std::panic::catch_unwind(|| panic!("while drawing")).unwrap_err();
        assert_eq!(RESTORED.load(Ordering::SeqCst), 1);
        drop(panics);
        std::panic::catch_unwind(|| panic!("afterwards")).unwrap_err();
        assert_eq!(RESTORED.load(Ordering::SeqCst), 1);
    }
}
