//! Whole screens from a model that was made up, and what keys do.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::Color;

use super::model::{Doing, Event, Given, Model, Outcome, Point, State, Test, Worker};
use super::theme::Theme;
use super::view::{Action, View, Wish};
use super::{draw, keys};

fn test(name: &str, outcome: Outcome, calls: usize, place: Option<&str>) -> Test {
    Test { name: name.to_owned(), place: place.map(str::to_owned), outcome, calls }
}

/// A campaign of a minute and a half, with something in every panel.
fn model() -> Model {
    let seconds = Duration::from_secs;
    let event = |at, worker, text: &str| Event { at: seconds(at), worker, text: text.to_owned() };
    Model {
        title: "Vault · seed 7".to_owned(),
        state: State::Running,
        elapsed: seconds(95),
        calls: 1_234_567,
        limit: 50_000_000,
        rate: 13_100,
        branches: 64,
        corpus: 31,
        history: (1..=94)
            .map(|second| Point {
                at: seconds(second),
                branches: 64 - 60 / second as usize,
                rate: 12_000 + 100 * (second % 12),
            })
            .collect(),
        tests: vec![
            test("echidna_fee", Outcome::Passing, 0, None),
            test("echidna_total", Outcome::Shrinking, 2, None),
            test("move(address,uint256)", Outcome::Falsified, 1, Some("Vault.sol:31")),
            test("echidna_opt_level", Outcome::Best(Some("255".to_owned())), 1, None),
            test("echidna_opt_depth", Outcome::Best(None), 0, None),
        ],
        reproducer: vec![
            "deposit(1)  from: 0x0000000000000000000000000000000000010000".to_owned(),
            "move(0x0000000000000000000000000000000000010000, 1)  from: \
             0x0000000000000000000000000000000000010000 wait: 10 s, 2 blocks"
                .to_owned(),
        ],
        workers: vec![
            Worker { calls: 617_284, round: 411, doing: Doing::Fuzzing },
            Worker { calls: 617_000, round: 410, doing: Doing::Shrinking },
            Worker { calls: 283, round: 3, doing: Doing::Ended("it was stopped".to_owned()) },
        ],
        events: vec![
            event(94, 1, "echidna_total falsified: 2 calls"),
            event(12, 0, "+3 branches by deposit(7), corpus 31"),
            event(0, 1, "started"),
        ],
        agents: Some("http://127.0.0.1:8378/mcp".to_owned()),
        commands: vec![
            Given { round: 12, text: "prioritize Vault.move(address,uint256)".to_owned() },
            Given { round: 9, text: "inject 2 calls: deposit(1); withdraw(1)".to_owned() },
        ],
        trouble: None,
    }
}

fn drawn(model: &Model, view: &View, size: (u16, u16), theme: Theme) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw::all(frame, model, view, theme)).unwrap();
    terminal.backend().clone()
}

/// The screen as text.
fn check(model: &Model, view: &View, width: u16, height: u16) -> String {
    drawn(model, view, (width, height), Theme { has_colors: true }).to_string()
}

#[test]
fn all_panels() {
    insta::assert_snapshot!(check(&model(), &View::default(), 110, 30));
}

#[test]
fn an_ordinary_terminal() {
    insta::assert_snapshot!(check(&model(), &View::default(), 80, 24));
}

