//! Rules as an operator writes them: compilation, error messages, checks against contracts, and verdicts.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compiling;
mod contracts;
mod verdicts;

use rules::{RuleDefinition, RuleEffect, RuleError, RuleSubject, Rules};

fn rule(effect: RuleEffect, on: RuleSubject, when: &str) -> RuleDefinition {
    RuleDefinition { name: "r".into(), effect, on, tools: Vec::new(), when: when.into() }
}

fn deny(when: &str) -> RuleDefinition {
    rule(RuleEffect::Deny, RuleSubject::Call, when)
}

/// Formats an error with the last line of each of its sources.
fn error_chain(error: &RuleError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(&format!(" <- {}", error.to_string().lines().last().unwrap_or_default()));
        source = error.source();
    }
    text
}

fn compile(rule: RuleDefinition) -> Result<Rules, RuleError> {
    Rules::compile(vec![rule])
}
