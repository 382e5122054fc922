//! Renders whole screens from a sample model, and tests the key bindings.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::Color;

use super::model::{
    AgentCommandRow, CampaignPhase, EventRow, HistoryPoint, ScreenModel, TestProgress, TestRow,
    WorkerActivity, WorkerRow,
};
use super::theme::ScreenTheme;
use super::view::{ControlRequest, ScreenAction, ScreenView};
use super::{draw, keys};

fn test_row(name: &str, outcome: TestProgress, calls: usize, location: Option<&str>) -> TestRow {
    TestRow { name: name.to_owned(), location: location.map(str::to_owned), outcome, calls }
}

fn not_broken() -> TestProgress {
    TestProgress::NotBroken("not broken in 1200000 calls, evaluated 812 times".to_owned())
}

fn not_run() -> TestProgress {
    let reason = "not run: unsupported cheat code vm.rpc(string,string)";
    TestProgress::NotExercised(reason.to_owned())
}

/// Returns the model of a campaign after 95 seconds, with content in every panel.
fn sample_model() -> ScreenModel {
    let seconds = Duration::from_secs;
    let event =
        |at, worker, text: &str| EventRow { at: seconds(at), worker, text: text.to_owned() };
    ScreenModel {
        title: "Vault · seed 7".to_owned(),
        state: CampaignPhase::Running,
        elapsed: seconds(95),
        calls: 1_234_567,
        limit: 50_000_000,
        rate: 13_100,
        branches: 64,
        corpus: 31,
        history: (1..=94)
            .map(|second| HistoryPoint {
                at: seconds(second),
                branches: 64 - 60 / second as usize,
                rate: 12_000 + 100 * (second % 12),
            })
            .collect(),
        tests: vec![
            test_row("echidna_fee", not_broken(), 0, None),
            test_row("echidna_total", TestProgress::Shrinking, 2, None),
            test_row("move(address,uint256)", TestProgress::Falsified, 1, Some("Vault.sol:31")),
            test_row("echidna_opt_level", TestProgress::Best(Some("255".to_owned())), 1, None),
            test_row("echidna_opt_depth", TestProgress::Best(None), 0, None),
            test_row("echidna_price", not_run(), 0, None),
        ],
        reproducer: vec![
            "deposit(1)  from: 0x0000000000000000000000000000000000010000".to_owned(),
            "move(0x0000000000000000000000000000000000010000, 1)  from: \
             0x0000000000000000000000000000000000010000 wait: 10 s, 2 blocks"
                .to_owned(),
        ],
        workers: vec![
            WorkerRow { calls: 617_284, round: 411, activity: WorkerActivity::Fuzzing },
            WorkerRow { calls: 617_000, round: 410, activity: WorkerActivity::Shrinking },
            WorkerRow {
                calls: 283,
                round: 3,
                activity: WorkerActivity::Ended("it was stopped".to_owned()),
            },
        ],
        events: vec![
            event(94, 1, "echidna_total falsified: 2 calls"),
            event(12, 0, "+3 branches by deposit(7), corpus 31"),
            event(0, 1, "started"),
        ],
        agents: Some("http://127.0.0.1:8378/mcp".to_owned()),
        commands: vec![
            AgentCommandRow {
                round: 12,
                text: "prioritize Vault.move(address,uint256)".to_owned(),
            },
            AgentCommandRow {
                round: 9,
                text: "inject 2 calls: deposit(1); withdraw(1)".to_owned(),
            },
        ],
        trouble: None,
    }
}

fn draw_screen(
    model: &ScreenModel,
    view: &ScreenView,
    size: (u16, u16),
    theme: ScreenTheme,
) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw::draw_screen(frame, model, view, theme)).unwrap();
    terminal.backend().clone()
}

/// Returns the screen as text.
fn render_text(model: &ScreenModel, view: &ScreenView, width: u16, height: u16) -> String {
    draw_screen(model, view, (width, height), ScreenTheme { has_colors: true }).to_string()
}

#[test]
fn shows_all_panels_on_large_terminal() {
    insta::assert_snapshot!(render_text(&sample_model(), &ScreenView::default(), 110, 30));
}

#[test]
fn shows_all_panels_on_80x24_terminal() {
    insta::assert_snapshot!(render_text(&sample_model(), &ScreenView::default(), 80, 24));
}

