//! What is known of code moves the score: definitions before mentions, names and files that are called what is asked
//! for, files with several hits; tests, examples and generated files after the rest. Each move is bounded and has its reason.

mod called;
mod definition;
mod file_name;
mod standing;

use std::collections::HashMap;

use crate::query::Part;
use crate::{Facts, Query};

/// Added in units of the best fused score, so that none of them counts for a query that nothing answers.
const DEFINITION: f32 = 1.5;
const FILE_NAME: f32 = 1.3;
const CALLED: f32 = 0.2;
const COHERENCE: f32 = 0.4;
const ATTENTION: f32 = 0.1;

/// What the query asks, in the form that documents are compared with.
pub(crate) struct Asked<'a> {
    query: &'a Query,
    /// How rare each of its terms is.
    rarities: HashMap<u32, f32>,
    /// Of its words only: as shares of their sum.
    shares: HashMap<u32, f32>,
}

/// What was found out about a candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Marks {
    pub(crate) score: f32,
    /// The name that it defines and the query asks for.
    pub(crate) defines: Option<String>,
    /// Whether the name of its file holds words of the query.
    pub(crate) file_name: bool,
}

impl<'a> Asked<'a> {
    /// `rarities` are those of the query's terms, in their order.
    pub(crate) fn new(query: &'a Query, rarities: &[f32]) -> Self {
        let terms = || query.terms().iter().zip(rarities.iter().copied());
        let words = || terms().filter(|(term, _)| term.part == Part::Word);
        let all = words().map(|(_, rarity)| rarity).sum::<f32>().max(f32::MIN_POSITIVE);
        Self {
            query,
            rarities: terms().map(|(term, rarity)| (term.hash, rarity)).collect(),
            shares: words().map(|(term, rarity)| (term.hash, rarity / all)).collect(),
        }
    }

    /// Scores and marks for candidates, from their fused scores.
    pub(crate) fn mark(&self, facts: &[Facts<'_>], fused: &[f32]) -> Vec<Marks> {
        let best = fused.iter().copied().fold(0.0, f32::max);
        let coherence = coherence(facts, fused);
        let mut file_names = HashMap::new();
        let mark = |index: usize| {
            let facts = &facts[index];
            let defines = self.definition(facts);
            let file_name = facts.file.zip(facts.path).map_or(0.0, |(file, path)| {
                *file_names.entry(file).or_insert_with(|| self.file_name(path))
            });
            let strength = defines.as_ref().map_or(0.0, |&(_, strength)| strength);
            let moves = DEFINITION * strength
                + FILE_NAME * file_name
                + CALLED * self.called(facts)
                + COHERENCE * coherence[index]
                + ATTENTION * facts.attention.clamp(0.0, 1.0);
            Marks {
                score: (fused[index] + best * moves) * standing::of(facts, self.query),
                defines: defines.map(|(name, _)| name.to_owned()),
                file_name: file_name > 0.0,
            }
        };
        (0..fused.len()).map(mark).collect()
    }
}

/// For the best document of each file, how much the file's documents score together beside those of the best file. The
/// squares: many faint hits only say that a file is long.
fn coherence(facts: &[Facts<'_>], fused: &[f32]) -> Vec<f32> {
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
