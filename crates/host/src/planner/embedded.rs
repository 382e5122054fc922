//! A planner without a model: shared words choose the tool, and values of the query fill its parameters.
//!
//! `rank.rs` compares the query with the allowed tools, `tokens.rs` extracts the values of a query, `slots.rs` lists the
//! parameters of a tool, and `fill.rs` assigns the values. The planner never guesses: it asks about a tie, an
//! unassigned value or a missing parameter.

mod fill;
pub(super) mod rank;
mod slots;
mod tokens;

use async_trait::async_trait;
use contract::text::{is_hidden, one_line};
use serde_json::json;

use self::rank::ToolChoice;
use super::{Planner, PlannerError};
use crate::gate::plan;
use crate::offer::ToolOffer;

/// Maximum bytes of a query, for callers without an input policy.
const MAX_QUERY: usize = 32 * 1024;
/// Maximum tools that a question names.
const MAX_NAMED: usize = 5;
const MAX_QUESTION: usize = 1_500;

/// The planner that needs no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedPlanner;

#[async_trait]
impl Planner for EmbeddedPlanner {
    async fn plan(&self, query: &str, offers: &[ToolOffer]) -> Result<String, PlannerError> {
        Ok(Self::plan_now(query, offers))
    }
}

impl EmbeddedPlanner {
    /// Returns the plan as text. Pure: the same query and tools give the same plan.
    pub fn plan_now(query: &str, offers: &[ToolOffer]) -> String {
        if query.len() > MAX_QUERY {
            return format_question(
                "The query is too long to extract values from. What is the query in short?",
            );
        }
        if query.chars().any(is_hidden) {
            return format_question(
                "The query contains invisible characters. What is the query without them?",
            );
        }
        let offer = match rank::choose_tool(query, offers) {
            ToolChoice::One(offer) => offer,
            ToolChoice::Several(candidates) => {
                let names = candidates.into_iter().take(MAX_NAMED).map(format_tool_name);
                let names = names.collect::<Vec<_>>().join(", ");
                return format_question(&format!("Which tool do you mean: {names}?"));
            }
            ToolChoice::None => {
                let names = rank::shortlist_tools(query, offers, MAX_NAMED)
                    .into_iter()
                    .map(format_tool_name);
                let names = names.collect::<Vec<_>>().join(", ");
                return format_question(&format!(
                    "Which tool should answer this? There are {names}."
                ));
            }
        };
        let same =
            |other: &&ToolOffer| (&other.server, &other.tool) == (&offer.server, &offer.tool);
        if offers.iter().filter(same).count() > 1 {
            return format_question(&format!(
                "{} is listed more than once. Which other tool should be used?",
                format_tool_name(offer)
            ));
        }
        match fill::fill_arguments(query, offer) {
            Ok(arguments) => {
                let plan = json!({
                    "type": "call",
                    "server": offer.server,
                    "tool": offer.tool,
                    "arguments": arguments,
                });
                let text = plan.to_string();
                // Names and values are untrusted, so the plan is checked with the parser of gate 1.
                match plan::parse_plan(&text) {
                    Ok(_) => text,
                    Err(fault) => format_question(&format!(
                        "{} cannot be called with these arguments: {fault}.",
                        format_tool_name(offer)
                    )),
                }
            }
            Err(missing) => format_question(&format!("{}: {missing}", format_tool_name(offer))),
        }
    }
}

fn format_tool_name(offer: &ToolOffer) -> String {
    format!(
        "`{}` of `{}`",
        crate::json::shorten_name(&offer.tool),
        crate::json::shorten_name(&offer.server)
    )
}

fn format_question(text: &str) -> String {
    let text: String = one_line(text).chars().take(MAX_QUESTION).collect();
    json!({"type": "needs_more_info", "question": text}).to_string()
}
