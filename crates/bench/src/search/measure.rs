//! nDCG@10 and MRR@10 with binary relevance, and the two halves of the queries.

use super::collection::QueryCollection;

const CUT: usize = 10;

pub(crate) const HALVES: [QueryHalf; 3] = [QueryHalf::Tuned, QueryHalf::Held, QueryHalf::Both];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryHalf {
    /// Queries on which weights were chosen.
    Tuned,
    Held,
    Both,
}

impl QueryHalf {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuned => "the half that weights were chosen on",
            Self::Held => "the half that was held back",
            Self::Both => "all queries",
        }
    }

    /// Assigns a query by its text alone, so that it stays in its half whatever else changes.
    fn from_query(query: &str) -> Self {
        let hash = query.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        if hash >> 20 & 1 == 0 { Self::Tuned } else { Self::Held }
    }
}

/// Scores of one system for each query.
pub(crate) struct SystemScores {
    each: Vec<(QueryHalf, f64, f64)>,
}

#[derive(Clone, Copy)]
pub(crate) struct MeanScore {
    pub(crate) queries: usize,
    pub(crate) ndcg: f64,
    pub(crate) mrr: f64,
}

impl SystemScores {
    pub(crate) fn merge<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        Self { each: all.flat_map(|figures| figures.each.iter().copied()).collect() }
    }

    pub(crate) fn mean(&self, half: QueryHalf) -> MeanScore {
        let these = || self.each.iter().filter(|(own, ..)| half == QueryHalf::Both || *own == half);
        let queries = these().count();
        let mean = |sum: f64| sum / queries.max(1) as f64;
        MeanScore {
            queries,
            ndcg: mean(these().map(|each| each.1).sum()),
            mrr: mean(these().map(|each| each.2).sum()),
        }
    }
}

/// Scores the documents that a system returns for each query, best first.
pub(crate) fn score_system(
    collection: &QueryCollection,
    answer: impl Fn(usize) -> Vec<usize>,
) -> SystemScores {
    let each = collection.queries.iter().enumerate().map(|(index, query)| {
        let answer = answer(index);
        (
            QueryHalf::from_query(&query.text),
            ndcg(&answer, &query.relevant),
            reciprocal_rank(&answer, &query.relevant),
        )
    });
    SystemScores { each: each.collect() }
}

pub(crate) fn ndcg(answer: &[usize], relevant: &[usize]) -> f64 {
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let ranks =
        answer.iter().take(CUT).enumerate().filter(|(_, document)| relevant.contains(document));
    let ideal: f64 = (0..relevant.len().min(CUT)).map(gain).sum();
    ranks.map(|(rank, _)| gain(rank)).sum::<f64>() / ideal
}

fn reciprocal_rank(answer: &[usize], relevant: &[usize]) -> f64 {
    let first = answer.iter().take(CUT).position(|document| relevant.contains(document));
    first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discounts_lower_ranks() {
        assert_eq!(ndcg(&[3, 1], &[3]), 1.0);
        assert!((ndcg(&[1, 3], &[3]) - 0.6309).abs() < 1e-4);
        assert_eq!(ndcg(&[1, 2], &[3]), 0.0);
        assert_eq!(ndcg(&[4, 3], &[3, 4]), 1.0);
        assert_eq!(ndcg(&(0..11).collect::<Vec<_>>(), &[10]), 0.0);
        assert_eq!(reciprocal_rank(&[1, 3], &[3]), 0.5);
    }
}
