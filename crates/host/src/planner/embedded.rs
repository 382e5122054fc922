//! A planner without a model: words choose the tool, the schema says what is filled in, and doubt becomes a question.
//!
//! `rank.rs` compares the query with the allowed tools, `tokens.rs` reads the values that a query holds, `fill.rs` puts
//! them where the schema wants them. It never guesses: a tie, a value without a place, a parameter without a value are asked for.

mod fill;
pub(super) mod rank;
mod slots;
mod tokens;

use async_trait::async_trait;
use contract::text::{is_hidden, one_line};
use serde_json::json;

use self::rank::Choice;
use super::{PlanError, Planner};
use crate::gate::plan;
use crate::offer::Offer;

/// Queries are bounded by the input policy; this holds for whoever asks without one.
const MAX_QUERY: usize = 32 * 1024;
/// Candidates that a question names.
const MAX_NAMED: usize = 5;
const MAX_QUESTION: usize = 1_500;

/// The planner that is always there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

#[async_trait]
impl Planner for Embedded {
    async fn plan(&self, query: &str, offers: &[Offer]) -> Result<String, PlanError> {
        Ok(Self::plan_now(query, offers))
    }
}

impl Embedded {
    /// The plan as text. Pure: the same query and tools give the same plan.
    pub fn plan_now(query: &str, offers: &[Offer]) -> String {
        if query.len() > MAX_QUERY {
            return question(
                "The query is too long to look for values in it. What should be done?",
            );
        }
        if query.chars().any(is_hidden) {
            return question(
                "The query holds characters that cannot be seen. What should be done?",
            );
        }
        let offer = match rank::choose(query, offers) {
            Choice::One(offer) => offer,
            Choice::Several(candidates) => {
                let names = candidates.into_iter().take(MAX_NAMED).map(name);
                let names = names.collect::<Vec<_>>().join(", ");
                return question(&format!("Which tool do you mean: {names}?"));
            }
            Choice::None => {
                let names = rank::shortlist(query, offers, MAX_NAMED).into_iter().map(name);
                let names = names.collect::<Vec<_>>().join(", ");
                return question(&format!("Which tool should answer this? There are {names}."));
            }
        };
        let same = |other: &&Offer| (&other.server, &other.tool) == (&offer.server, &offer.tool);
        if offers.iter().filter(same).count() > 1 {
            return question(&format!(
                "{} is listed more than once. What else would do?",
                name(offer)
            ));
        }
        match fill::fill(query, offer) {
            Ok(arguments) => {
                let plan = json!({
                    "type": "call",
                    "server": offer.server,
                    "tool": offer.tool,
                    "arguments": arguments,
                });
                let text = plan.to_string();
                // The same reader as the gate: names and values come from elsewhere.
                match plan::read(&text) {
                    Ok(_) => text,
                    Err(fault) => {
                        question(&format!("{} cannot be called so: {fault}.", name(offer)))
                    }
                }
            }
            Err(missing) => question(&format!("{}: {missing}", name(offer))),
        }
    }
}

fn name(offer: &Offer) -> String {
    format!("`{}` of `{}`", crate::json::short(&offer.tool), crate::json::short(&offer.server))
}

fn question(text: &str) -> String {
    let text: String = one_line(text).chars().take(MAX_QUESTION).collect();
    json!({"type": "needs_more_info", "question": text}).to_string()
}
