//! What is known of code moves the score: definitions before mentions, files whose name is asked for, files with
//! several hits; tests, examples and generated files after the rest. Each move is bounded and has its reason.

use std::collections::{HashMap, HashSet};

use crate::query::Name;
use crate::{Facts, Kind, Query, Role, terms};

/// In units of the best fused score.
const DEFINITION: f32 = 1.5;
const FILE_NAME: f32 = 1.0;
const COHERENCE: f32 = 0.2;
const ATTENTION: f32 = 0.1;

/// A name that stands in a sentence may be meant in passing.
const IN_PASSING: f32 = 0.5;

/// What each further document of a file is worth.
pub(crate) const FURTHER: f32 = 0.5;

/// What the query asks, in the form that files are compared with.
pub(crate) struct Asked<'a> {
    query: &'a Query,
    /// How rare each term of the query is, as shares of the whole.
    shares: HashMap<u32, f32>,
}

/// What was found out about a candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Marks {
    pub(crate) defines: Option<String>,
    pub(crate) file_name: bool,
    pub(crate) score: f32,
}

impl<'a> Asked<'a> {
    /// `rarities` are those of the query's terms.
    pub(crate) fn new(query: &'a Query, rarities: &[f32]) -> Self {
        let parts = || query.terms().iter().zip(rarities).filter(|(term, _)| !term.whole);
        let all: f32 = parts().map(|(_, rarity)| rarity).sum();
        let shares = parts()
            .map(|(term, rarity)| (term.hash, rarity / all.max(f32::MIN_POSITIVE)))
            .collect();
        Self { query, shares }
    }

    /// Scores and marks for candidates, from their fused scores.
    pub(crate) fn mark(&self, facts: &[Facts<'_>], fused: &[f32]) -> Vec<Marks> {
        let best = fused.iter().copied().fold(0.0, f32::max);
        let coherence = coherence(facts, fused);
        let mut files = HashMap::new();
        facts
            .iter()
            .zip(fused)
            .zip(coherence)
            .map(|((facts, &fused), coherence)| {
                let mut marks =
                    Marks { score: fused + best * COHERENCE * coherence, ..Marks::default() };
                if let Some((name, strength)) = self.definition(facts) {
                    marks.score += best * DEFINITION * strength;
                    marks.defines = Some(name);
                }
                if let (Some(file), Some(path)) = (facts.file, facts.path) {
                    let share = *files.entry(file).or_insert_with(|| self.file_name(path));
                    marks.score += best * FILE_NAME * share;
                    marks.file_name = share > 0.0;
                }
                marks.score += best * ATTENTION * facts.attention.clamp(0.0, 1.0);
                marks.score *= self.standing(facts);
                marks
            })
            .collect()
    }

    /// The name of the query that a document defines, and how surely that is what was meant.
    fn definition(&self, facts: &Facts<'_>) -> Option<(String, f32)> {
        let alone = if self.query.kind() == Kind::Symbol { 1.0 } else { IN_PASSING };
        let names = self.query.names().iter();
        let best = names
            .flat_map(|name| {
                facts.symbols.lines().map(move |symbol| (symbol, agreement(name, symbol)))
            })
            .filter(|(_, agreement)| *agreement > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((best.0.to_owned(), best.1 * alone))
    }

    /// The share of what is asked for that the name of the file and of its folder hold.
    fn file_name(&self, path: &str) -> f32 {
        let mut names = path.rsplit('/');
        let file = names.next().unwrap_or_default();
        let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
        let mut held = HashSet::new();
        for name in [Some(stem), names.next()].into_iter().flatten() {
            terms::each(name, |term| {
                held.insert(term.hash);
            });
        }
        self.shares.iter().filter(|(hash, _)| held.contains(hash)).map(|(_, share)| share).sum()
    }

    /// What a document is worth for its role alone.
    fn standing(&self, facts: &Facts<'_>) -> f32 {
        match facts.role {
            Role::Record | Role::Source | Role::Docs | Role::Config => 1.0,
            Role::Test if self.query.asks_for_tests() => 1.0,
            Role::Example if self.query.asks_for_examples() => 1.0,
            Role::Test | Role::Example => 0.4,
            Role::Generated => 0.5,
        }
    }
}

/// 1 for the very name, less for its last part or another spelling of it.
fn agreement(name: &Name, symbol: &str) -> f32 {
    let last = symbol.rsplit([':', '.', '#', '/']).next().unwrap_or(symbol);
    if symbol == name.text {
        1.0
    } else if last == name.last {
        if name.text == name.last { 1.0 } else { 0.6 }
    } else if last.eq_ignore_ascii_case(&name.last) {
        0.5
    } else {
        0.0
    }
}

/// For the best document of each file, how much the file's documents score together beside the best file; else 0.
fn coherence(facts: &[Facts<'_>], fused: &[f32]) -> Vec<f32> {
    let mut sums: HashMap<u32, (f32, usize)> = HashMap::new();
    for (index, (facts, &score)) in facts.iter().zip(fused).enumerate() {
        if let Some(file) = facts.file {
            let (sum, best) = sums.entry(file).or_insert((0.0, index));
            *sum += score;
            if score > fused[*best] {
                *best = index;
            }
        }
    }
    let most = sums.values().map(|&(sum, _)| sum).fold(0.0, f32::max);
    let mut shares = vec![0.0; fused.len()];
    for (sum, best) in sums.into_values() {
        shares[best] = sum / most.max(f32::MIN_POSITIVE);
    }
    shares
}
