//! What keys mean.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::Action;

/// Each key and what it does, for the help.
pub(super) const HELP: [(&str, &str); 7] = [
    ("q, Ctrl-C", "stop, with what was found made small;"),
    ("", "a second time: stop at once"),
    ("p", "pause, and go on"),
    ("↑ ↓", "the test before or after, or scroll"),
    ("PgUp PgDn", "the same by ten; Home and End: to the ends"),
    ("Tab", "from the tests to the reproducer and back"),
    ("?", "this help"),
];

pub(super) fn action(key: KeyEvent) -> Option<Action> {
    // Some terminals tell when a key is let go, too.
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let with = |modifier| key.modifiers.contains(modifier);
    if with(KeyModifiers::CONTROL) {
        // The terminal is raw, so that this comes as a key and not as a signal.
        return (key.code == KeyCode::Char('c')).then_some(Action::Stop);
    }
    if with(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('q' | 'Q') => Action::Stop,
        KeyCode::Char('p' | 'P' | ' ') => Action::Pause,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Action::Help,
        KeyCode::Esc => Action::Close,
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => Action::NextPanel,
        KeyCode::Up | KeyCode::Char('k') => Action::Up,
        KeyCode::Down | KeyCode::Char('j') => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Home => Action::First,
        KeyCode::End => Action::Last,
        _ => return None,
    })
}
