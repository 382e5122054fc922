//! Display of a running campaign: the full-screen view on a capable terminal, progress lines otherwise.

use std::io::Write;

use ::fuzz::campaign::CampaignState;
use app::campaign::plan::CampaignPlan;
use app::env::EnvVar;
use contract::text::escape_hidden;

use super::progress::ProgressReporter;
use super::screen::{CampaignScreen, ControlRequest};
use crate::commands::CommandContext;
use crate::ui::print_warning;
use crate::ui::{self, Ui};

/// Shows a running campaign and collects the keys that were pressed.
pub(super) struct CampaignDisplay {
    ui: Ui,
    reporter: ProgressReporter,
    /// Shown instead of progress lines, if present.
    screen: Option<CampaignScreen>,
}

impl CampaignDisplay {
    /// Opens the display. `agents` is the URL at which agents reach the campaign.
    pub(super) fn new(
        ctx: &CommandContext,
        ui: Ui,
        plan: &CampaignPlan,
        title: &str,
        agents: Option<String>,
    ) -> Self {
        let wants_screen = plan.may_show_screen && !ui.is_quiet() && can_show_screen(ctx);
        let opened = wants_screen
            .then(|| CampaignScreen::open(title.to_owned(), agents, ui.stdout_uses_color()));
        let screen = opened.and_then(|opened| match opened {
            Ok(screen) => Some(screen),
            Err(error) => {
                print_warning(ui, format_args!("failed to open the full-screen view: {error}"));
                None
            }
        });
        Self { ui, reporter: ProgressReporter::new(ui, screen.is_none()), screen }
    }

    /// Updates the display. Returns the requests made by key presses.
    pub(super) fn show_campaign(&mut self, shared: &CampaignState) -> Vec<ControlRequest> {
        let Some(screen) = &mut self.screen else {
            self.reporter.report_progress(shared);
            return Vec::new();
        };
        match screen.show_campaign(shared) {
            Ok(requests) => requests,
            // The campaign goes on without the full-screen view.
            Err(error) => {
                self.close_screen();
                print_warning(self.ui, format_args!("closed the full-screen view: {error}"));
                Vec::new()
            }
        }
    }

    /// Prints a remark; no-op while the full-screen view is open, because its footer shows the state.
    pub(super) fn print_note(&self, text: &str) {
        if self.screen.is_none() {
            self.reporter.print_note(text);
        }
    }

    /// Closes the display. Without a full-screen view, prints the failures that were not printed yet.
    pub(super) fn finish_display(mut self, shared: &CampaignState) {
        match self.screen {
            Some(_) => self.close_screen(),
            None => self.reporter.report_progress(shared),
        }
        self.reporter.clear_line();
    }

    fn close_screen(&mut self) {
        for panic in self.screen.take().map(CampaignScreen::close).unwrap_or_default() {
            // Panic messages were held back while the view was open. Write errors are ignored.
            let _ = writeln!(self.ui.stderr(), "{}", escape_hidden(&panic));
        }
    }
}

/// Returns true if the full-screen view can be shown: an interactive foreground terminal that is neither CI nor dumb.
fn can_show_screen(ctx: &CommandContext) -> bool {
    let is_ci = ctx.app.environment.get(EnvVar::Ci).is_some_and(|it| !matches!(it, "0" | "false"));
    let is_able = ctx.app.environment.get(EnvVar::Term).is_some_and(|it| it != "dumb");
    is_able && !is_ci && ui::is_stdout_terminal() && ui::is_interactive() && ui::is_in_foreground()
}
