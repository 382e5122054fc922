//! Layout of the screen. Panels are dropped as the terminal gets smaller; the list of tests is always shown.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keys;
use super::model::{CampaignPhase, ScreenModel};
use super::panels::{coverage, events, outcomes, workers};
use super::theme::ScreenTheme;
use super::view::ScreenView;

/// Minimum size (columns, rows) for all panels.
const FULL: (u16, u16) = (70, 20);
/// Minimum size (columns, rows) for the tests and a reproducer.
const HALF: (u16, u16) = (40, 10);

/// Draws the whole screen.
pub(super) fn draw_screen(
    frame: &mut Frame<'_>,
    model: &ScreenModel,
    view: &ScreenView,
    theme: ScreenTheme,
) {
    let area = frame.area();
    let has_room = |(width, height)| area.width >= width && area.height >= height;
    let heads = if area.height >= HALF.1 { 2 } else { 1 };
    let foot = u16::from(area.height >= 4);
    let rows = [Constraint::Length(heads), Constraint::Fill(1), Constraint::Length(foot)];
    let [head, body, foot] = Layout::vertical(rows).areas(area);
    draw_header(frame, head, model, theme);
    if has_room(FULL) {
        draw_full(frame, body, model, view, theme);
    } else if has_room(HALF) {
        let [top, bottom] =
            Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
        outcomes::draw_test_list(frame, top, model, view, theme);
        outcomes::draw_reproducer(frame, bottom, model, view, theme);
    } else {
        outcomes::draw_bare_list(frame, body, model, view, theme);
    }
    draw_footer(frame, foot, model, theme);
    if view.is_help_open {
        draw_help(frame, area, theme);
    }
}

fn draw_full(
    frame: &mut Frame<'_>,
    body: Rect,
    model: &ScreenModel,
    view: &ScreenView,
    theme: ScreenTheme,
) {
    let columns = [Constraint::Percentage(55), Constraint::Percentage(45)];
    let [left, right] = Layout::horizontal(columns).areas(body);
    let [list, reproducer, last] = Layout::vertical([Constraint::Fill(1); 3]).areas(left);
    outcomes::draw_test_list(frame, list, model, view, theme);
    outcomes::draw_reproducer(frame, reproducer, model, view, theme);
    events::draw_events(frame, last, model, theme);
    // One line for each worker, limited to leave room for the chart.
    let workers_height = (model.workers.len() as u16).clamp(1, (body.height / 4).max(1)) + 2;
    let rows = [
        Constraint::Fill(2),
        Constraint::Length(4),
        Constraint::Length(workers_height),
        Constraint::Length(5),
    ];
    let [chart, speed, each, agent] = Layout::vertical(rows).areas(right);
    coverage::draw_coverage(frame, chart, model, theme);
    coverage::draw_speed(frame, speed, model, theme);
    workers::draw_workers(frame, each, model, theme);
    events::draw_commands(frame, agent, model, theme);
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, model: &ScreenModel, theme: ScreenTheme) {
    let (style, state) = match model.state {
        CampaignPhase::Running => (theme.good(), "running"),
        CampaignPhase::Paused => (theme.warn(), "paused"),
        CampaignPhase::Stopping => (theme.warn(), "stopping"),
    };
    let first = Line::from(vec![
        Span::styled(state, style),
        Span::raw(format!(" {} ", format_clock(model.elapsed))),
        Span::styled(model.title.clone(), theme.bold()),
    ]);
    let failed = model.failed_count();
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

fn draw_footer(frame: &mut Frame<'_>, area: Rect, model: &ScreenModel, theme: ScreenTheme) {
    let line = match (&model.trouble, model.state) {
        (Some(trouble), _) => Line::styled(trouble.clone(), theme.bad()),
        (None, CampaignPhase::Stopping) => {
            Line::styled("shrinking failures; press q again to stop immediately", theme.warn())
        }
        (None, CampaignPhase::Paused) => Line::styled("q stop · p resume · ? help", theme.dim()),
        (None, CampaignPhase::Running) => {
            Line::styled("q stop · p pause · ↑↓ tests · Tab panel · ? help", theme.dim())
        }
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect, theme: ScreenTheme) {
    let line = |(key, effect): (&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{key:<10} "), theme.bold()), Span::raw(effect)])
    };
    let lines: Vec<_> = keys::KEY_HELP.into_iter().map(line).collect();
    let width = lines.iter().map(Line::width).max().unwrap_or_default() as u16 + 4;
    let height = lines.len() as u16 + 2;
    let [middle] = Layout::vertical([Constraint::Length(height)]).flex(Flex::Center).areas(area);
    let [middle] = Layout::horizontal([Constraint::Length(width)]).flex(Flex::Center).areas(middle);
    frame.render_widget(Clear, middle);
    let block = Block::bordered().title(" Keys ").padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(Paragraph::new(lines).block(block), middle);
}

/// Returns a duration as `1:02`, or as `3:01:02` from one hour on.
pub(super) fn format_clock(time: Duration) -> String {
    let (hours, minutes, seconds) =
        (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
