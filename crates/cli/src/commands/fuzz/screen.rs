//! Full-screen view of a running campaign.
//!
//! ```text
//!  CampaignState ──► collect ──► ScreenModel ──► draw ──► panels
//!  keys ──► ScreenAction ──► ScreenView, or a ControlRequest for the campaign
//! ```
//!
//! The `display` module decides if the view is shown. Results are printed after it closes. Start at
//! [`CampaignScreen::show_campaign`].

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

use ::fuzz::campaign::CampaignState;
use ratatui::crossterm::event::Event;

use collect::ModelCollector;
use terminal::ScreenTerminal;
use theme::ScreenTheme;
use view::ScreenView;

pub(super) use view::ControlRequest;

/// Interval between frames without key presses: looks responsive and does not slow the workers down.
const PERIOD: Duration = Duration::from_millis(200);

/// The full-screen view, from opening to closing.
pub(super) struct CampaignScreen {
    terminal: ScreenTerminal,
    collector: ModelCollector,
    view: ScreenView,
    theme: ScreenTheme,
    drawn: Option<Instant>,
}

impl CampaignScreen {
    pub(super) fn open(
        title: String,
        agents: Option<String>,
        has_colors: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            terminal: ScreenTerminal::open()?,
            collector: ModelCollector::new(title, agents),
            view: ScreenView::default(),
            theme: ScreenTheme { has_colors },
            drawn: None,
        })
    }

    /// Handles key presses and redraws if due. Returns requests for the campaign.
    pub(super) fn show_campaign(
        &mut self,
        shared: &CampaignState,
    ) -> io::Result<Vec<ControlRequest>> {
        let mut requests = Vec::new();
        let mut is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD);
        while let Some(event) = self.terminal.next_event()? {
            is_due = true;
            if let Event::Key(key) = event {
                let action = keys::map_key(key);
                requests.extend(action.and_then(|action| self.view.apply_action(action)));
            }
        }
        if is_due {
            self.draw_frame(shared)?;
        }
        Ok(requests)
    }

    /// Restores the terminal. Returns the panic messages of other threads that were held back.
    pub(super) fn close(self) -> Vec<String> {
        self.terminal.close()
    }

    fn draw_frame(&mut self, shared: &CampaignState) -> io::Result<()> {
        let mut model = self.collector.build_model(shared, &self.view);
        if self.terminal.has_panicked() {
            let crashed = "a worker crashed, which is a bug in the fuzzer; press q to stop";
            model.trouble.get_or_insert_with(|| crashed.to_owned());
        }
        self.view.clamp_to_model(&model);
        let (view, theme) = (&self.view, self.theme);
        self.terminal.draw_frame(|frame| draw::draw_screen(frame, &model, view, theme))?;
        self.drawn = Some(Instant::now());
        Ok(())
    }
}
