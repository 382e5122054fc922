//! Panic handling while the screen is open. A panic of the drawing thread restores the terminal before it is printed.
//! Messages of other threads are held back until the screen closes.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// A panic hook that captures the messages of other threads. Dropping it restores the previous hook.
pub(super) struct PanicCapture {
    messages: Arc<Mutex<Vec<String>>>,
    previous: Arc<Hook>,
}

impl PanicCapture {
    /// Installs the hook. `restore` restores the terminal.
    pub(super) fn install_hook(restore: fn()) -> Self {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let previous: Arc<Hook> = take_hook().into();
        let here = thread::current().id();
        let (captured, print) = (Arc::clone(&messages), Arc::clone(&previous));
        set_hook(Box::new(move |info| {
            if thread::current().id() == here {
                restore();
                print(info);
            } else {
                captured.lock().push(info.to_string());
            }
        }));
        Self { messages, previous }
    }

    /// Removes and returns the captured messages.
    pub(super) fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.messages.lock())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.lock().is_empty()
    }
}

impl Drop for PanicCapture {
    fn drop(&mut self) {
        // A panicking thread is not allowed to change the hook.
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
    fn captures_other_threads_and_restores_terminal_on_own_panic() {
        let panics = PanicCapture::install_hook(|| {
            RESTORED.fetch_add(1, Ordering::SeqCst);
        });
        assert!(panics.is_empty());
        thread::spawn(|| panic!("in a worker")).join().unwrap_err();
        assert!(!panics.is_empty());
        assert_eq!(RESTORED.load(Ordering::SeqCst), 0);
        let messages = panics.take_messages();
        assert!(messages.len() == 1 && messages[0].contains("in a worker"), "{messages:?}");
        std::panic::catch_unwind(|| panic!("while drawing")).unwrap_err();
        assert_eq!(RESTORED.load(Ordering::SeqCst), 1);
        drop(panics);
        std::panic::catch_unwind(|| panic!("afterwards")).unwrap_err();
        assert_eq!(RESTORED.load(Ordering::SeqCst), 1);
    }
}
