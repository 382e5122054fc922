//! The life of the terminal: taken over, drawn on, given back on every way out.

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

use super::panics::Panics;

pub(super) struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Stdout>>,
    panics: Panics,
    // Dropped last: what the others still write comes before the terminal is as it was.
    _taken: Taken,
}

impl Terminal {
    pub(super) fn open() -> io::Result<Self> {
        let taken = Taken::over()?;
        let panics = Panics::watch(restore);
        let inner = ratatui::Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self { inner, panics, _taken: taken })
    }

    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.inner.draw(picture).map(drop)
    }

    /// What was typed or happened to the window, without waiting.
    pub(super) fn next_event(&self) -> io::Result<Option<Event>> {
        if event::poll(Duration::ZERO)? { event::read().map(Some) } else { Ok(None) }
    }

    pub(super) fn has_panicked(&self) -> bool {
        !self.panics.is_empty()
    }

    /// Gives it back; what threads said in panic.
    pub(super) fn close(self) -> Vec<String> {
        self.panics.take()
    }
}

/// There is one terminal. Given back twice, it would put the cursor where it was and write over what came since.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, ours until this is dropped.
struct Taken;

impl Taken {
    fn over() -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on whatever fails gives it back.
        let taken = Self;
        IS_TAKEN.store(true, Ordering::SeqCst);
        // Not every terminal has a second screen, and what is drawn is only what differs from an empty one. (The library's own
        // `clear` asks the terminal where its cursor is, and not every terminal answers.)
        execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
    }
}

/// Both halves are tried: a terminal that is gone cannot be told, but its mode may still be set.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
