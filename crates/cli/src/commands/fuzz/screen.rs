//! The screen of a campaign: what fills the terminal while it runs, for a person who watches.
//!
//! ```text
//!  Shared ──► collect ──► Model ──► draw ──► panels            keys ──► Action ──► View, or a Wish of the person
//! ```
//!
//! Whether there is a screen is decided in `front`; results are printed after it, where they stay.

mod collect;
mod draw;
mod keys;
mod model;
mod panels;
mod panics;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod view;

use std::io;
use std::time::{Duration, Instant};

use ::fuzz::campaign::Shared;
use ratatui::crossterm::event::Event;

use collect::Collector;
use terminal::Terminal;
use theme::Theme;
use view::View;

pub(super) use view::Wish;

/// Between two pictures, if nobody presses a key: often enough to look alive, too seldom to cost the workers anything.
const PERIOD: Duration = Duration::from_millis(200);

pub(super) struct Screen {
    terminal: Terminal,
    collector: Collector,
    view: View,
    theme: Theme,
    drawn: Option<Instant>,
}

impl Screen {
    pub(super) fn open(
        title: String,
        agents: Option<String>,
        has_colors: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            terminal: Terminal::open()?,
            collector: Collector::new(title, agents),
            view: View::default(),
            theme: Theme { has_colors },
            drawn: None,
        })
    }

    /// Takes in what was typed, and draws when it is time; what the person wants, if anything.
    pub(super) fn show(&mut self, shared: &Shared) -> io::Result<Vec<Wish>> {
        let mut wishes = Vec::new();
        let mut is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD);
        while let Some(event) = self.terminal.next_event()? {
            is_due = true;
            if let Event::Key(key) = event {
                let action = keys::action(key);
                wishes.extend(action.and_then(|action| self.view.act(action)));
            }
        }
        if is_due {
            self.draw(shared)?;
        }
        Ok(wishes)
    }

    /// Gives the terminal back; what threads said in panic meanwhile, which nobody has seen.
    pub(super) fn close(self) -> Vec<String> {
        self.terminal.close()
    }

    fn draw(&mut self, shared: &Shared) -> io::Result<()> {
        let mut model = self.collector.look(shared, &self.view);
        if self.terminal.has_panicked() {
            let crashed = "a worker crashed, which is a defect of the fuzzer; q ends the campaign";
            model.trouble.get_or_insert_with(|| crashed.to_owned());
        }
        self.view.fit(&model);
        let (view, theme) = (&self.view, self.theme);
        self.terminal.draw(|frame| draw::all(frame, &model, view, theme))?;
        self.drawn = Some(Instant::now());
        Ok(())
    }
}
