//! What a person sees while a campaign runs: a screen that fills the terminal, or lines.

use std::io::Write;

use ::fuzz::campaign::Shared;
use app::campaign::plan::Plan;
use app::env::Var;
use contract::text::visible;

use super::progress::Reporter;
use super::screen::{Screen, Wish};
use crate::commands::Context;
use crate::ui::warn;
use crate::ui::{self, Ui};

pub(super) struct Front {
    ui: Ui,
    reporter: Reporter,
    /// In front of the lines, as long as it is there.
    screen: Option<Screen>,
}

impl Front {
    /// `agents` is where they reach the campaign.
    pub(super) fn new(
        ctx: &Context,
        ui: Ui,
        plan: &Plan,
        title: &str,
        agents: Option<String>,
    ) -> Self {
        let wants_screen = plan.may_show_screen && !ui.is_quiet() && is_for_people(ctx);
        let opened = wants_screen.then(|| Screen::open(title.to_owned(), agents, ui.colors_out()));
        let screen = opened.and_then(|opened| match opened {
            Ok(screen) => Some(screen),
            Err(error) => {
                warn(ui, format_args!("the screen cannot be shown: {error}"));
                None
            }
        });
        Self { ui, reporter: Reporter::new(ui, screen.is_none()), screen }
    }

    /// Shows how far the campaign is; what the person wants, if anything.
    pub(super) fn show(&mut self, shared: &Shared) -> Vec<Wish> {
        let Some(screen) = &mut self.screen else {
            self.reporter.show(shared);
            return Vec::new();
        };
        match screen.show(shared) {
            Ok(wishes) => wishes,
            // The campaign is worth more than its picture.
            Err(error) => {
                self.close();
                warn(self.ui, format_args!("the screen is gone: {error}"));
                Vec::new()
            }
        }
    }

    pub(super) fn note(&self, text: &str) {
        // The screen says it itself.
        if self.screen.is_none() {
            self.reporter.note(text);
        }
    }

    pub(super) fn end(mut self, shared: &Shared) {
        // The results say what failed; lines that were there all the time have said it before.
        match self.screen {
            Some(_) => self.close(),
            None => self.reporter.show(shared),
        }
        self.reporter.end();
    }

    fn close(&mut self) {
        for panic in self.screen.take().map(Screen::close).unwrap_or_default() {
            // As if it had been told when it happened; there is nobody left to tell if writing fails.
            let _ = writeln!(self.ui.err(), "{}", visible(&panic));
        }
    }
}

/// Somebody sits at a terminal that can show more than lines.
fn is_for_people(ctx: &Context) -> bool {
    let is_ci = ctx.app.environment.get(Var::Ci).is_some_and(|it| !matches!(it, "0" | "false"));
    let is_able = ctx.app.environment.get(Var::Term).is_some_and(|it| it != "dumb");
    is_able && !is_ci && ui::out_is_terminal() && ui::is_interactive() && ui::is_in_foreground()
}
