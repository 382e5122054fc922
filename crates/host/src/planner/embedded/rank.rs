//! Ranks the allowed tools by the words that they share with a query.

use std::collections::{HashMap, HashSet};

use contract::SideEffects;
use rank::SearchQuery;
use rank::terms::for_each_term;

use super::tokens::{ParameterKind, TokenKind, tokenize_query};
use crate::offer::ToolOffer;
use crate::schema_view::SchemaView;

/// Weights of a word in the name, title, server name, and description or parameters of a tool.
const IN_NAME: f32 = 3.0;
const IN_TITLE: f32 = 2.0;
const IN_SERVER: f32 = 1.5;
const IN_TEXT: f32 = 1.0;
/// A tool with at least this fraction of the best score is a tie.
const TIE_RATIO: f32 = 0.8;
/// Penalty for a name of which the query mentions no word: "read a file" does not mean `read_multiple_files`.
const UNMENTIONED_PENALTY: f32 = 0.75;
/// Maximum characters of a description that count; its beginning is the most relevant part.
const MAX_DESCRIPTION: usize = 2_000;

/// The result of choosing a tool.
pub(super) enum ToolChoice<'a> {
    One(&'a ToolOffer),
    Several(Vec<&'a ToolOffer>),
    None,
}

/// A tool with its score.
struct RankedTool<'a> {
    offer: &'a ToolOffer,
    score: f32,
    /// Number of query words in the tool name.
    in_name: usize,
    /// Number of query words anywhere in the tool.
    matched: usize,
    /// The query contains the exact tool name.
    is_named: bool,
}

/// Chooses the tool for a query; a tie is not resolved.
pub(super) fn choose_tool<'a>(query: &str, offers: &'a [ToolOffer]) -> ToolChoice<'a> {
    let mut ranked = rank_tools(query, offers);
    if ranked.iter().any(|ranked| ranked.is_named) {
        ranked.retain(|ranked| ranked.is_named);
    } else {
        ranked.retain(is_plausible);
    }
    let Some(best) = ranked.first().map(|best| best.score) else { return ToolChoice::None };
    let close: Vec<&ToolOffer> = ranked
        .iter()
        .filter(|ranked| ranked.score >= best * TIE_RATIO)
        .map(|ranked| ranked.offer)
        .collect();
    match close[..] {
        [one] => ToolChoice::One(one),
        _ => ToolChoice::Several(close),
    }
}

/// Returns the tools that share most words with a query, best first, at most `limit`.
pub(crate) fn shortlist_tools<'a>(
    query: &str,
    offers: &'a [ToolOffer],
    limit: usize,
) -> Vec<&'a ToolOffer> {
    rank_tools(query, offers).into_iter().take(limit).map(|ranked| ranked.offer).collect()
}

/// Returns true if the match is not a coincidence.
///
/// One shared word in a title or description is not enough: "what does the file say" does not mean "Say hello". A tool
/// with side effects must be mentioned by name.
fn is_plausible(ranked: &RankedTool<'_>) -> bool {
    let changes = ranked.offer.contract.constraints.side_effects != SideEffects::None;
    ranked.in_name > 0 || (ranked.matched > 1 && !changes)
}

/// Returns all tools, best first.
fn rank_tools<'a>(query: &str, offers: &'a [ToolOffer]) -> Vec<RankedTool<'a>> {
    let (prose, spelled) = split_query(query);
    let mut asked: HashMap<u32, f32> = HashMap::new();
    for term in SearchQuery::new(&prose).terms() {
        asked.insert(term.hash, term.weight);
    }
    let bags: Vec<HashMap<u32, f32>> = offers.iter().map(weigh_terms).collect();
    let mut holders: HashMap<u32, u16> = HashMap::new();
    for word in bags.iter().flat_map(HashMap::keys).filter(|word| asked.contains_key(word)) {
        let count = holders.entry(*word).or_default();
        *count = count.saturating_add(1);
    }
    let total = f32::from(u16::try_from(offers.len()).unwrap_or(u16::MAX));
    let mut ranked: Vec<RankedTool<'a>> = offers
        .iter()
        .zip(&bags)
        .map(|(offer, bag)| {
            let mut found = RankedTool {
                offer,
                score: 0.0,
                in_name: 0,
                matched: 0,
                is_named: is_named(offer, &spelled),
            };
            for (word, importance) in &asked {
                let Some(weight) = bag.get(word) else { continue };
                let rarity = (1.0 + total / f32::from(holders[word])).ln();
                found.score += importance * weight * rarity;
                found.matched += 1;
                found.in_name += usize::from(*weight >= IN_NAME);
            }
            found.score *=
                1.0 - UNMENTIONED_PENALTY + UNMENTIONED_PENALTY * mentioned_fraction(offer, &asked);
            found
        })
        .collect();
    // Sums in hash map order may differ in the last bit, so scores are rounded and names break ties.
    ranked.sort_by(|a, b| {
        let by_score = (b.score * 1e3).round().total_cmp(&(a.score * 1e3).round());
        by_score
            .then_with(|| (&a.offer.server, &a.offer.tool).cmp(&(&b.offer.server, &b.offer.tool)))
    });
    ranked
}

/// Returns the words of a query that are not values, and all tokens that may be a tool name.
fn split_query(query: &str) -> (String, HashSet<String>) {
    let mut prose = Vec::new();
    let mut spelled = HashSet::new();
    for token in tokenize_query(query, &|_| ParameterKind::No) {
        if token.kind != TokenKind::Quoted {
            spelled.insert(token.text.clone());
        }
        if token.kind == TokenKind::Word && token.label.is_none() && !token.text.contains('=') {
            prose.push(token.text);
        }
    }
    (prose.join(" "), spelled)
}

/// Returns true if the query contains the exact name. A name without a separator may be a common word and does not count.
fn is_named(offer: &ToolOffer, spelled: &HashSet<String>) -> bool {
    let is_spelled = |name: &str| spelled.contains(name);
    (offer.tool.contains(['_', '-', '.']) && is_spelled(&offer.tool))
        || (offer.name.contains(['_', '-', '.']) && is_spelled(&offer.name))
        || is_spelled(&format!("{}/{}", offer.server, offer.tool))
}

/// Returns the fraction of the words of a tool name that the query contains.
fn mentioned_fraction(offer: &ToolOffer, asked: &HashMap<u32, f32>) -> f32 {
    let (mut said, mut all) = (0_u8, 0_u8);
    for_each_term(&offer.tool, |term| {
        if !term.whole {
            all = all.saturating_add(1);
            said = said.saturating_add(u8::from(asked.contains_key(&term.hash)));
        }
    });
    f32::from(said) / f32::from(all.max(1))
}

/// Returns the weight of each word of a tool.
fn weigh_terms(offer: &ToolOffer) -> HashMap<u32, f32> {
    let mut bag: HashMap<u32, f32> = HashMap::new();
    let mut add = |text: &str, weight: f32| {
        for_each_term(text, |term| {
            let known = bag.entry(term.hash).or_insert(weight);
            *known = known.max(weight);
        });
    };
    let contract = &offer.contract;
    add(&offer.tool, IN_NAME);
    add(&offer.server, IN_SERVER);
    add(contract.title.as_deref().unwrap_or_default(), IN_TITLE);
    add(&contract.description.chars().take(MAX_DESCRIPTION).collect::<String>(), IN_TEXT);
    for (name, _) in SchemaView::from_root(contract.input.as_value()).properties() {
        add(name, IN_TEXT);
    }
    bag
}
