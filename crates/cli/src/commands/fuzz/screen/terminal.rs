//! Raw mode and alternate screen of the terminal, restored on every exit path including panics.

use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::panics::PanicCapture;

/// The terminal in raw mode, on its alternate screen.
pub(super) struct ScreenTerminal {
    inner: ratatui::Terminal<CrosstermBackend<Stdout>>,
    panics: PanicCapture,
    // Dropped last: the other fields may still write while they are dropped.
    _guard: RawModeGuard,
}

impl ScreenTerminal {
    pub(super) fn open() -> io::Result<Self> {
        let guard = RawModeGuard::take_over()?;
        let panics = PanicCapture::install_hook(restore_terminal);
        let inner = ratatui::Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self { inner, panics, _guard: guard })
    }

    pub(super) fn draw_frame(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.inner.draw(render).map(drop)
    }

    /// Returns the next key press or window event without blocking.
    pub(super) fn next_event(&self) -> io::Result<Option<Event>> {
        if event::poll(Duration::ZERO)? { event::read().map(Some) } else { Ok(None) }
    }

    pub(super) fn has_panicked(&self) -> bool {
        !self.panics.is_empty()
    }

    /// Restores the terminal. Returns the captured panic messages.
    pub(super) fn close(self) -> Vec<String> {
        self.panics.take_messages()
    }
}

/// True while the terminal is taken over. Restoring it twice would move the cursor back and overwrite later output.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal when dropped.
struct RawModeGuard;

impl RawModeGuard {
    /// Enables raw mode and switches to the alternate screen.
    fn take_over() -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on, any error restores the terminal.
        let guard = Self;
        IS_TAKEN.store(true, Ordering::SeqCst);
        // Some terminals have no alternate screen, and only differences from an empty screen are drawn, so it is cleared.
        // Ratatui's own `clear` queries the cursor position, which some terminals do not answer.
        execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        Ok(guard)
    }
}

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Restores the terminal; no-op if it was restored before. If writing fails, the mode is reset nevertheless.
fn restore_terminal() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
