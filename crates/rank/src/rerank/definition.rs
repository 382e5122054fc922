//! Finds the name from the query that a document defines, and how likely the query refers to it.

use super::RerankQuery;
use crate::query::CodeName;
use crate::{DocumentFacts, QueryKind, terms};

/// Weight of a name in a sentence, which may be mentioned only in passing.
const MENTION_WEIGHT: f32 = 0.3;

/// Weight of every definition after the first. The first definition is usually the subject of a document.
const LATER_DEFINITION_WEIGHT: f32 = 0.7;

impl RerankQuery<'_> {
    /// Returns the best matching definition of a document with its strength, from 0 to 1.
    pub(super) fn find_definition<'f>(&self, facts: &DocumentFacts<'f>) -> Option<(&'f str, f32)> {
        let mut best: Option<(&str, f32)> = None;
        for name in self.query.names() {
            let wanted = self.name_weight(name);
            for (index, symbol) in facts.symbols.lines().enumerate() {
                let rank = if index == 0 { 1.0 } else { LATER_DEFINITION_WEIGHT };
                let strength = wanted * rank * compare_names(name, symbol);
                if strength > best.map_or(0.0, |(_, best)| best) {
                    best = Some((symbol, strength));
                }
            }
        }
        best
    }

    /// Returns the weight of a name in the query. A query that consists of one name asks for its definition. In a
    /// sentence, a name that is common in the project, such as its own name, has less weight than a rare one.
    fn name_weight(&self, name: &CodeName) -> f32 {
        if self.query.kind() == QueryKind::Symbol {
            return 1.0;
        }
        let rarest = self.rarities.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        let own = terms::whole_name_hash(&name.last).and_then(|hash| self.rarities.get(&hash));
        MENTION_WEIGHT * own.map_or(1.0, |own| own / rarest)
    }
}

/// Returns 1 for equal names, less for an equal last part or a different letter case, and 0 otherwise.
fn compare_names(name: &CodeName, symbol: &str) -> f32 {
    let last = symbol.rsplit([':', '.', '#', '/']).next().unwrap_or(symbol);
    if symbol == name.text || (last == name.last && name.text == name.last) {
        1.0
    } else if last == name.last {
        0.6
    } else if last.eq_ignore_ascii_case(&name.last) {
        0.3
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchQuery;

    /// Returns the definition that was found, with its strength in hundredths.
    fn check(query: &str, symbols: &str) -> String {
        let query = SearchQuery::new(query);
        let rarities = vec![1.0; query.terms().len()];
        let facts = DocumentFacts { symbols, ..DocumentFacts::default() };
        match RerankQuery::new(&query, &rarities).find_definition(&facts) {
            None => "nothing".into(),
            Some((name, strength)) => format!("{name} {:.0}", strength * 100.0),
        }
    }

    #[test]
    fn exact_name_is_strongest() {
        assert_eq!(check("Router", "Router"), "Router 100");
        assert_eq!(check("Router::route", "Router::route"), "Router::route 100");
        assert_eq!(check("route", "Router::route"), "Router::route 100");
        assert_eq!(check("Table::route", "Router::route"), "Router::route 60");
        assert_eq!(check("router", "Router"), "Router 30");
        assert_eq!(check("Router", "Route"), "nothing");
        assert_eq!(check("Router", ""), "nothing");
    }

    #[test]
    fn later_definitions_and_names_in_sentences_are_weaker() {
        assert_eq!(check("route", "Router\nroute"), "route 70");
        assert_eq!(check("how does HttpRouter find a handler", "HttpRouter"), "HttpRouter 30");
        assert_eq!(check("how does it find a handler", "handler"), "nothing");
    }
}
