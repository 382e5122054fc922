//! The list of tests, and the reproducer of the selected test.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, List, ListState, Paragraph, Wrap};

use crate::commands::fuzz::screen::model::{ScreenModel, TestProgress, TestRow};
use crate::commands::fuzz::screen::theme::ScreenTheme;
use crate::commands::fuzz::screen::view::{FocusedPanel, ScreenView};

pub(in super::super) fn draw_test_list(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    view: &ScreenView,
    theme: ScreenTheme,
) {
    let title = format!(" Tests ({}) ", model.tests.len());
    let block =
        Block::bordered().title(title).border_style(border_style(view, FocusedPanel::Tests, theme));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    draw_bare_list(frame, inner, model, view, theme);
}

/// Draws the list of tests without a border, for small terminals.
pub(in super::super) fn draw_bare_list(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    view: &ScreenView,
    theme: ScreenTheme,
) {
    if model.tests.is_empty() {
        let empty = Line::styled("no tests: maximizing coverage only", theme.dim());
        return frame.render_widget(Paragraph::new(empty), area);
    }
    let rows = model.tests.iter().map(|test| format_test_row(test, theme));
    let list = List::new(rows).highlight_style(theme.selected());
    let mut state = ListState::default().with_selected(Some(view.selected_test(&model.tests)));
    frame.render_stateful_widget(list, area, &mut state);
}

fn format_test_row(test: &TestRow, theme: ScreenTheme) -> Line<'static> {
    let (style, word) = match &test.outcome {
        TestProgress::NotBroken(_) => (theme.good(), "holds"),
        TestProgress::NotExercised(_) => (theme.warn(), "unknown"),
        TestProgress::Shrinking => (theme.warn(), "shrinking"),
        TestProgress::Falsified => (theme.bad(), "falsified"),
        TestProgress::Best(_) => (theme.good(), "best"),
    };
    let detail = match &test.outcome {
        TestProgress::NotBroken(verdict) | TestProgress::NotExercised(verdict) => verdict.clone(),
        TestProgress::Best(None) => "no value yet".to_owned(),
        TestProgress::Best(Some(value)) => format!("{value}, {}", format_call_count(test.calls)),
        TestProgress::Shrinking | TestProgress::Falsified => match &test.location {
            Some(location) => format!("{}, {location}", format_call_count(test.calls)),
            None => format_call_count(test.calls),
        },
    };
    Line::from(vec![
        Span::styled(format!("{word:<9} "), style),
        Span::raw(test.name.clone()),
        Span::styled(format!("  {detail}"), theme.dim()),
    ])
}

fn format_call_count(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

pub(in super::super) fn draw_reproducer(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ScreenModel,
    view: &ScreenView,
    theme: ScreenTheme,
) {
    let test = model.tests.get(view.selected_test(&model.tests));
    let title = match test.map(|test| &test.outcome) {
        Some(TestProgress::Shrinking) => " Reproducer so far ",
        Some(TestProgress::Best(Some(_))) => " Calls for the best value ",
        _ => " Reproducer ",
    };
    let block = Block::bordered().title(title).border_style(border_style(
        view,
        FocusedPanel::Reproducer,
        theme,
    ));
    let text: Vec<Line<'_>> = match (test, &model.reproducer[..]) {
        (Some(test), []) if test.outcome.is_failure() => vec![Line::raw("no calls needed")],
        (_, []) => vec![Line::styled("this test has not failed", theme.dim())],
        (_, lines) => lines.iter().skip(view.scroll).map(|line| Line::raw(line.as_str())).collect(),
    };
    let panel = Paragraph::new(text).block(block).wrap(Wrap { trim: false });
    frame.render_widget(panel, area);
}

fn border_style(view: &ScreenView, panel: FocusedPanel, theme: ScreenTheme) -> Style {
    if view.focus == panel { theme.bold() } else { theme.dim() }
}
