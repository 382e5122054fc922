//! What each worker does.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use crate::commands::fuzz::screen::model::{Doing, Model, Worker};
use crate::commands::fuzz::screen::theme::Theme;

pub(in super::super) fn list(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let title = format!(" Workers ({}) ", model.workers.len());
    let block = Block::bordered().title(title).border_style(theme.dim());
    let room = usize::from(block.inner(area).height);
    let line = |(id, worker): (usize, &Worker)| row(id, worker, theme);
    let mut lines: Vec<_> = model.workers.iter().enumerate().map(line).collect();
    if lines.len() > room {
        let shown = room.saturating_sub(1);
        let rest = lines.len() - shown;
        lines.truncate(shown);
        lines.push(Line::styled(format!("… and {rest} more"), theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn row(id: usize, worker: &Worker, theme: Theme) -> Line<'static> {
    let (style, doing, why) = match &worker.doing {
        Doing::Fuzzing => (theme.good(), "fuzzing", String::new()),
        Doing::Shrinking => (theme.warn(), "shrinking", String::new()),
        Doing::Paused => (theme.warn(), "paused", String::new()),
        Doing::Ended(reason) => (theme.dim(), "ended", format!(": {reason}")),
    };
    let numbers = format!("{} calls, round {}{why}", worker.calls, worker.round);
    Line::from(vec![
        Span::raw(format!("{id:>2} ")),
        Span::styled(format!("{doing:<10}"), style),
        Span::raw(numbers),
    ])
}
