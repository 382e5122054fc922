//! The person at this terminal, as the one who answers a call's questions and approves what waits.

use std::io::{self, BufRead, Write};

use async_trait::async_trait;
use contract::text::visible;
use runtime::{Ask, Question, QuestionKind};
use serde_json::{Value, json};

use crate::ui::{self, Ui};

pub(crate) struct Terminal {
    pub(crate) ui: Ui,
}

#[async_trait]
impl Ask for Terminal {
    async fn ask(&self, question: &Question) -> Result<Value, String> {
        let QuestionKind::Form { message, .. } = &question.kind else {
            return Err("a terminal answers questions to a person only".to_owned());
        };
        let (ui, message) = (self.ui, visible(message));
        let answer = tokio::task::spawn_blocking(move || ask(ui, &message));
        let approved = answer
            .await
            .map_err(|_| "the terminal went away".to_owned())?
            .map_err(|error| format!("the terminal cannot be read: {error}"))?;
        Ok(if approved {
            json!({"action": "accept", "content": {"approve": true}})
        } else {
            json!({"action": "decline"})
        })
    }
}

/// Shows a text, whole, and asks whether to approve.
pub(crate) fn ask(ui: Ui, message: &str) -> io::Result<bool> {
    confirm(ui, message, "Approve?")
}

/// Shows a text, whole, and asks. Anything but a clear yes is a no, the end of input too.
pub(crate) fn confirm(ui: Ui, message: &str, question: &str) -> io::Result<bool> {
    let bold = ui::BOLD;
    {
        let mut err = ui.err();
        write!(err, "{}\n\n{bold}{question} [y/N]{bold:#} ", message.trim_end())?;
        err.flush()?;
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
