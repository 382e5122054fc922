//! Compares the query with the name of a definition, since code is named after its purpose.

use super::RerankQuery;
use crate::{DocumentFacts, terms};

impl RerankQuery<'_> {
    /// Returns, from 0 to 1, the share of the query's words in the name, times the share of the name's words in the
    /// query.
    ///
    /// A long name contains many words, and a short name few words outside the query. Only the product is meaningful.
    pub(super) fn score_symbol_name(&self, facts: &DocumentFacts<'_>) -> f32 {
        let name = facts.symbols.lines().next().unwrap_or_default();
        let mut words = Vec::new();
        terms::for_each_term(name, |term| {
            if !term.whole && !words.contains(&term.hash) {
                words.push(term.hash);
            }
        });
        let matched: Vec<f32> =
            words.iter().filter_map(|hash| self.shares.get(hash)).copied().collect();
        matched.iter().sum::<f32>() * matched.len() as f32 / words.len().max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchQuery;

    /// Returns the score in hundredths.
    fn check(query: &str, symbols: &str) -> f32 {
        let query = SearchQuery::new(query);
        let rarities = vec![1.0; query.terms().len()];
        let facts = DocumentFacts { symbols, ..DocumentFacts::default() };
        (RerankQuery::new(&query, &rarities).score_symbol_name(&facts) * 100.0).round()
    }

    #[test]
    fn scores_words_of_the_first_name() {
        assert_eq!(check("retry a failed request", "retryFailedRequest"), 100.0);
        assert_eq!(check("retry a failed request", "retry_request\nfailed"), 67.0);
        assert_eq!(check("retry a failed request", "Client::send_request"), 11.0);
        assert_eq!(check("retry a failed request", "Client::send"), 0.0);
        assert_eq!(check("retry a failed request", ""), 0.0);
    }
}
