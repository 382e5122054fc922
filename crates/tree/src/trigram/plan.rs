//! What a line must have to match a pattern, in trigrams.
//!
//! The pattern's syntax tree is folded up from its leaves. Of each part it is known either which strings it matches
//! *exactly* (while these are few), or how its matches can begin and end and what they need inside. Joining two parts
//! joins the ends of the one to the beginnings of the other, so trigrams across the seam are found too. Whatever is not
//! known makes a plan weaker, never wrong.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::fold::folded;
use super::set::numbers_of;

/// How many strings one part may match exactly, or begin or end with, before less is said of it.
const MAX_STRINGS: usize = 32;
/// The longest string that is kept whole.
const MAX_LENGTH: usize = 256;
/// How many characters a class may have to be listed one by one.
const MAX_CLASS: usize = 16;
/// How often a repeated part is written out.
const MAX_COPIES: u32 = 4;

/// Trigrams that a matching file must have, and runs of four bytes that a long one must have as well.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// Any file may match.
    Any,
    Has(u32),
    All(BTreeSet<Plan>),
    One(BTreeSet<Plan>),
}

impl Plan {
    /// The plan for a parsed pattern. Case-insensitivity is in the syntax tree already.
    pub fn of(pattern: &Hir) -> Self {
        match Part::of(pattern) {
            Part::Exact(strings) => needs(&strings),
            Part::Known { inside, .. } => inside,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, plan) | (plan, Self::Any) => plan,
            (left, right) => {
                let mut all = BTreeSet::new();
                for plan in [left, right] {
                    match plan {
                        Self::All(parts) => all.extend(parts),
                        part => drop(all.insert(part)),
                    }
                }
                if all.len() == 1 { all.pop_first().unwrap_or(Self::Any) } else { Self::All(all) }
            }
        }
    }

    fn one_of(plans: impl IntoIterator<Item = Self>) -> Self {
        let mut one = BTreeSet::new();
        for plan in plans {
            match plan {
                Self::Any => return Self::Any,
                Self::One(parts) => one.extend(parts),
                part => drop(one.insert(part)),
            }
        }
        if one.len() == 1 { one.pop_first().unwrap_or(Self::Any) } else { Self::One(one) }
    }
}

type Strings = BTreeSet<Vec<u8>>;

/// What is known of the folded text that a part of a pattern matches.
#[derive(Clone)]
enum Part {
    /// One of these, and nothing else.
    Exact(Strings),
    /// It begins with one of `start`, ends with one of `end`, and the line satisfies `inside`.
    Known { start: Strings, end: Strings, inside: Plan },
}

impl Part {
    fn empty() -> Self {
        Self::Exact(Strings::from([Vec::new()]))
    }

    fn anything() -> Self {
        let nothing = Strings::from([Vec::new()]);
        Self::Known { start: nothing.clone(), end: nothing, inside: Plan::Any }
    }

