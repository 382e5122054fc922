//! Derives the trigrams that a line must contain to match a pattern.
//!
//! The pattern's syntax tree is evaluated from its leaves. For each part, the result is either the strings that it
//! matches *exactly* (while these are few), or the possible prefixes and suffixes of its matches and the trigrams in
//! between. Concatenation joins the suffixes of one part with the prefixes of the next, so trigrams across the boundary
//! are found too. Missing information makes a plan weaker, never wrong.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::fold::fold_case;
use super::set::text_keys;

/// Maximum number of exact strings, prefixes or suffixes of a part before they are simplified.
const MAX_STRINGS: usize = 32;
/// Maximum length of an exact string.
const MAX_LENGTH: usize = 256;
/// Maximum number of characters in a class that is expanded to strings.
const MAX_CLASS: usize = 16;
/// Maximum number of copies to which a repetition is expanded.
const MAX_COPIES: u32 = 4;

/// A boolean query: trigrams that a matching file must contain, and runs of four bytes that a long file must contain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrigramPlan {
    /// Any file may match.
    Any,
    /// The file contains this trigram or run.
    Contains(u32),
    AllOf(BTreeSet<TrigramPlan>),
    AnyOf(BTreeSet<TrigramPlan>),
}

impl TrigramPlan {
    /// Derives the plan for a parsed pattern. The syntax tree already reflects case-insensitivity.
    pub fn from_pattern(pattern: &Hir) -> Self {
        match PatternInfo::from_pattern(pattern) {
            PatternInfo::Exact(strings) => plan_for_strings(&strings),
            PatternInfo::Affixes { inside, .. } => inside,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, plan) | (plan, Self::Any) => plan,
            (left, right) => {
                let mut all = BTreeSet::new();
                for plan in [left, right] {
                    match plan {
                        Self::AllOf(parts) => all.extend(parts),
                        part => drop(all.insert(part)),
                    }
                }
                if all.len() == 1 { all.pop_first().unwrap_or(Self::Any) } else { Self::AllOf(all) }
            }
        }
    }

    fn any_of(plans: impl IntoIterator<Item = Self>) -> Self {
        let mut one = BTreeSet::new();
        for plan in plans {
            match plan {
                Self::Any => return Self::Any,
                Self::AnyOf(parts) => one.extend(parts),
                part => drop(one.insert(part)),
            }
        }
        if one.len() == 1 { one.pop_first().unwrap_or(Self::Any) } else { Self::AnyOf(one) }
    }
}

type Strings = BTreeSet<Vec<u8>>;

/// Properties of the case-folded text that a part of a pattern matches.
#[derive(Clone)]
enum PatternInfo {
    /// The text is one of these strings.
    Exact(Strings),
    /// The text begins with one of `start` and ends with one of `end`, and the line satisfies `inside`.
    Affixes { start: Strings, end: Strings, inside: TrigramPlan },
}

impl PatternInfo {
    fn empty_string() -> Self {
        Self::Exact(Strings::from([Vec::new()]))
    }

    fn any_text() -> Self {
        let nothing = Strings::from([Vec::new()]);
        Self::Affixes { start: nothing.clone(), end: nothing, inside: TrigramPlan::Any }
    }

