//! The interactive prompt of `vouch ask`, with history: one question and one tool call for each line.

use std::path::Path;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::session::AskSession;
use crate::exit::ExitStatus;
use crate::report::{FailureExt, Result, is_broken_pipe, print_failure};

const HISTORY: &str = "ask_history";
const MAX_HISTORY: usize = 1_000;
const PROMPT: &str = "ask> ";

pub(super) async fn run_prompt(session: &AskSession<'_>, as_json: bool) -> Result<ExitStatus> {
    let ui = session.ctx.ui;
    let path = session.settings.state_folder.join(HISTORY);
    let config =
        Config::builder().max_history_size(MAX_HISTORY).explain("failed to open a prompt")?;
    let mut editor: Editor<(), FileHistory> =
        Editor::with_config(config.build()).explain("failed to open a prompt")?;
    // The file does not exist before the first query.
    let _ = editor.load_history(&path);
    ui.print_note(
        "Enter one question per line. Each makes one tool call. Type `exit` or Ctrl-D to quit.",
    );
    loop {
        // Other threads serve the connections while this one blocks.
        let line = match tokio::task::block_in_place(|| editor.readline(PROMPT)) {
            Ok(line) => line,
            // Ctrl-C discards the line and keeps the prompt.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).explain("failed to read the prompt"),
        };
        let query = line.trim();
        match query {
            "" => continue,
            "exit" | "quit" => break,
            _ => {}
        }
        // A query that the policy rejects is not stored either.
        if session.settings.ask.policy.check_query(query).is_ok() {
            save_history(&mut editor, query, &path);
        }
        if let Err(failure) = session.answer_query(query, as_json).await {
            if is_broken_pipe(&failure) {
                return Err(failure);
            }
            print_failure(ui, &failure);
        }
    }
    Ok(ExitStatus::Success)
}

/// Appends a query to the history file at once, so that a killed prompt loses nothing. Errors are only logged.
fn save_history(editor: &mut Editor<(), FileHistory>, query: &str, path: &Path) {
    let saved = editor.add_history_entry(query).and_then(|_| editor.append_history(path));
    if let Err(error) = saved {
        tracing::debug!(%error, "failed to save the history");
    }
}
