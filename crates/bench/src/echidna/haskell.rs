//! Haskell as far as a list of test cases needs it: names, texts, signs and brackets.
//!
//! It is no parser: it knows no layout, no types and no operators. The two ways in which the tests repeat a case for
//! several names (`map` and `<&>` over a list of texts) are written out.

/// A piece of source. What stands in brackets is one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A name or a number.
    Word(String),
    /// A text without its quotes.
    Text(String),
    /// Characters such as `,` or `<&>`.
    Sign(String),
    /// `( … )`
    Group(Vec<Piece>),
    /// `[ … ]`
    List(Vec<Piece>),
}

const SIGNS: &str = "!#$%&*+./<=>?@\\^|-~:";

/// Reads a module. Brackets that do not match end where the text ends: what is not understood is left out later.
pub(crate) fn read(source: &str) -> Vec<Piece> {
    let mut open: Vec<(char, Vec<Piece>)> = vec![(' ', Vec::new())];
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '(' | '[' => {
                open.push((first, Vec::new()));
                1
            }
            ')' | ']' => {
                close(&mut open);
                1
            }
            _ => {
                let (piece, taken) = next(rest, first);
                if let (Some(piece), Some((_, pieces))) = (piece, open.last_mut()) {
                    pieces.push(piece);
                }
                taken
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    while open.len() > 1 {
        close(&mut open);
    }
    written_out(open.pop().map(|(_, pieces)| pieces).unwrap_or_default())
}

fn close(open: &mut Vec<(char, Vec<Piece>)>) {
    if open.len() < 2 {
        return;
    }
    let Some((bracket, pieces)) = open.pop() else { return };
    let pieces = written_out(pieces);
    let piece = if bracket == '(' { Piece::Group(pieces) } else { Piece::List(pieces) };
    if let Some((_, outer)) = open.last_mut() {
        outer.push(piece);
    }
}

/// The piece at the beginning, and how many bytes it takes; spaces and comments are none.
fn next(rest: &str, first: char) -> (Option<Piece>, usize) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    let while_true = |holds: &dyn Fn(char) -> bool| rest.find(|c| !holds(c)).unwrap_or(rest.len());
    if rest.starts_with("--") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("{-") {
        return (None, rest.find("-}").map_or(rest.len(), |at| at + 2));
    }
    match first {
        '"' => text(rest),
        // A character; the quotes at the end of a name are part of the name.
        '\'' => (None, character(rest)),
        _ if first.is_alphanumeric() || first == '_' => {
            let taken = while_true(&is_name);
            (Some(Piece::Word(rest[..taken].to_owned())), taken)
        }
        _ if SIGNS.contains(first) => {
            let taken = while_true(&|c| SIGNS.contains(c));
            (Some(Piece::Sign(rest[..taken].to_owned())), taken)
        }
        ',' | ';' | '`' | '{' | '}' => (Some(Piece::Sign(first.to_string())), 1),
        _ => (None, first.len_utf8()),
    }
}

/// Texts of test cases have no escapes but `\"` and `\\`; others are kept as they are written.
fn text(rest: &str) -> (Option<Piece>, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (Some(Piece::Text(text)), at + 1),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                Some((_, other)) => text.extend(['\\', other]),
                None => break,
            },
            _ => text.push(character),
        }
    }
    (Some(Piece::Text(text)), rest.len())
}

fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    let mut at_most = 0;
    while let Some((at, character)) = characters.next() {
        at_most += 1;
        match character {
            '\'' => return at + 1,
            '\\' => drop(characters.next()),
            '\n' => break,
            _ if at_most > 8 => break,
            _ => {}
        }
    }
    1
}

/// Writes repetitions out: `map (\name -> body) [texts]` and `[texts] <&> \name -> body`.
fn written_out(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = pieces.as_slice();
    while let Some((first, after)) = rest.split_first() {
        if let Some((repeated, after)) = mapped(rest) {
            out.extend(repeated);
            rest = after;
        } else if let Some(repeated) = flipped(rest) {
            out.extend(repeated);
            rest = &[];
        } else {
            out.push(first.clone());
            rest = after;
        }
    }
    out
}

fn mapped(pieces: &[Piece]) -> Option<(Vec<Piece>, &[Piece])> {
    let [Piece::Word(map), Piece::Group(lambda), Piece::List(texts), after @ ..] = pieces else {
        return None;
    };
    if map != "map" {
        return None;
    }
    Some((repeated(lambda, texts)?, after))
}

/// The body of this form goes on to the end of what it stands in.
fn flipped(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let [Piece::List(texts), Piece::Sign(sign), lambda @ ..] = pieces else { return None };
    if sign != "<&>" {
        return None;
    }
    repeated(lambda, texts)
}

fn repeated(lambda: &[Piece], texts: &[Piece]) -> Option<Vec<Piece>> {
    let [Piece::Sign(backslash), Piece::Word(name), Piece::Sign(arrow), body @ ..] = lambda else {
        return None;
    };
    if backslash != "\\" || arrow != "->" {
        return None;
    }
    let texts = texts.iter().filter(|piece| matches!(piece, Piece::Text(_)));
    let with = |text: &Piece| Piece::Group(body.iter().map(|it| put(it, name, text)).collect());
    let separate = |piece| [piece, Piece::Sign(",".to_owned())];
    Some(texts.map(with).flat_map(separate).collect())
}

/// The piece with a text for a name.
fn put(piece: &Piece, name: &str, text: &Piece) -> Piece {
    let all = |pieces: &[Piece]| pieces.iter().map(|inner| put(inner, name, text)).collect();
    match piece {
        Piece::Word(word) if word == name => text.clone(),
        Piece::Group(pieces) => Piece::Group(all(pieces)),
        Piece::List(pieces) => Piece::List(all(pieces)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, read};

    /// Pieces on one line, texts in quotes.
    fn shown(pieces: &[Piece]) -> String {
        let one = |piece: &Piece| match piece {
            Piece::Word(text) | Piece::Sign(text) => text.clone(),
            Piece::Text(text) => format!("{text:?}"),
            Piece::Group(inner) => format!("({})", shown(inner)),
            Piece::List(inner) => format!("[{}]", shown(inner)),
        };
        pieces.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        assert_eq!(shown(&read(source)), expected);
    }

    #[test]
    fn reads_names_texts_and_brackets() {
        check(
            "f' (Just \"a\\\"b\") -- g\n  [x, 0x1f] {- h -} `seq` \"\\d\"",
            r#"f' (Just "a\"b") [x , 0x1f] ` seq ` "\\d""#,
        );
        check("takeWhile (/= '+') '\\'' v'", "takeWhile (/=) v'");
    }

    #[test]
    fn writes_repetitions_out() {
        check(r#"map (\c -> f (Just c)) ["a", "b"]"#, r#"(f (Just "a")) , (f (Just "b")) ,"#);
        check(r#"(["a"] <&> \n -> ("without", g n))"#, r#"((("without" , g "a")) ,)"#);
    }

    #[test]
    fn brackets_that_do_not_match_lose_nothing() {
        check("a) [b (c", "a [b (c)]");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(source: String) {
            let _ = read(&source);
        }
    }
}
