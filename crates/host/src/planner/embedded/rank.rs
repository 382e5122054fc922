//! Which of the allowed tools a query is about, by the words that they share.

use std::collections::{HashMap, HashSet};

use contract::SideEffects;
use rank::Query;
use rank::terms::each;

use super::tokens::{Kind, Named, tokens};
use crate::described::Described;
use crate::offer::Offer;

/// What a word counts by where it stands.
const IN_NAME: f32 = 3.0;
const IN_TITLE: f32 = 2.0;
const IN_SERVER: f32 = 1.5;
const IN_TEXT: f32 = 1.0;
/// A second tool within this part of the best is as good.
const TIE: f32 = 0.8;
/// How much a name loses of which nothing was said: who asks to read a file does not mean `read_multiple_files`.
const UNSAID: f32 = 0.75;
/// Of a description, the beginning says what a tool does.
const MAX_DESCRIPTION: usize = 2_000;

pub(super) enum Choice<'a> {
    One(&'a Offer),
    Several(Vec<&'a Offer>),
    None,
}

struct Ranked<'a> {
    offer: &'a Offer,
    score: f32,
    /// Words of the query in its name.
    in_name: usize,
    matched: usize,
    /// The query spells its name out.
    is_named: bool,
}

/// The tool that the query is about, if that is beyond doubt.
pub(super) fn choose<'a>(query: &str, offers: &'a [Offer]) -> Choice<'a> {
    let mut ranked = ranked(query, offers);
    if ranked.iter().any(|ranked| ranked.is_named) {
        ranked.retain(|ranked| ranked.is_named);
    } else {
        ranked.retain(is_meant);
    }
    let Some(best) = ranked.first().map(|best| best.score) else { return Choice::None };
    let close: Vec<&Offer> = ranked
        .iter()
        .filter(|ranked| ranked.score >= best * TIE)
        .map(|ranked| ranked.offer)
        .collect();
    match close[..] {
        [one] => Choice::One(one),
        _ => Choice::Several(close),
    }
}

/// The tools that share most with a query, best first; all of them if there are few.
pub(crate) fn shortlist<'a>(query: &str, offers: &'a [Offer], limit: usize) -> Vec<&'a Offer> {
    ranked(query, offers).into_iter().take(limit).map(|ranked| ranked.offer).collect()
}

/// One shared word of a title or a description is an accident: who asks what a file says does not mean "Say hello". What changes something must be asked for by its name.
fn is_meant(ranked: &Ranked<'_>) -> bool {
    let changes = ranked.offer.contract.constraints.side_effects != SideEffects::None;
    ranked.in_name > 0 || (ranked.matched > 1 && !changes)
}

fn ranked<'a>(query: &str, offers: &'a [Offer]) -> Vec<Ranked<'a>> {
    let (prose, spelt) = asked(query);
    let mut asked: HashMap<u32, f32> = HashMap::new();
    for term in Query::new(&prose).terms() {
        asked.insert(term.hash, term.weight);
    }
    let bags: Vec<HashMap<u32, f32>> = offers.iter().map(bag).collect();
    let mut holders: HashMap<u32, u16> = HashMap::new();
    for word in bags.iter().flat_map(HashMap::keys).filter(|word| asked.contains_key(word)) {
        let count = holders.entry(*word).or_default();
        *count = count.saturating_add(1);
    }
    let total = f32::from(u16::try_from(offers.len()).unwrap_or(u16::MAX));
    let mut ranked: Vec<Ranked<'a>> = offers
        .iter()
        .zip(&bags)
        .map(|(offer, bag)| {
            let mut found = Ranked {
                offer,
                score: 0.0,
                in_name: 0,
                matched: 0,
                is_named: is_named(offer, &spelt),
            };
            for (word, importance) in &asked {
                let Some(weight) = bag.get(word) else { continue };
                let rarity = (1.0 + total / f32::from(holders[word])).ln();
                found.score += importance * weight * rarity;
                found.matched += 1;
                found.in_name += usize::from(*weight >= IN_NAME);
            }
            found.score *= 1.0 - UNSAID + UNSAID * said_part(offer, &asked);
            found
        })
        .collect();
    // Sums in the order of a hash map differ in the last bit; names decide then.
    ranked.sort_by(|a, b| {
        let by_score = (b.score * 1e3).round().total_cmp(&(a.score * 1e3).round());
        by_score
            .then_with(|| (&a.offer.server, &a.offer.tool).cmp(&(&b.offer.server, &b.offer.tool)))
    });
    ranked
}

/// The words of a query that are no values, and all that may spell a name.
fn asked(query: &str) -> (String, HashSet<String>) {
    let mut prose = Vec::new();
    let mut spelt = HashSet::new();
    for token in tokens(query, &|_| Named::No) {
        if token.kind != Kind::Quoted {
            spelt.insert(token.text.clone());
        }
        if token.kind == Kind::Word && token.label.is_none() && !token.text.contains('=') {
            prose.push(token.text);
        }
    }
    (prose.join(" "), spelt)
}

/// A name that is a common word is a word like any other; one with a separator is not said by accident.
fn is_named(offer: &Offer, spelt: &HashSet<String>) -> bool {
    let is_spelt = |name: &str| spelt.contains(name);
    (offer.tool.contains(['_', '-', '.']) && is_spelt(&offer.tool))
        || (offer.name.contains(['_', '-', '.']) && is_spelt(&offer.name))
        || is_spelt(&format!("{}/{}", offer.server, offer.tool))
}

/// Which part of the words of a name the query has.
fn said_part(offer: &Offer, asked: &HashMap<u32, f32>) -> f32 {
    let (mut said, mut all) = (0_u8, 0_u8);
    each(&offer.tool, |term| {
        if !term.whole {
            all = all.saturating_add(1);
            said = said.saturating_add(u8::from(asked.contains_key(&term.hash)));
        }
    });
    f32::from(said) / f32::from(all.max(1))
}

fn bag(offer: &Offer) -> HashMap<u32, f32> {
    let mut bag: HashMap<u32, f32> = HashMap::new();
    let mut add = |text: &str, weight: f32| {
        each(text, |term| {
            let known = bag.entry(term.hash).or_insert(weight);
            *known = known.max(weight);
        });
    };
    let contract = &offer.contract;
    add(&offer.tool, IN_NAME);
    add(&offer.server, IN_SERVER);
    add(contract.title.as_deref().unwrap_or_default(), IN_TITLE);
    add(&contract.description.chars().take(MAX_DESCRIPTION).collect::<String>(), IN_TEXT);
    for (name, _) in Described::whole(contract.input.as_value()).properties() {
        add(name, IN_TEXT);
    }
    bag
}
