//! Renders `context://session/current` and `context://sessions/recent`.

use contract::Caller;
use contract::text::one_line;
use jiff::Timestamp;
use store::context::SessionRecord;

use super::ProjectFacts;
use super::markdown_page::{self, MarkdownPage, format_code, format_count};
use super::overview_page::sort_newest_first;
use crate::discover::{Discovery, sanitize_line};
use crate::sessions::{SessionTracker, extract_topics};

const MAX_SEARCHES: usize = 50;
const MAX_FILES: usize = 100;
const MAX_DISCOVERIES: usize = 30;
/// Maximum items shown per session in the list of recent sessions.
const MAX_SHOWN: usize = 8;

pub(super) fn render_current_session(
    facts: &dyn ProjectFacts,
    sessions: &SessionTracker,
    caller: &Caller,
) -> String {
    let mut page = MarkdownPage::new("This session");
    let Some(session) = sessions.current_session(caller) else {
        page.push_paragraph("No searches or file reads in this session yet.");
        return page.finish();
    };
    page.push_paragraph(&format_headline(&session));
    let searches = session.searches.iter().take(MAX_SEARCHES).map(|search| {
        let results = format_count(
            usize::try_from(search.results).unwrap_or(usize::MAX),
            "result",
            "results",
        );
        let times =
            if search.times > 1 { format!(", {} times", search.times) } else { String::new() };
        format!("{} ({results}{times})", sanitize_line(&search.query, 300))
    });
    page.push_list("Searches", session.searches.len(), searches);
    let files = session.files.iter().take(MAX_FILES).map(|file| {
        let times = if file.times > 1 { format!(" ({} times)", file.times) } else { String::new() };
        format!("{}{times}", format_code(&file.path))
    });
    page.push_list("Files read", session.files.len(), files);
    let discoveries = facts.discoveries();
    let found = sort_newest_first(
        discoveries.iter().filter(|found| belongs_to_session(found, &session, sessions.now())),
    );
    let shown =
        found.iter().take(MAX_DISCOVERIES).map(|found| markdown_page::format_discovery(found));
    page.push_list("Discoveries", found.len(), shown);
    page.finish()
}

pub(super) fn render_recent_sessions(
    facts: &dyn ProjectFacts,
    sessions: &SessionTracker,
    caller: &Caller,
    limit: usize,
) -> String {
    let mut page = MarkdownPage::new("Recent sessions");
    let recent = sessions.recent_sessions(caller, limit);
    if recent.is_empty() {
        page.push_paragraph("You have made no searches or file reads in this project yet.");
        return page.finish();
    }
    let discoveries = facts.discoveries();
    for session in &recent {
        let mut lines = Vec::new();
        if !session.searches.is_empty() {
            let all = session.searches.iter().map(|search| sanitize_line(&search.query, 120));
            lines.push(format!("searches: {}", join_with_limit(all, "; ")));
        }
        if !session.files.is_empty() {
            lines.push(format!(
                "files read: {}",
                join_with_limit(session.files.iter().map(|file| format_code(&file.path)), ", ")
            ));
        }
        let found = sort_newest_first(
            discoveries.iter().filter(|found| belongs_to_session(found, session, session.seen_at)),
        );
        if !found.is_empty() {
            let all = found
                .iter()
                .map(|found| sanitize_line(found.title.as_ref().unwrap_or(&found.content), 120));
            lines.push(format!("discoveries: {}", join_with_limit(all, "; ")));
        }
        page.push_list(&format_headline(session), lines.len(), lines);
    }
    page.finish()
}

/// Returns the time span, client and topics of a session on one line.
fn format_headline(session: &SessionRecord) -> String {
    let client = session.key.client.as_ref().unwrap_or(&session.key.principal);
    let topics = extract_topics(session);
    let about = if topics.is_empty() { String::new() } else { format!(": {}", topics.join(", ")) };
    let (start, end) = (format_minute(session.started_at), format_minute(session.seen_at));
    let until = if start == end { String::new() } else { format!(" to {end}") };
    format!("{start}{until}, {}{}", one_line(client), one_line(&about))
}

fn format_minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// Joins the first items and appends the number of the others.
fn join_with_limit(all: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let omitted = all.len().saturating_sub(MAX_SHOWN);
    let shown: Vec<_> = all.take(MAX_SHOWN).collect();
    let more = if omitted > 0 { format!(" and {omitted} more") } else { String::new() };
    format!("{}{more}", shown.join(separator))
}

/// Returns true if the discovery names the session or was written during it.
fn belongs_to_session(discovery: &Discovery, session: &SessionRecord, until: Timestamp) -> bool {
    let written = || {
        discovery.date.parse::<Timestamp>().is_ok_and(|at| session.started_at <= at && at <= until)
    };
    match &discovery.session {
        Some(named) => *named == session.key.id,
        // A comment has the date of its file, which does not say when the comment was written.
        None => discovery.path().is_none_or(|path| !is_source_file(path)) && written(),
    }
}

fn is_source_file(path: &str) -> bool {
    source::Language::detect(path, "").is_some_and(source::Language::has_imports)
}
