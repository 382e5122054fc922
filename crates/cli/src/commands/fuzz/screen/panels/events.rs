//! Lists of recent events and agent commands.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use crate::commands::fuzz::screen::draw::format_clock;
use crate::commands::fuzz::screen::model::{AgentCommandRow, EventRow, ScreenModel};
use crate::commands::fuzz::screen::theme::ScreenTheme;

pub(in super::super) fn draw_events(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    theme: ScreenTheme,
) {
    let block = Block::bordered().title(" Recent events ").border_style(theme.dim());
    let room = usize::from(block.inner(area).height);
    let line = |event: &EventRow| {
        let when = format!("{:>5} worker {}  ", format_clock(event.at), event.worker);
        Line::from(vec![Span::styled(when, theme.dim()), Span::raw(event.text.clone())])
    };
    let lines: Vec<_> = model.events.iter().take(room).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

pub(in super::super) fn draw_commands(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    theme: ScreenTheme,
) {
    let mut block = Block::bordered().title(" Agent ").border_style(theme.dim());
    if let Some(url) = &model.agents {
        block = block.title_bottom(format!(" {url} "));
    }
    let room = usize::from(block.inner(area).height);
    let line = |command: &AgentCommandRow| {
        let when = format!("round {}: ", command.round);
        Line::from(vec![Span::styled(when, theme.dim()), Span::raw(command.text.clone())])
    };
    let lines: Vec<_> = match model.commands.is_empty() {
        true => vec![Line::styled("no commands", theme.dim())],
        false => model.commands.iter().take(room).map(line).collect(),
    };
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
