//! What happened last, and what an agent told the campaign to do.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use crate::commands::fuzz::screen::draw::clock;
use crate::commands::fuzz::screen::model::{Event, Given, Model};
use crate::commands::fuzz::screen::theme::Theme;

pub(in super::super) fn last(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let block = Block::bordered().title(" Last events ").border_style(theme.dim());
    let room = usize::from(block.inner(area).height);
    let line = |event: &Event| {
        let when = format!("{:>5} worker {}  ", clock(event.at), event.worker);
        Line::from(vec![Span::styled(when, theme.dim()), Span::raw(event.text.clone())])
    };
    let lines: Vec<_> = model.events.iter().take(room).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

pub(in super::super) fn agent(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let mut block = Block::bordered().title(" Agent ").border_style(theme.dim());
    if let Some(url) = &model.agents {
        block = block.title_bottom(format!(" {url} "));
    }
    let room = usize::from(block.inner(area).height);
    let line = |given: &Given| {
        let when = format!("round {}: ", given.round);
        Line::from(vec![Span::styled(when, theme.dim()), Span::raw(given.text.clone())])
    };
    let lines: Vec<_> = match model.commands.is_empty() {
        true => vec![Line::styled("no commands", theme.dim())],
        false => model.commands.iter().take(room).map(line).collect(),
    };
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