    fn from_pattern(pattern: &Hir) -> Self {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::empty_string(),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => {
                    Self::Exact(Strings::from([fold_case(text.as_bytes()).collect()])).simplify()
                }
                // Folding could split a character here.
                Err(_) => Self::any_text(),
            },
            HirKind::Class(class) => analyze_class(class),
            HirKind::Repetition(repetition) => analyze_repetition(repetition),
            HirKind::Capture(capture) => Self::from_pattern(&capture.sub),
            HirKind::Concat(parts) => parts
                .iter()
                .map(Self::from_pattern)
                .fold(Self::empty_string(), |left, right| left.concat_with(right)),
            HirKind::Alternation(parts) => {
                Self::any_of(parts.iter().map(Self::from_pattern).collect())
            }
        }
    }

    fn concat_with(self, right: Self) -> Self {
        if let (Self::Exact(left), Self::Exact(right)) = (&self, &right)
            && let Some(both) = cross_product(left, right)
        {
            return Self::Exact(both).simplify();
        }
        let (left_exact, right_exact) = (self.is_exact(), right.is_exact());
        let (left_start, left_end, left_inside) = self.into_affixes();
        let (right_start, right_end, right_inside) = right.into_affixes();
        let boundary = cross_product(&left_end, &right_start)
            .map_or(TrigramPlan::Any, |strings| plan_for_strings(&strings));
        let inside = left_inside.and(right_inside).and(boundary);
        let start = match cross_product(&left_start, &right_start) {
            Some(start) if left_exact => start,
            _ => left_start,
        };
        let end = match cross_product(&left_end, &right_end) {
            Some(end) if right_exact => end,
            _ => right_end,
        };
        Self::Affixes { start, end, inside }.simplify()
    }

    fn any_of(parts: Vec<Self>) -> Self {
        if parts.iter().all(Self::is_exact) {
            let strings = parts.iter().flat_map(|part| match part {
                Self::Exact(strings) => strings.clone(),
                Self::Affixes { .. } => Strings::new(),
            });
            return Self::Exact(strings.collect()).simplify();
        }
        let (mut starts, mut ends, mut insides) = (Strings::new(), Strings::new(), Vec::new());
        for part in parts {
            let (start, end, inside) = part.into_affixes();
            starts.extend(start);
            ends.extend(end);
            insides.push(inside);
        }
        Self::Affixes { start: starts, end: ends, inside: TrigramPlan::any_of(insides) }.simplify()
    }

    fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Returns the prefixes, the suffixes and the plan for the text in between.
    fn into_affixes(self) -> (Strings, Strings, TrigramPlan) {
        match self {
            Self::Exact(strings) => {
                let inside = plan_for_strings(&strings);
                (strings.clone(), strings, inside)
            }
            Self::Affixes { start, end, inside } => (start, end, inside),
        }
    }

    /// Discards strings where there are too many, after adding their trigrams to `inside`.
    fn simplify(self) -> Self {
        let fits = |strings: &Strings| {
            strings.len() <= MAX_STRINGS && strings.iter().all(|string| string.len() <= MAX_LENGTH)
        };
        if let Self::Exact(strings) = &self
            && fits(strings)
        {
            return self;
        }
        let (start, end, inside) = self.into_affixes();
        let inside = inside.and(plan_for_strings(&start)).and(plan_for_strings(&end));
        // A trigram across a boundary has at most two bytes of either side.
        let start = start.into_iter().map(|mut string| {
            string.truncate(2);
            string
        });
        let end =
            end.into_iter().map(|mut string| string.split_off(string.len().saturating_sub(2)));
        let few = |strings: Strings| match strings.len() <= MAX_STRINGS {
            true => strings,
            false => Strings::from([Vec::new()]),
        };
        Self::Affixes { start: few(start.collect()), end: few(end.collect()), inside }
    }
}

fn analyze_class(class: &Class) -> PatternInfo {
    let unicode = match class {
        Class::Unicode(class) => Some(class.clone()),
        // Bytes beyond ASCII may be parts of characters.
        Class::Bytes(class) => class.to_unicode_class(),
    };
    let Some(class) = unicode else { return PatternInfo::any_text() };
    let size: usize = class.ranges().iter().map(|range| range.len()).sum();
    // An empty class never matches, so any plan is correct for it.
    if size == 0 || size > MAX_CLASS * 2 {
        return PatternInfo::any_text();
    }
    let mut strings = Strings::new();
    for character in class.ranges().iter().flat_map(|range| range.start()..=range.end()) {
        strings.insert(fold_case(character.to_string().as_bytes()).collect());
    }
    if strings.len() > MAX_CLASS { PatternInfo::any_text() } else { PatternInfo::Exact(strings) }
}

fn analyze_repetition(repetition: &Repetition) -> PatternInfo {
    let part = PatternInfo::from_pattern(&repetition.sub);
    let Repetition { min, max, .. } = *repetition;
    if min == 0 {
        return match max {
            Some(0) => PatternInfo::empty_string(),
            Some(1) => PatternInfo::any_of(vec![part, PatternInfo::empty_string()]),
            _ => PatternInfo::any_text(),
        };
    }
    let copies = min.min(MAX_COPIES);
    let expanded = (1..copies).fold(part.clone(), |left, _| left.concat_with(part.clone()));
    if max == Some(copies) {
        return expanded;
    }
    // More copies may follow. The text begins and ends like the expanded copies.
    let (start, end, inside) = expanded.into_affixes();
    PatternInfo::Affixes { start, end, inside }.simplify()
}

/// Returns every concatenation of a left and a right string, or `None` if there are too many.
fn cross_product(left: &Strings, right: &Strings) -> Option<Strings> {
    let pairs = left.len().checked_mul(right.len()).filter(|pairs| *pairs <= MAX_STRINGS)?;
    let mut both = Strings::new();
    for left in left {
        both.extend(right.iter().map(|right| [&left[..], right].concat()));
    }
    debug_assert!(both.len() <= pairs);
    Some(both)
}

/// Returns the plan for a line that contains one of the case-folded strings.
fn plan_for_strings(strings: &Strings) -> TrigramPlan {
    TrigramPlan::any_of(strings.iter().map(|string| {
        text_keys(string)
            .fold(TrigramPlan::Any, |plan, number| plan.and(TrigramPlan::Contains(number)))
    }))
}
