//! How much of what is asked the name of a definition says. People name code for what it does.

use super::Asked;
use crate::{Facts, terms};

impl Asked<'_> {
    /// From 0 to 1: the share of the query's words that the name holds, times the share of the name's words that are
    /// asked for. A long name holds many words and a short one few that nobody asked for; only both together say much.
    pub(super) fn called(&self, facts: &Facts<'_>) -> f32 {
        let name = facts.symbols.lines().next().unwrap_or_default();
        let mut words = Vec::new();
        terms::each(name, |term| {
            if !term.whole && !words.contains(&term.hash) {
                words.push(term.hash);
            }
        });
        let asked: Vec<f32> =
            words.iter().filter_map(|hash| self.shares.get(hash)).copied().collect();
        asked.iter().sum::<f32>() * asked.len() as f32 / words.len().max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;

    /// In hundredths.
    fn check(query: &str, symbols: &str) -> f32 {
        let query = Query::new(query);
        let rarities = vec![1.0; query.terms().len()];
        let facts = Facts { symbols, ..Facts::default() };
        (Asked::new(&query, &rarities).called(&facts) * 100.0).round()
    }

    #[test]
    fn words_are_looked_for_in_the_first_name() {
        assert_eq!(check("retry a failed request", "retryFailedRequest"), 100.0);
        assert_eq!(check("retry a failed request", "retry_request\nfailed"), 67.0);
        assert_eq!(check("retry a failed request", "Client::send_request"), 11.0);
        assert_eq!(check("retry a failed request", "Client::send"), 0.0);
        assert_eq!(check("retry a failed request", ""), 0.0);
    }
}