#[test]
fn less_and_less_room() {
    let texts = [(50, 14), (39, 9), (20, 5), (7, 2)]
        .map(|(width, height)| check(&model(), &View::default(), width, height));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn no_size_is_too_small_or_too_large() {
    let mut open = View::default();
    open.act(Action::Help);
    for view in [View::default(), open] {
        for size in [(0, 0), (1, 1), (1, 40), (200, 1), (0, 9), (70, 20), (71, 3), (300, 200)] {
            for model in [model(), Model::default()] {
                drawn(&model, &view, size, Theme { has_colors: true });
            }
        }
    }
}

#[test]
fn the_first_moment() {
    let tests = vec![test("echidna_fee", Outcome::Passing, 0, None)];
    let workers = vec![Worker { calls: 0, round: 0, doing: Doing::Fuzzing }];
    let title = "Vault · seed 7".to_owned();
    let model = Model { title, tests, workers, limit: 50_000, ..Model::default() };
    insta::assert_snapshot!(check(&model, &View::default(), 80, 20));
}

#[test]
fn many_workers_leave_room_for_the_chart() {
    let worker = Worker { calls: 5, round: 1, doing: Doing::Paused };
    let model = Model { workers: vec![worker; 64], state: State::Paused, ..model() };
    insta::assert_snapshot!(check(&model, &View::default(), 100, 26));
}

#[test]
fn what_a_person_should_know_is_at_the_bottom() {
    let bottom =
        |model: Model| check(&model, &View::default(), 60, 8).lines().last().unwrap().to_owned();
    let trouble = Some("what is found cannot be kept: the disk is full".to_owned());
    insta::assert_snapshot!(
        [
            bottom(model()),
            bottom(Model { state: State::Paused, ..model() }),
            bottom(Model { state: State::Stopping, ..model() }),
            bottom(Model { trouble, ..model() }),
        ]
        .join("\n")
    );
}

#[test]
fn help() {
    let mut view = View::default();
    view.act(Action::Help);
    insta::assert_snapshot!(check(&model(), &view, 80, 24));
    view.act(Action::Close);
    assert_eq!(check(&model(), &view, 80, 24), check(&model(), &View::default(), 80, 24));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let colors = |has_colors| {
        let screen = drawn(&model(), &View::default(), (110, 30), Theme { has_colors });
        let mut cells = screen.buffer().content().iter();
        cells.any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(colors(true) && !colors(false));
}

#[test]
fn keys_mean_actions() {
    let action = |code| keys::action(KeyEvent::from(code));
    let with = |code, modifiers| keys::action(KeyEvent::new(code, modifiers));
    assert_eq!(action(KeyCode::Char('q')), Some(Action::Stop));
    assert_eq!(with(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Stop));
    assert_eq!(action(KeyCode::Char('c')), None);
    assert_eq!(with(KeyCode::Char('q'), KeyModifiers::ALT), None);
    assert_eq!(action(KeyCode::Char('p')), Some(Action::Pause));
    assert_eq!(action(KeyCode::Char('?')), Some(Action::Help));
    assert_eq!(action(KeyCode::Tab), Some(Action::NextPanel));
    assert_eq!(action(KeyCode::Down), Some(Action::Down));
    assert_eq!(action(KeyCode::Char('x')), None);
    let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('q')) };
    assert_eq!(keys::action(released), None);
}

#[test]
fn the_first_test_that_failed_is_selected_until_somebody_moves() {
    let model = model();
    let mut view = View::default();
    view.fit(&model);
    assert_eq!(view.selected(&model.tests), 1);
    assert_eq!(view.selected(&model.tests[..1]), 0);
    assert_eq!(view.selected(&[]), 0);
    let mut after = |action| {
        assert_eq!(view.act(action), None);
        view.selected(&model.tests)
    };
    assert_eq!(after(Action::Down), 2);
    assert_eq!(after(Action::Up), 1);
    assert_eq!(after(Action::Last), 4);
    assert_eq!(after(Action::Down), 4);
    assert_eq!(after(Action::First), 0);
    assert_eq!(after(Action::Up), 0);
    assert_eq!(after(Action::PageDown), 4);
    // In the other panel arrows scroll.
    assert_eq!(after(Action::NextPanel), 4);
    assert_eq!(after(Action::Up), 4);
}

#[test]
fn a_reproducer_that_became_shorter_is_still_in_sight() {
    let mut model = model();
    let mut view = View::default();
    view.fit(&model);
    view.act(Action::NextPanel);
    view.act(Action::Last);
    assert_eq!(view.scroll, 1);
    model.reproducer.truncate(1);
    view.fit(&model);
    assert_eq!(view.scroll, 0);
}

#[test]
fn what_the_campaign_has_to_do_is_passed_on() {
    let mut view = View::default();
    assert_eq!(view.act(Action::Stop), Some(Wish::Stop));
    assert_eq!(view.act(Action::Pause), Some(Wish::Pause));
}
