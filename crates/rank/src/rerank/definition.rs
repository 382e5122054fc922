//! Whether a document defines a name that the query holds, and how surely that is what was meant.

use super::Asked;
use crate::query::Name;
use crate::{Facts, Kind, terms};

/// A name that stands in a sentence may be meant in passing.
const IN_PASSING: f32 = 0.3;

/// A document is about the first name that it defines; the others are parts of it, or smaller.
const INNER: f32 = 0.7;

impl Asked<'_> {
    pub(super) fn definition<'f>(&self, facts: &Facts<'f>) -> Option<(&'f str, f32)> {
        let mut best: Option<(&str, f32)> = None;
        for name in self.query.names() {
            let wanted = self.wanted(name);
            for (index, symbol) in facts.symbols.lines().enumerate() {
                let place = if index == 0 { 1.0 } else { INNER };
                let strength = wanted * place * agreement(name, symbol);
                if strength > best.map_or(0.0, |(_, best)| best) {
                    best = Some((symbol, strength));
                }
            }
        }
        best
    }

    /// A query that is nothing but a name wants its definition. In a sentence, a name that is all over the project (its
    /// own, say) says less than a rare one.
    fn wanted(&self, name: &Name) -> f32 {
        if self.query.kind() == Kind::Symbol {
            return 1.0;
        }
        let rarest = self.rarities.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        let own = terms::whole(&name.last).and_then(|hash| self.rarities.get(&hash));
        IN_PASSING * own.map_or(1.0, |own| own / rarest)
    }
}

/// 1 for the very name, less for its last part or another spelling of it.
fn agreement(name: &Name, symbol: &str) -> f32 {
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
    use crate::Query;

    /// The name that was found, with its strength in hundredths.
    fn check(query: &str, symbols: &str) -> String {
        let query = Query::new(query);
        let rarities = vec![1.0; query.terms().len()];
        let facts = Facts { symbols, ..Facts::default() };
        match Asked::new(&query, &rarities).definition(&facts) {
            None => "nothing".into(),
            Some((name, strength)) => format!("{name} {:.0}", strength * 100.0),
        }
    }

    #[test]
    fn the_very_name_is_surest() {
        assert_eq!(check("Router", "Router"), "Router 100");
        assert_eq!(check("Router::route", "Router::route"), "Router::route 100");
        assert_eq!(check("route", "Router::route"), "Router::route 100");
        assert_eq!(check("Table::route", "Router::route"), "Router::route 60");
        assert_eq!(check("router", "Router"), "Router 30");
        assert_eq!(check("Router", "Route"), "nothing");
        assert_eq!(check("Router", ""), "nothing");
    }

    #[test]
    fn parts_and_passing_mentions_count_less() {
        assert_eq!(check("route", "Router\nroute"), "route 70");
        assert_eq!(check("how does HttpRouter find a handler", "HttpRouter"), "HttpRouter 30");
        assert_eq!(check("how does it find a handler", "handler"), "nothing");
    }
}