#[test]
fn drops_panels_on_small_terminals() {
    let texts = [(50, 14), (39, 9), (20, 5), (7, 2)]
        .map(|(width, height)| render_text(&sample_model(), &ScreenView::default(), width, height));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn renders_at_any_size() {
    let mut open = ScreenView::default();
    open.apply_action(ScreenAction::Help);
    for view in [ScreenView::default(), open] {
        for size in [(0, 0), (1, 1), (1, 40), (200, 1), (0, 9), (70, 20), (71, 3), (300, 200)] {
            for model in [sample_model(), ScreenModel::default()] {
                draw_screen(&model, &view, size, ScreenTheme { has_colors: true });
            }
        }
    }
}

#[test]
fn shows_campaign_before_first_call() {
    let tests = vec![test_row(
        "echidna_fee",
        TestProgress::NotExercised("never called".to_owned()),
        0,
        None,
    )];
    let workers = vec![WorkerRow { calls: 0, round: 0, activity: WorkerActivity::Fuzzing }];
    let title = "Vault · seed 7".to_owned();
    let model = ScreenModel { title, tests, workers, limit: 50_000, ..ScreenModel::default() };
    insta::assert_snapshot!(render_text(&model, &ScreenView::default(), 80, 20));
}

#[test]
fn limits_worker_rows_to_keep_chart() {
    let worker = WorkerRow { calls: 5, round: 1, activity: WorkerActivity::Paused };
    let model =
        ScreenModel { workers: vec![worker; 64], state: CampaignPhase::Paused, ..sample_model() };
    insta::assert_snapshot!(render_text(&model, &ScreenView::default(), 100, 26));
}

#[test]
fn footer_shows_keys_state_or_error() {
    let bottom = |model: ScreenModel| {
        render_text(&model, &ScreenView::default(), 60, 8).lines().last().unwrap().to_owned()
    };
    let trouble = Some("failed to save results: the disk is full".to_owned());
    insta::assert_snapshot!(
        [
            bottom(sample_model()),
            bottom(ScreenModel { state: CampaignPhase::Paused, ..sample_model() }),
            bottom(ScreenModel { state: CampaignPhase::Stopping, ..sample_model() }),
            bottom(ScreenModel { trouble, ..sample_model() }),
        ]
        .join("\n")
    );
}

#[test]
fn help_overlay_opens_and_closes() {
    let mut view = ScreenView::default();
    view.apply_action(ScreenAction::Help);
    insta::assert_snapshot!(render_text(&sample_model(), &view, 80, 24));
    view.apply_action(ScreenAction::Close);
    assert_eq!(
        render_text(&sample_model(), &view, 80, 24),
        render_text(&sample_model(), &ScreenView::default(), 80, 24)
    );
}

#[test]
fn uses_colors_only_if_enabled() {
    let colors = |has_colors| {
        let screen = draw_screen(
            &sample_model(),
            &ScreenView::default(),
            (110, 30),
            ScreenTheme { has_colors },
        );
        let mut cells = screen.buffer().content().iter();
        cells.any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(colors(true) && !colors(false));
}

#[test]
fn maps_keys_to_actions() {
    let action = |code| keys::map_key(KeyEvent::from(code));
    let with = |code, modifiers| keys::map_key(KeyEvent::new(code, modifiers));
    assert_eq!(action(KeyCode::Char('q')), Some(ScreenAction::Stop));
    assert_eq!(with(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(ScreenAction::Stop));
    assert_eq!(action(KeyCode::Char('c')), None);
    assert_eq!(with(KeyCode::Char('q'), KeyModifiers::ALT), None);
    assert_eq!(action(KeyCode::Char('p')), Some(ScreenAction::Pause));
    assert_eq!(action(KeyCode::Char('?')), Some(ScreenAction::Help));
    assert_eq!(action(KeyCode::Tab), Some(ScreenAction::NextPanel));
    assert_eq!(action(KeyCode::Down), Some(ScreenAction::Down));
    assert_eq!(action(KeyCode::Char('x')), None);
    let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('q')) };
    assert_eq!(keys::map_key(released), None);
}

#[test]
fn selects_first_failed_test_until_moved() {
    let model = sample_model();
    let mut view = ScreenView::default();
    view.clamp_to_model(&model);
    assert_eq!(view.selected_test(&model.tests), 1);
    assert_eq!(view.selected_test(&model.tests[..1]), 0);
    assert_eq!(view.selected_test(&[]), 0);
    let mut after = |action| {
        assert_eq!(view.apply_action(action), None);
        view.selected_test(&model.tests)
    };
    assert_eq!(after(ScreenAction::Down), 2);
    assert_eq!(after(ScreenAction::Up), 1);
    assert_eq!(after(ScreenAction::Last), 5);
    assert_eq!(after(ScreenAction::Down), 5);
    assert_eq!(after(ScreenAction::First), 0);
    assert_eq!(after(ScreenAction::Up), 0);
    assert_eq!(after(ScreenAction::PageDown), 5);
    // In the other panel, arrows scroll.
    assert_eq!(after(ScreenAction::NextPanel), 5);
    assert_eq!(after(ScreenAction::Up), 5);
}

#[test]
fn clamps_scroll_when_reproducer_shrinks() {
    let mut model = sample_model();
    let mut view = ScreenView::default();
    view.clamp_to_model(&model);
    view.apply_action(ScreenAction::NextPanel);
    view.apply_action(ScreenAction::Last);
    assert_eq!(view.scroll, 1);
    model.reproducer.truncate(1);
    view.clamp_to_model(&model);
    assert_eq!(view.scroll, 0);
}

#[test]
fn stop_and_pause_become_requests() {
    let mut view = ScreenView::default();
    assert_eq!(view.apply_action(ScreenAction::Stop), Some(ControlRequest::Stop));
    assert_eq!(view.apply_action(ScreenAction::Pause), Some(ControlRequest::TogglePause));
}
