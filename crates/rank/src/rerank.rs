//! Reranking for source code.
//!
//! Definitions rank before mentions. Symbols and files with matching names, and files with several hits, are boosted.
//! Tests, examples and generated files are demoted. Each adjustment is bounded.

mod definition;
mod file_name;
mod role_weight;
mod symbol_name;

use std::collections::HashMap;

use crate::query::QueryTermKind;
use crate::{DocumentFacts, SearchQuery};

// The boosts are multiplied by the best fused score, so that they have no effect if no document answers the query.

/// Maximum boost of a document that defines a name in the query.
const DEFINITION_BOOST: f32 = 1.5;
/// Boost of a file whose name contains the query.
const FILE_NAME_BOOST: f32 = 1.3;
/// Maximum boost of a definition whose name contains the query.
const SYMBOL_NAME_BOOST: f32 = 0.2;
/// Maximum boost of a file with several hits.
const COHERENCE_BOOST: f32 = 0.4;
/// Maximum boost of a recently read file.
const RECENCY_BOOST: f32 = 0.1;

/// A query, prepared for comparison with documents.
pub(crate) struct RerankQuery<'a> {
    query: &'a SearchQuery,
    /// Inverse document frequency of each term.
    rarities: HashMap<u32, f32>,
    /// Share of each word in the sum of the inverse document frequencies of all words.
    shares: HashMap<u32, f32>,
}

/// The final score of a candidate, and the reasons for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RerankResult {
    pub(crate) score: f32,
    /// The name from the query that the candidate defines.
    pub(crate) defines: Option<String>,
    /// True if the name of its file contains words of the query.
    pub(crate) file_name: bool,
}

impl<'a> RerankQuery<'a> {
    /// Prepares a query. `rarities` are the inverse document frequencies of its terms, in the same order.
    pub(crate) fn new(query: &'a SearchQuery, rarities: &[f32]) -> Self {
        let terms = || query.terms().iter().zip(rarities.iter().copied());
        let words = || terms().filter(|(term, _)| term.part == QueryTermKind::Word);
        let all = words().map(|(_, rarity)| rarity).sum::<f32>().max(f32::MIN_POSITIVE);
        Self {
            query,
            rarities: terms().map(|(term, rarity)| (term.hash, rarity)).collect(),
            shares: words().map(|(term, rarity)| (term.hash, rarity / all)).collect(),
        }
    }

    /// Returns the final scores of the candidates, computed from their facts and fused scores.
    pub(crate) fn rerank_candidates(
        &self,
        facts: &[DocumentFacts<'_>],
        fused: &[f32],
    ) -> Vec<RerankResult> {
        let best = fused.iter().copied().fold(0.0, f32::max);
        let coherence = file_coherence(facts, fused);
        let mut file_names = HashMap::new();
        let mark = |index: usize| {
            let facts = &facts[index];
            let defines = self.find_definition(facts);
            let file_name = facts.file.zip(facts.path).map_or(0.0, |(file, path)| {
                *file_names.entry(file).or_insert_with(|| self.score_file_name(path))
            });
            let strength = defines.as_ref().map_or(0.0, |&(_, strength)| strength);
            let boost = DEFINITION_BOOST * strength
                + FILE_NAME_BOOST * file_name
                + SYMBOL_NAME_BOOST * self.score_symbol_name(facts)
                + COHERENCE_BOOST * coherence[index]
                + RECENCY_BOOST * facts.recency.clamp(0.0, 1.0);
            RerankResult {
                score: (fused[index] + best * boost) * role_weight::weigh_role(facts, self.query),
                defines: defines.map(|(name, _)| name.to_owned()),
                file_name: file_name > 0.0,
            }
        };
        (0..fused.len()).map(mark).collect()
    }
}

/// Returns, for the best document of each file, the sum of the file's squared scores relative to that of the best file.
///
/// Other documents get 0. Scores are squared because many weak hits only show that a file is long.
fn file_coherence(facts: &[DocumentFacts<'_>], fused: &[f32]) -> Vec<f32> {
    let mut files: HashMap<u32, (f32, usize)> = HashMap::new();
    for (index, (facts, &score)) in facts.iter().zip(fused).enumerate() {
        if let Some(file) = facts.file {
            let (sum, best) = files.entry(file).or_insert((0.0, index));
            *sum += score * score;
            if score > fused[*best] {
                *best = index;
            }
        }
    }
    let most = files.values().map(|&(sum, _)| sum).fold(f32::MIN_POSITIVE, f32::max);
    let mut shares = vec![0.0; fused.len()];
    for (sum, best) in files.into_values() {
        shares[best] = sum / most;
    }
    shares
}
