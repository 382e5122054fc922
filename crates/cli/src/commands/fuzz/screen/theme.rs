//! Styles of the screen. Colors are optional and carry no information of their own.

use ratatui::style::{Color, Modifier, Style};

#[derive(Clone, Copy, Debug)]
pub(super) struct ScreenTheme {
    pub(super) has_colors: bool,
}

impl ScreenTheme {
    pub(super) fn good(self) -> Style {
        self.foreground_style(Color::Green)
    }

    pub(super) fn bad(self) -> Style {
        self.foreground_style(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn warn(self) -> Style {
        self.foreground_style(Color::Yellow)
    }

    pub(super) fn chart_line(self) -> Style {
        self.foreground_style(Color::Cyan)
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn foreground_style(self, color: Color) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new() }
    }
}
