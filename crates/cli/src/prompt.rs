//! Yes/no prompts at the terminal, for elicitations of a call and for confirmations of commands.

use std::io::{self, BufRead, Write};

use async_trait::async_trait;
use contract::text::escape_hidden;
use runtime::{ElicitationHandler, ElicitationKind, ElicitationRequest};
use serde_json::{Value, json};
use store::{ApprovalChannel, Approver};

use crate::ui::{self, Ui};

/// Answers form elicitations by prompting at the terminal.
pub(crate) struct TerminalPrompt {
    pub(crate) ui: Ui,
    /// Name of the person at the terminal.
    pub(crate) person: String,
}

#[async_trait]
impl ElicitationHandler for TerminalPrompt {
    async fn elicit(&self, question: &ElicitationRequest) -> Result<Value, String> {
        let ElicitationKind::Form { message, .. } = &question.kind else {
            return Err("a terminal supports form elicitation only".to_owned());
        };
        let (ui, message) = (self.ui, escape_hidden(message));
        let answer = tokio::task::spawn_blocking(move || prompt_approval(ui, &message));
        let approved = answer
            .await
            .map_err(|_| "the terminal prompt was aborted".to_owned())?
            .map_err(|error| format!("failed to read the terminal: {error}"))?;
        Ok(if approved {
            json!({"action": "accept", "content": {"approve": true}})
        } else {
            json!({"action": "decline"})
        })
    }

    fn approver(&self) -> Option<Approver> {
        Some(Approver::new(&*self.person, ApprovalChannel::Terminal))
    }
}

/// Shows a message in full and asks for approval. Returns true if it was approved.
pub(crate) fn prompt_approval(ui: Ui, message: &str) -> io::Result<bool> {
    prompt_confirmation(ui, message, "Approve?")
}

/// Shows a message in full and asks a yes/no question. Returns true only for `y` or `yes`; end of input counts as no.
pub(crate) fn prompt_confirmation(ui: Ui, message: &str, question: &str) -> io::Result<bool> {
    let bold = ui::BOLD;
    {
        let mut err = ui.stderr();
        write!(err, "{}\n\n{bold}{question} [y/N]{bold:#} ", message.trim_end())?;
        err.flush()?;
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
