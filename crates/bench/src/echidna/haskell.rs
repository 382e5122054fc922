//! Tokenizes Haskell as far as a list of test cases needs it: names, texts, signs and brackets.
//!
//! It is not a parser: it ignores layout, types and operators. The two ways in which the tests repeat a case for several
//! names (`map` and `<&>` over a list of texts) are expanded.

/// A token. Brackets and their contents are one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HaskellToken {
    /// A name or a number.
    Word(String),
    /// A text without its quotes.
    Text(String),
    /// Characters such as `,` or `<&>`.
    Sign(String),
    /// `( … )`
    Group(Vec<HaskellToken>),
    /// `[ … ]`
    List(Vec<HaskellToken>),
}

const SIGNS: &str = "!#$%&*+./<=>?@\\^|-~:";

/// Tokenizes a module. Unmatched brackets end with the text; unknown syntax is dropped later.
pub(crate) fn tokenize(source: &str) -> Vec<HaskellToken> {
    let mut open: Vec<(char, Vec<HaskellToken>)> = vec![(' ', Vec::new())];
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '(' | '[' => {
                open.push((first, Vec::new()));
                1
            }
            ')' | ']' => {
                close_bracket(&mut open);
                1
            }
            _ => {
                let (piece, taken) = next_token(rest, first);
                if let (Some(piece), Some((_, pieces))) = (piece, open.last_mut()) {
                    pieces.push(piece);
                }
                taken
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    while open.len() > 1 {
        close_bracket(&mut open);
    }
    expand_repetitions(open.pop().map(|(_, pieces)| pieces).unwrap_or_default())
}

fn close_bracket(open: &mut Vec<(char, Vec<HaskellToken>)>) {
    if open.len() < 2 {
        return;
    }
    let Some((bracket, pieces)) = open.pop() else { return };
    let pieces = expand_repetitions(pieces);
    let piece =
        if bracket == '(' { HaskellToken::Group(pieces) } else { HaskellToken::List(pieces) };
    if let Some((_, outer)) = open.last_mut() {
        outer.push(piece);
    }
}

/// Returns the first token and its length in bytes; spaces and comments have no token.
fn next_token(rest: &str, first: char) -> (Option<HaskellToken>, usize) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    let while_true = |holds: &dyn Fn(char) -> bool| rest.find(|c| !holds(c)).unwrap_or(rest.len());
    if rest.starts_with("--") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("{-") {
        return (None, rest.find("-}").map_or(rest.len(), |at| at + 2));
    }
    match first {
        '"' => read_text(rest),
        // A character literal; quotes at the end of a name are part of the name.
        '\'' => (None, skip_character(rest)),
        _ if first.is_alphanumeric() || first == '_' => {
            let taken = while_true(&is_name);
            (Some(HaskellToken::Word(rest[..taken].to_owned())), taken)
        }
        _ if SIGNS.contains(first) => {
            let taken = while_true(&|c| SIGNS.contains(c));
            (Some(HaskellToken::Sign(rest[..taken].to_owned())), taken)
        }
        ',' | ';' | '`' | '{' | '}' => (Some(HaskellToken::Sign(first.to_string())), 1),
        _ => (None, first.len_utf8()),
    }
}

/// Reads a text. Test cases have no escapes but `\"` and `\\`; others are kept as written.
fn read_text(rest: &str) -> (Option<HaskellToken>, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (Some(HaskellToken::Text(text)), at + 1),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                Some((_, other)) => text.extend(['\\', other]),
                None => break,
            },
            _ => text.push(character),
        }
    }
    (Some(HaskellToken::Text(text)), rest.len())
}

