//! Rules as an operator writes them: what compiles, what is refused and how it is said, and what is decided.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compiling;
mod contracts;
mod verdicts;

use rules::{Effect, On, Rule, RuleError, Rules};

fn rule(effect: Effect, on: On, when: &str) -> Rule {
    Rule { name: "r".into(), effect, on, tools: Vec::new(), when: when.into() }
}

fn deny(when: &str) -> Rule {
    rule(Effect::Deny, On::Call, when)
}

fn said(error: &RuleError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(&format!(" <- {}", error.to_string().lines().last().unwrap_or_default()));
        source = error.source();
    }
    text
}

fn compile(rule: Rule) -> Result<Rules, RuleError> {
    Rules::compile(vec![rule])
}
