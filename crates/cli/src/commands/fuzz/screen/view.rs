//! View state: selected test, scroll offset, focused panel and help. Independent of campaign and terminal.

use super::model::{ScreenModel, TestRow};

/// Rows moved by PgUp and PgDn.
const PAGE: usize = 10;

/// Effect of a key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScreenAction {
    Stop,
    Pause,
    Help,
    Close,
    NextPanel,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Request of the user to the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ControlRequest {
    Stop,
    /// Pause, or resume if paused.
    TogglePause,
}

/// Panel that the arrow keys apply to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FocusedPanel {
    #[default]
    Tests,
    Reproducer,
}

/// The view state of the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct ScreenView {
    /// Test chosen with the keys; until then, the first failed test is selected.
    chosen: Option<usize>,
    /// Selected test at the last update, and the number of tests.
    selected: usize,
    tests: usize,
    /// Scroll offset of the reproducer, and its number of lines.
    pub(super) scroll: usize,
    lines: usize,
    pub(super) focus: FocusedPanel,
    pub(super) is_help_open: bool,
}

impl ScreenView {
    /// Applies an action. Returns a request if it concerns the campaign.
    pub(super) fn apply_action(&mut self, action: ScreenAction) -> Option<ControlRequest> {
        match action {
            ScreenAction::Stop => return Some(ControlRequest::Stop),
            ScreenAction::Pause => return Some(ControlRequest::TogglePause),
            ScreenAction::Help => self.is_help_open = !self.is_help_open,
            ScreenAction::Close => self.is_help_open = false,
            ScreenAction::NextPanel => {
                self.focus = match self.focus {
                    FocusedPanel::Tests => FocusedPanel::Reproducer,
                    FocusedPanel::Reproducer => FocusedPanel::Tests,
                }
            }
            ScreenAction::Up => self.move_cursor(|at| at.saturating_sub(1)),
            ScreenAction::Down => self.move_cursor(|at| at.saturating_add(1)),
            ScreenAction::PageUp => self.move_cursor(|at| at.saturating_sub(PAGE)),
            ScreenAction::PageDown => self.move_cursor(|at| at.saturating_add(PAGE)),
            ScreenAction::First => self.move_cursor(|_| 0),
            ScreenAction::Last => self.move_cursor(|_| usize::MAX),
        }
        None
    }

    fn move_cursor(&mut self, to: impl Fn(usize) -> usize) {
        match self.focus {
            FocusedPanel::Tests => {
                self.selected = to(self.selected).min(self.tests.saturating_sub(1));
                self.chosen = Some(self.selected);
                self.scroll = 0;
            }
            FocusedPanel::Reproducer => {
                self.scroll = to(self.scroll).min(self.lines.saturating_sub(1));
            }
        }
    }

    /// Returns the index of the selected test.
    pub(super) fn selected_test(&self, tests: &[TestRow]) -> usize {
        let last = tests.len().saturating_sub(1);
        let failed = || tests.iter().position(|test| test.outcome.is_failure());
        self.chosen.or_else(failed).unwrap_or_default().min(last)
    }

    /// Clamps selection and scroll offset to the model. Reproducers get shorter while they are shrunk.
    pub(super) fn clamp_to_model(&mut self, model: &ScreenModel) {
        self.selected = self.selected_test(&model.tests);
        self.tests = model.tests.len();
        self.lines = model.reproducer.len();
        self.scroll = self.scroll.min(self.lines.saturating_sub(1));
    }
}
