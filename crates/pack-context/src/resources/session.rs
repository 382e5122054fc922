//! `context://session/current` and `context://sessions/recent`.

use contract::Caller;
use contract::text::one_line;
use jiff::Timestamp;
use store::context::Session;

use super::Facts;
use super::overview::newest;
use super::page::{self, Page, code, count};
use crate::discover::{Discovery, tidy_line};
use crate::sessions::{Sessions, topics};

const MAX_SEARCHES: usize = 50;
const MAX_FILES: usize = 100;
const MAX_DISCOVERIES: usize = 30;
/// In the list of all.
const MAX_SHOWN: usize = 8;

pub(super) fn current(facts: &dyn Facts, sessions: &Sessions, caller: &Caller) -> String {
    let mut page = Page::new("This session");
    let Some(session) = sessions.current(caller) else {
        page.say("Nothing was searched for or read in this session yet.");
        return page.finish();
    };
    page.say(&headline(&session));
    let searches = session.searches.iter().take(MAX_SEARCHES).map(|search| {
        let results =
            count(usize::try_from(search.results).unwrap_or(usize::MAX), "result", "results");
        let times =
            if search.times > 1 { format!(", {} times", search.times) } else { String::new() };
        format!("{} ({results}{times})", tidy_line(&search.query, 300))
    });
    page.list("Searched for", session.searches.len(), searches);
    let files = session.files.iter().take(MAX_FILES).map(|file| {
        let times = if file.times > 1 { format!(" ({} times)", file.times) } else { String::new() };
        format!("{}{times}", code(&file.path))
    });
    page.list("Read", session.files.len(), files);
    let discoveries = facts.discoveries();
    let found = newest(discoveries.iter().filter(|found| is_of(found, &session, sessions.now())));
    let shown = found.iter().take(MAX_DISCOVERIES).map(|found| page::discovery(found));
    page.list("Found out meanwhile", found.len(), shown);
    page.finish()
}

pub(super) fn recent(facts: &dyn Facts, sessions: &Sessions, limit: usize) -> String {
    let mut page = Page::new("Recent sessions");
    let recent = sessions.recent(limit);
    if recent.is_empty() {
        page.say("Nothing was searched for or read in this project yet.");
        return page.finish();
    }
    let discoveries = facts.discoveries();
    for session in &recent {
        let mut lines = Vec::new();
        if !session.searches.is_empty() {
            let all = session.searches.iter().map(|search| tidy_line(&search.query, 120));
            lines.push(format!("searched for: {}", some(all, "; ")));
        }
        if !session.files.is_empty() {
            lines.push(format!(
                "read: {}",
                some(session.files.iter().map(|file| code(&file.path)), ", ")
            ));
        }
        let found =
            newest(discoveries.iter().filter(|found| is_of(found, session, session.seen_at)));
        if !found.is_empty() {
            let all = found
                .iter()
                .map(|found| tidy_line(found.title.as_ref().unwrap_or(&found.content), 120));
            lines.push(format!("found out: {}", some(all, "; ")));
        }
        page.list(&headline(session), lines.len(), lines);
    }
    page.finish()
}

/// When, who, about what.
fn headline(session: &Session) -> String {
    let client = session.key.client.as_ref().unwrap_or(&session.key.principal);
    let topics = topics(session);
    let about = if topics.is_empty() { String::new() } else { format!(": {}", topics.join(", ")) };
    let (start, end) = (minute(session.started_at), minute(session.seen_at));
    let until = if start == end { String::new() } else { format!(" to {end}") };
    format!("{start}{until}, {}{}", one_line(client), one_line(&about))
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

fn some(all: impl ExactSizeIterator<Item = String>, between: &str) -> String {
    let left = all.len().saturating_sub(MAX_SHOWN);
    let shown: Vec<_> = all.take(MAX_SHOWN).collect();
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    format!("{}{more}", shown.join(between))
}

/// One that names the session, or was written while it went on.
fn is_of(discovery: &Discovery, session: &Session, until: Timestamp) -> bool {
    let written = || {
        discovery.date.parse::<Timestamp>().is_ok_and(|at| session.started_at <= at && at <= until)
    };
    match &discovery.session {
        Some(named) => *named == session.key.id,
        // The date of a comment is that of its file, which says nothing about when it was found out.
        None => discovery.path().is_none_or(|path| !is_source(path)) && written(),
    }
}

fn is_source(path: &str) -> bool {
    source::Language::of(path, "").is_some_and(source::Language::has_imports)
}
