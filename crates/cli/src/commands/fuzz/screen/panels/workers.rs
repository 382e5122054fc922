//! List of workers with their activity.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use crate::commands::fuzz::screen::model::{ScreenModel, WorkerActivity, WorkerRow};
use crate::commands::fuzz::screen::theme::ScreenTheme;

pub(in super::super) fn draw_workers(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    theme: ScreenTheme,
) {
    let title = format!(" Workers ({}) ", model.workers.len());
    let block = Block::bordered().title(title).border_style(theme.dim());
    let room = usize::from(block.inner(area).height);
    let line = |(id, worker): (usize, &WorkerRow)| format_worker_row(id, worker, theme);
    let mut lines: Vec<_> = model.workers.iter().enumerate().map(line).collect();
    if lines.len() > room {
        let shown = room.saturating_sub(1);
        let rest = lines.len() - shown;
        lines.truncate(shown);
        lines.push(Line::styled(format!("… and {rest} more"), theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn format_worker_row(id: usize, worker: &WorkerRow, theme: ScreenTheme) -> Line<'static> {
    let (style, activity, reason) = match &worker.activity {
        WorkerActivity::Fuzzing => (theme.good(), "fuzzing", String::new()),
        WorkerActivity::Shrinking => (theme.warn(), "shrinking", String::new()),
        WorkerActivity::Paused => (theme.warn(), "paused", String::new()),
        WorkerActivity::Ended(reason) => (theme.dim(), "ended", format!(": {reason}")),
    };
    let numbers = format!("{} calls, round {}{reason}", worker.calls, worker.round);
    Line::from(vec![
        Span::raw(format!("{id:>2} ")),
        Span::styled(format!("{activity:<10}"), style),
        Span::raw(numbers),
    ])
}
