//! Where things are on the screen, as far as there is room: what fails matters most, so the tests are always there.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keys;
use super::model::{Model, State};
use super::panels::{coverage, events, outcomes, workers};
use super::theme::Theme;
use super::view::View;

/// From here on all panels fit.
const FULL: (u16, u16) = (70, 20);
/// From here on there is room for the tests and a reproducer.
const HALF: (u16, u16) = (40, 10);

pub(super) fn all(frame: &mut Frame<'_>, model: &Model, view: &View, theme: Theme) {
    let area = frame.area();
    let has_room = |(width, height)| area.width >= width && area.height >= height;
    let heads = if area.height >= HALF.1 { 2 } else { 1 };
    let foot = u16::from(area.height >= 4);
    let rows = [Constraint::Length(heads), Constraint::Fill(1), Constraint::Length(foot)];
    let [head, body, foot] = Layout::vertical(rows).areas(area);
    header(frame, head, model, theme);
    if has_room(FULL) {
        full(frame, body, model, view, theme);
    } else if has_room(HALF) {
        let [top, bottom] =
            Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
        outcomes::list(frame, top, model, view, theme);
        outcomes::reproducer(frame, bottom, model, view, theme);
    } else {
        outcomes::bare(frame, body, model, view, theme);
    }
    footer(frame, foot, model, theme);
    if view.is_help_open {
        help(frame, area, theme);
    }
}

fn full(frame: &mut Frame<'_>, body: Rect, model: &Model, view: &View, theme: Theme) {
    let columns = [Constraint::Percentage(55), Constraint::Percentage(45)];
    let [left, right] = Layout::horizontal(columns).areas(body);
    let [list, reproducer, last] = Layout::vertical([Constraint::Fill(1); 3]).areas(left);
    outcomes::list(frame, list, model, view, theme);
    outcomes::reproducer(frame, reproducer, model, view, theme);
    events::last(frame, last, model, theme);
    // A line for each worker, as long as that leaves the chart its room.
    let workers_height = (model.workers.len() as u16).clamp(1, (body.height / 4).max(1)) + 2;
    let rows = [
        Constraint::Fill(2),
        Constraint::Length(4),
        Constraint::Length(workers_height),
        Constraint::Length(5),
    ];
    let [chart, speed, each, agent] = Layout::vertical(rows).areas(right);
    coverage::chart(frame, chart, model, theme);
    coverage::speed(frame, speed, model, theme);
    workers::list(frame, each, model, theme);
    events::agent(frame, agent, model, theme);
}

fn header(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let (style, state) = match model.state {
        State::Running => (theme.good(), "running"),
        State::Paused => (theme.warn(), "paused"),
        State::Stopping => (theme.warn(), "stopping"),
    };
    let first = Line::from(vec![
        Span::styled(state, style),
        Span::raw(format!(" {} ", clock(model.elapsed))),
        Span::styled(model.title.clone(), theme.bold()),
    ]);
    let failed = model.failed();
    let second = Line::from(vec![
        Span::raw(format!(
            "{} of {} calls · {}/s · {} branches · corpus {} · ",
            model.calls, model.limit, model.rate, model.branches, model.corpus
        )),
        Span::styled(
            format!("{failed} of {} failed", model.tests.len()),
            if failed > 0 { theme.bad() } else { theme.good() },
        ),
    ]);
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

fn footer(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let line = match (&model.trouble, model.state) {
        (Some(trouble), _) => Line::styled(trouble.clone(), theme.bad()),
        (None, State::Stopping) => {
            Line::styled("failures are made small; q again stops at once", theme.warn())
        }
        (None, State::Paused) => Line::styled("q stop · p go on · ? help", theme.dim()),
        (None, State::Running) => {
            Line::styled("q stop · p pause · ↑↓ tests · Tab panel · ? help", theme.dim())
        }
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn help(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let line = |(key, what): (&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{key:<10} "), theme.bold()), Span::raw(what)])
    };
    let lines: Vec<_> = keys::HELP.into_iter().map(line).collect();
    let width = lines.iter().map(Line::width).max().unwrap_or_default() as u16 + 4;
    let height = lines.len() as u16 + 2;
    let [middle] = Layout::vertical([Constraint::Length(height)]).flex(Flex::Center).areas(area);
    let [middle] = Layout::horizontal([Constraint::Length(width)]).flex(Flex::Center).areas(middle);
    frame.render_widget(Clear, middle);
    let block = Block::bordered().title(" Keys ").padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(Paragraph::new(lines).block(block), middle);
}

/// `1:02`, or `3:01:02` after an hour.
pub(super) fn clock(time: Duration) -> String {
    let (hours, minutes, seconds) =
        (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
