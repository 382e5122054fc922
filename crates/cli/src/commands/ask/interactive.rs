//! A prompt with history: one question, one tool call for each line.

use std::path::Path;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::desk::Office;
use crate::exit::Exit;
use crate::report::{Explain, Result, is_broken_pipe, print_failure};

const HISTORY: &str = "ask_history";
const MAX_HISTORY: usize = 1_000;
const PROMPT: &str = "ask> ";

pub(super) async fn run(office: &Office<'_>, as_json: bool) -> Result<Exit> {
    let ui = office.ctx.ui;
    let path = office.settings.state_folder.join(HISTORY);
    let config = Config::builder().max_history_size(MAX_HISTORY).explain("cannot open a prompt")?;
    let mut editor: Editor<(), FileHistory> =
        Editor::with_config(config.build()).explain("cannot open a prompt")?;
    // The first time there is none.
    let _ = editor.load_history(&path);
    ui.note(
        "One question for each line, one tool call for each question. `exit` or Ctrl-D ends it.",
    );
    loop {
        // Other threads serve the connections meanwhile.
        let line = match tokio::task::block_in_place(|| editor.readline(PROMPT)) {
            Ok(line) => line,
            // The line is given up, not the prompt.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).explain("cannot read the prompt"),
        };
        let query = line.trim();
        match query {
            "" => continue,
            "exit" | "quit" => break,
            _ => {}
        }
        // What may not be asked is not kept, either.
        if office.settings.ask.policy.judge(query).is_ok() {
            keep(&mut editor, query, &path);
        }
        if let Err(failure) = office.answer(query, as_json).await {
            if is_broken_pipe(&failure) {
                return Err(failure);
            }
            print_failure(ui, &failure);
        }
    }
    Ok(Exit::Success)
}

/// At once, so that a prompt that is killed loses nothing; the history is a convenience, so nothing fails for it.
fn keep(editor: &mut Editor<(), FileHistory>, query: &str, path: &Path) {
    let kept = editor.add_history_entry(query).and_then(|_| editor.append_history(path));
    if let Err(error) = kept {
        tracing::debug!(%error, "the history is not kept");
    }
}
