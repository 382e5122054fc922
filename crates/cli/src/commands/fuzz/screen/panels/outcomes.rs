//! The tests, and the calls that break the one that is selected.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, List, ListState, Paragraph, Wrap};

use crate::commands::fuzz::screen::model::{Model, Outcome, Test};
use crate::commands::fuzz::screen::theme::Theme;
use crate::commands::fuzz::screen::view::{Focus, View};

pub(in super::super) fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &Model,
    view: &View,
    theme: Theme,
) {
    let title = format!(" Tests ({}) ", model.tests.len());
    let block = Block::bordered().title(title).border_style(border(view, Focus::Tests, theme));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    bare(frame, inner, model, view, theme);
}

/// The same without a border, for want of room.
pub(in super::super) fn bare(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &Model,
    view: &View,
    theme: Theme,
) {
    if model.tests.is_empty() {
        let nothing = Line::styled("none: only coverage is looked for", theme.dim());
        return frame.render_widget(Paragraph::new(nothing), area);
    }
    let rows = model.tests.iter().map(|test| row(test, model.calls, theme));
    let list = List::new(rows).highlight_style(theme.selected());
    let mut state = ListState::default().with_selected(Some(view.selected(&model.tests)));
    frame.render_stateful_widget(list, area, &mut state);
}

fn row(test: &Test, calls: u64, theme: Theme) -> Line<'static> {
    let (style, word) = match &test.outcome {
        Outcome::Passing => (theme.good(), "passing"),
        Outcome::Shrinking => (theme.warn(), "shrinking"),
        Outcome::Falsified => (theme.bad(), "falsified"),
        Outcome::Best(_) => (theme.good(), "best"),
    };
    let detail = match &test.outcome {
        Outcome::Passing => format!("{calls} calls"),
        Outcome::Best(None) => "no number yet".to_owned(),
        Outcome::Best(Some(value)) => format!("{value}, {}", counted(test.calls)),
        Outcome::Shrinking | Outcome::Falsified => match &test.place {
            Some(place) => format!("{}, {place}", counted(test.calls)),
            None => counted(test.calls),
        },
    };
    Line::from(vec![
        Span::styled(format!("{word:<9} "), style),
        Span::raw(test.name.clone()),
        Span::styled(format!("  {detail}"), theme.dim()),
    ])
}

fn counted(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

pub(in super::super) fn reproducer(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &Model,
    view: &View,
    theme: Theme,
) {
    let test = model.tests.get(view.selected(&model.tests));
    let title = match test.map(|test| &test.outcome) {
        Some(Outcome::Shrinking) => " Reproducer so far ",
        Some(Outcome::Best(Some(_))) => " Calls to the best value ",
        _ => " Reproducer ",
    };
    let block = Block::bordered().title(title).border_style(border(view, Focus::Reproducer, theme));
    let text: Vec<Line<'_>> = match (test, &model.reproducer[..]) {
        (Some(test), []) if test.outcome.is_failure() => vec![Line::raw("without any call")],
        (_, []) => vec![Line::styled("this test has not failed", theme.dim())],
        (_, lines) => lines.iter().skip(view.scroll).map(|line| Line::raw(line.as_str())).collect(),
    };
    let panel = Paragraph::new(text).block(block).wrap(Wrap { trim: false });
    frame.render_widget(panel, area);
}

fn border(view: &View, panel: Focus, theme: Theme) -> Style {
    if view.focus == panel { theme.bold() } else { theme.dim() }
}