fn skip_character(rest: &str) -> usize {
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

/// Expands repetitions: `map (\name -> body) [texts]` and `[texts] <&> \name -> body`.
fn expand_repetitions(pieces: Vec<HaskellToken>) -> Vec<HaskellToken> {
    let mut out = Vec::new();
    let mut rest = pieces.as_slice();
    while let Some((first, after)) = rest.split_first() {
        if let Some((repeated, after)) = expand_map(rest) {
            out.extend(repeated);
            rest = after;
        } else if let Some(repeated) = expand_flipped_map(rest) {
            out.extend(repeated);
            rest = &[];
        } else {
            out.push(first.clone());
            rest = after;
        }
    }
    out
}

fn expand_map(pieces: &[HaskellToken]) -> Option<(Vec<HaskellToken>, &[HaskellToken])> {
    let [
        HaskellToken::Word(map),
        HaskellToken::Group(lambda),
        HaskellToken::List(texts),
        after @ ..,
    ] = pieces
    else {
        return None;
    };
    if map != "map" {
        return None;
    }
    Some((repeat_body(lambda, texts)?, after))
}

/// Expands `[texts] <&> \name -> body`; the body extends to the end of the enclosing brackets.
fn expand_flipped_map(pieces: &[HaskellToken]) -> Option<Vec<HaskellToken>> {
    let [HaskellToken::List(texts), HaskellToken::Sign(sign), lambda @ ..] = pieces else {
        return None;
    };
    if sign != "<&>" {
        return None;
    }
    repeat_body(lambda, texts)
}

fn repeat_body(lambda: &[HaskellToken], texts: &[HaskellToken]) -> Option<Vec<HaskellToken>> {
    let [
        HaskellToken::Sign(backslash),
        HaskellToken::Word(name),
        HaskellToken::Sign(arrow),
        body @ ..,
    ] = lambda
    else {
        return None;
    };
    if backslash != "\\" || arrow != "->" {
        return None;
    }
    let texts = texts.iter().filter(|piece| matches!(piece, HaskellToken::Text(_)));
    let with = |text: &HaskellToken| {
        HaskellToken::Group(body.iter().map(|it| substitute(it, name, text)).collect())
    };
    let separate = |piece| [piece, HaskellToken::Sign(",".to_owned())];
    Some(texts.map(with).flat_map(separate).collect())
}

/// Returns the token with a text in place of a name.
fn substitute(piece: &HaskellToken, name: &str, text: &HaskellToken) -> HaskellToken {
    let all = |pieces: &[HaskellToken]| {
        pieces.iter().map(|inner| substitute(inner, name, text)).collect()
    };
    match piece {
        HaskellToken::Word(word) if word == name => text.clone(),
        HaskellToken::Group(pieces) => HaskellToken::Group(all(pieces)),
        HaskellToken::List(pieces) => HaskellToken::List(all(pieces)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{HaskellToken, tokenize};

    /// Formats tokens on one line, texts in quotes.
    fn format_tokens(pieces: &[HaskellToken]) -> String {
        let one = |piece: &HaskellToken| match piece {
            HaskellToken::Word(text) | HaskellToken::Sign(text) => text.clone(),
            HaskellToken::Text(text) => format!("{text:?}"),
            HaskellToken::Group(inner) => format!("({})", format_tokens(inner)),
            HaskellToken::List(inner) => format!("[{}]", format_tokens(inner)),
        };
        pieces.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn assert_tokens(source: &str, expected: &str) {
        assert_eq!(format_tokens(&tokenize(source)), expected);
    }

    #[test]
    fn reads_names_texts_and_brackets() {
        assert_tokens(
            "f' (Just \"a\\\"b\") -- g\n  [x, 0x1f] {- h -} `seq` \"\\d\"",
            r#"f' (Just "a\"b") [x , 0x1f] ` seq ` "\\d""#,
        );
        assert_tokens("takeWhile (/= '+') '\\'' v'", "takeWhile (/=) v'");
    }

    #[test]
    fn expands_repetitions() {
        assert_tokens(
            r#"map (\c -> f (Just c)) ["a", "b"]"#,
            r#"(f (Just "a")) , (f (Just "b")) ,"#,
        );
        assert_tokens(r#"(["a"] <&> \n -> ("without", g n))"#, r#"((("without" , g "a")) ,)"#);
    }

    #[test]
    fn keeps_tokens_in_unmatched_brackets() {
        assert_tokens("a) [b (c", "a [b (c)]");
    }

    proptest::proptest! {
        #[test]
        fn tokenizes_any_text(source: String) {
            let _ = tokenize(&source);
        }
    }
}
