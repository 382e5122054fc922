//! What a person looks at: which test, how far down, and whether the help is open. Knows no campaign and no terminal.

use super::model::{Model, Test};

/// How far a page goes.
const PAGE: usize = 10;

/// Something that a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
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

/// Something that the campaign has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Wish {
    Stop,
    /// Pause, or go on if it is paused.
    Pause,
}

/// The panel that the arrows move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    #[default]
    Tests,
    Reproducer,
}

#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The test that somebody moved to; before that it is the first that failed.
    chosen: Option<usize>,
    /// What was selected when it was looked last, and how many there were to choose from.
    selected: usize,
    tests: usize,
    /// Lines of the reproducer that are above what is shown, and how many it has.
    pub(super) scroll: usize,
    lines: usize,
    pub(super) focus: Focus,
    pub(super) is_help_open: bool,
}

impl View {
    pub(super) fn act(&mut self, action: Action) -> Option<Wish> {
        match action {
            Action::Stop => return Some(Wish::Stop),
            Action::Pause => return Some(Wish::Pause),
            Action::Help => self.is_help_open = !self.is_help_open,
            Action::Close => self.is_help_open = false,
            Action::NextPanel => {
                self.focus = match self.focus {
                    Focus::Tests => Focus::Reproducer,
                    Focus::Reproducer => Focus::Tests,
                }
            }
            Action::Up => self.go(|at| at.saturating_sub(1)),
            Action::Down => self.go(|at| at.saturating_add(1)),
            Action::PageUp => self.go(|at| at.saturating_sub(PAGE)),
            Action::PageDown => self.go(|at| at.saturating_add(PAGE)),
            Action::First => self.go(|_| 0),
            Action::Last => self.go(|_| usize::MAX),
        }
        None
    }

    fn go(&mut self, to: impl Fn(usize) -> usize) {
        match self.focus {
            Focus::Tests => {
                self.selected = to(self.selected).min(self.tests.saturating_sub(1));
                self.chosen = Some(self.selected);
                self.scroll = 0;
            }
            Focus::Reproducer => {
                self.scroll = to(self.scroll).min(self.lines.saturating_sub(1));
            }
        }
    }

    pub(super) fn selected(&self, tests: &[Test]) -> usize {
        let last = tests.len().saturating_sub(1);
        let failed = || tests.iter().position(|test| test.outcome.is_failure());
        self.chosen.or_else(failed).unwrap_or_default().min(last)
    }

    /// Remembers what there is to move in. Reproducers become shorter while they are looked at.
    pub(super) fn fit(&mut self, model: &Model) {
        self.selected = self.selected(&model.tests);
        self.tests = model.tests.len();
        self.lines = model.reproducer.len();
        self.scroll = self.scroll.min(self.lines.saturating_sub(1));
    }
}
