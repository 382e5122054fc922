//! Key bindings of the screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::ScreenAction;

/// Lines of the help panel: key and effect.
pub(super) const KEY_HELP: [(&str, &str); 7] = [
    ("q, Ctrl-C", "stop fuzzing and shrink failures;"),
    ("", "press again to stop immediately"),
    ("p", "pause or resume"),
    ("↑ ↓", "select a test, or scroll the reproducer"),
    ("PgUp PgDn", "move by ten; Home/End: first/last"),
    ("Tab", "switch between tests and reproducer"),
    ("?", "show or hide this help"),
];

/// Returns the action bound to a key, if any.
pub(super) fn map_key(key: KeyEvent) -> Option<ScreenAction> {
    // Some terminals also report key releases.
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let with = |modifier| key.modifiers.contains(modifier);
    if with(KeyModifiers::CONTROL) {
        // In raw mode, Ctrl-C arrives as a key instead of a signal.
        return (key.code == KeyCode::Char('c')).then_some(ScreenAction::Stop);
    }
    if with(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('q' | 'Q') => ScreenAction::Stop,
        KeyCode::Char('p' | 'P' | ' ') => ScreenAction::Pause,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => ScreenAction::Help,
        KeyCode::Esc => ScreenAction::Close,
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => ScreenAction::NextPanel,
        KeyCode::Up | KeyCode::Char('k') => ScreenAction::Up,
        KeyCode::Down | KeyCode::Char('j') => ScreenAction::Down,
        KeyCode::PageUp => ScreenAction::PageUp,
        KeyCode::PageDown => ScreenAction::PageDown,
        KeyCode::Home => ScreenAction::First,
        KeyCode::End => ScreenAction::Last,
        _ => return None,
    })
}