    fn of(pattern: &Hir) -> Self {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::empty(),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => {
                    Self::Exact(Strings::from([folded(text.as_bytes()).collect()])).bounded()
                }
                // Folding could cut through a character here.
                Err(_) => Self::anything(),
            },
            HirKind::Class(class) => of_class(class),
            HirKind::Repetition(repetition) => of_repetition(repetition),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => {
                parts.iter().map(Self::of).fold(Self::empty(), |left, right| left.then(right))
            }
            HirKind::Alternation(parts) => Self::one_of(parts.iter().map(Self::of).collect()),
        }
    }

    fn then(self, right: Self) -> Self {
        if let (Self::Exact(left), Self::Exact(right)) = (&self, &right)
            && let Some(both) = joined(left, right)
        {
            return Self::Exact(both).bounded();
        }
        let (left_exact, right_exact) = (self.is_exact(), right.is_exact());
        let (left_start, left_end, left_inside) = self.known();
        let (right_start, right_end, right_inside) = right.known();
        let seam = joined(&left_end, &right_start).map_or(Plan::Any, |seam| needs(&seam));
        let inside = left_inside.and(right_inside).and(seam);
        let start = match joined(&left_start, &right_start) {
            Some(start) if left_exact => start,
            _ => left_start,
        };
        let end = match joined(&left_end, &right_end) {
            Some(end) if right_exact => end,
            _ => right_end,
        };
        Self::Known { start, end, inside }.bounded()
    }

    fn one_of(parts: Vec<Self>) -> Self {
        if parts.iter().all(Self::is_exact) {
            let strings = parts.iter().flat_map(|part| match part {
                Self::Exact(strings) => strings.clone(),
                Self::Known { .. } => Strings::new(),
            });
            return Self::Exact(strings.collect()).bounded();
        }
        let (mut starts, mut ends, mut insides) = (Strings::new(), Strings::new(), Vec::new());
        for part in parts {
            let (start, end, inside) = part.known();
            starts.extend(start);
            ends.extend(end);
            insides.push(inside);
        }
        Self::Known { start: starts, end: ends, inside: Plan::one_of(insides) }.bounded()
    }

    fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Start, end and inside, whichever way they are known.
    fn known(self) -> (Strings, Strings, Plan) {
        match self {
            Self::Exact(strings) => {
                let inside = needs(&strings);
                (strings.clone(), strings, inside)
            }
            Self::Known { start, end, inside } => (start, end, inside),
        }
    }

    /// Says less where too much would have to be remembered. Nothing is forgotten that `inside` does not hold by then.
    fn bounded(self) -> Self {
        let fits = |strings: &Strings| {
            strings.len() <= MAX_STRINGS && strings.iter().all(|string| string.len() <= MAX_LENGTH)
        };
        if let Self::Exact(strings) = &self
            && fits(strings)
        {
            return self;
        }
        let (start, end, inside) = self.known();
        let inside = inside.and(needs(&start)).and(needs(&end));
        // A trigram across a seam has at most two bytes of either side.
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
        Self::Known { start: few(start.collect()), end: few(end.collect()), inside }
    }
}

fn of_class(class: &Class) -> Part {
    let unicode = match class {
        Class::Unicode(class) => Some(class.clone()),
        // Bytes beyond ASCII may be pieces of characters.
        Class::Bytes(class) => class.to_unicode_class(),
    };
    let Some(class) = unicode else { return Part::anything() };
    let size: usize = class.ranges().iter().map(|range| range.len()).sum();
    // A class of nothing matches nothing, but says so elsewhere too.
    if size == 0 || size > MAX_CLASS * 2 {
        return Part::anything();
    }
    let mut strings = Strings::new();
    for character in class.ranges().iter().flat_map(|range| range.start()..=range.end()) {
        strings.insert(folded(character.to_string().as_bytes()).collect());
    }
    if strings.len() > MAX_CLASS { Part::anything() } else { Part::Exact(strings) }
}

fn of_repetition(repetition: &Repetition) -> Part {
    let part = Part::of(&repetition.sub);
    let Repetition { min, max, .. } = *repetition;
    if min == 0 {
        return match max {
            Some(0) => Part::empty(),
            Some(1) => Part::one_of(vec![part, Part::empty()]),
            _ => Part::anything(),
        };
    }
    let copies = min.min(MAX_COPIES);
    let written = (1..copies).fold(part.clone(), |left, _| left.then(part.clone()));
    if max == Some(copies) {
        return written;
    }
    // More may follow: it begins and ends as what is written out does.
    let (start, end, inside) = written.known();
    Part::Known { start, end, inside }.bounded()
}

/// Every string of the one followed by every string of the other; None if they are too many.
fn joined(left: &Strings, right: &Strings) -> Option<Strings> {
    let pairs = left.len().checked_mul(right.len()).filter(|pairs| *pairs <= MAX_STRINGS)?;
    let mut both = Strings::new();
    for left in left {
        both.extend(right.iter().map(|right| [&left[..], right].concat()));
    }
    debug_assert!(both.len() <= pairs);
    Some(both)
}

/// What a line needs that holds one of the strings, which are folded.
fn needs(strings: &Strings) -> Plan {
    Plan::one_of(strings.iter().map(|string| {
        numbers_of(string).fold(Plan::Any, |plan, number| plan.and(Plan::Has(number)))
    }))
}
