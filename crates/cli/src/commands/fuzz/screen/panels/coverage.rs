//! Charts of coverage and speed over time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Sparkline};

use crate::commands::fuzz::screen::draw::format_clock;
use crate::commands::fuzz::screen::model::ScreenModel;
use crate::commands::fuzz::screen::theme::ScreenTheme;

pub(in super::super) fn draw_coverage(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    theme: ScreenTheme,
) {
    let end = model.elapsed.as_secs_f64().max(1.0);
    let top = model.branches.max(1);
    let past = model.history.iter().map(|point| (point.at.as_secs_f64(), point.branches as f64));
    let now = (model.elapsed.as_secs_f64(), model.branches as f64);
    let points: Vec<_> = std::iter::once((0.0, 0.0)).chain(past).chain([now]).collect();
    let data = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(theme.chart_line())
        .data(&points);
    let x_axis = Axis::default()
        .bounds([0.0, end])
        .style(theme.dim())
        .labels(["0:00".to_owned(), format_clock(model.elapsed)]);
    let y_axis = Axis::default()
        .bounds([0.0, top as f64])
        .style(theme.dim())
        .labels(["0".to_owned(), top.to_string()]);
    let title = format!(" Coverage: {} branches ", model.branches);
    let block = Block::bordered().title(title).border_style(theme.dim());
    frame.render_widget(Chart::new(vec![data]).block(block).x_axis(x_axis).y_axis(y_axis), area);
}

pub(in super::super) fn draw_speed(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    theme: ScreenTheme,
) {
    let title = format!(" Speed: {} calls/s ", model.rate);
    let block = Block::bordered().title(title).border_style(theme.dim());
    // Only the newest points that fit.
    let width = usize::from(block.inner(area).width);
    let from = model.history.len().saturating_sub(width);
    let rates = model.history[from..].iter().map(|point| point.rate);
    let line = Sparkline::default().block(block).style(theme.chart_line()).data(rates);
    frame.render_widget(line, area);
}
