//! The shape of a call that somebody wrote, before anybody knows its types.
//!
//! ```text
//! call := [ contract '.' ] name '(' [ term { ',' term } ] ')'
//! term := '?' | string | hex string | '[' terms ']' | '{' terms '}' | '(' terms ')' | plain | type term
//! ```
//!
//! What is plain (a number with or without a unit, an address, a truth) is read by whoever knows which type it must have.

/// How deep values may lie in each other. No type that a compiler makes is that deep.
const MAX_DEPTH: usize = 32;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Written<'a> {
    /// The name or the address of its contract.
    pub(super) contract: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Vec<Term<'a>>,
}

/// A value, and how it was written.
#[derive(Clone, Debug)]
pub(super) struct Term<'a> {
    pub(super) text: &'a str,
    pub(super) kind: Kind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    Hole,
    Plain,
    /// In quotes.
    Text(Vec<u8>),
    /// `hex"…"`
    Hex(Vec<u8>),
    /// `[…]`
    Square(Vec<Term<'a>>),
    /// `{…}` or `(…)`
    Round(Vec<Term<'a>>),
    /// With its type in front, as in `uint8 1`.
    Typed(&'a str, Box<Term<'a>>),
}

/// Where a text cannot be read, and what could have stood there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misread {
    /// In bytes.
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

type Read<T> = Result<T, Misread>;

/// Reads a whole call.
pub(super) fn call(text: &str) -> Read<Written<'_>> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.skip_space();
    let mut name = reader.name();
    let mut contract = None;
    reader.skip_space();
    if !name.is_empty() && reader.eat('.') {
        reader.skip_space();
        contract = Some(std::mem::replace(&mut name, reader.name()));
        reader.skip_space();
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        reader.at -= name.len();
        return reader.fail("the name of a function");
    }
    if !reader.eat('(') {
        return reader.fail("`(`");
    }
    let args = reader.terms(')', "`,` or `)`")?;
    reader.end()?;
    Ok(Written { contract, name, args })
}

/// Reads a single value.
pub(super) fn value(text: &str) -> Read<Term<'_>> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let term = reader.term()?;
    reader.end()?;
    Ok(term)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, expected: &'static str) -> Read<T> {
        Err(Misread { at: self.at, expected })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn name(&mut self) -> &'a str {
        self.take_while(|it| it.is_ascii_alphanumeric() || it == '_' || it == '$')
    }

    fn end(&mut self) -> Read<()> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { self.fail("the end") }
    }

    /// Values up to the closing bracket.
    fn terms(&mut self, close: char, expected: &'static str) -> Read<Vec<Term<'a>>> {
        let mut terms = Vec::new();
        self.skip_space();
        if self.eat(close) {
            return Ok(terms);
        }
        loop {
            terms.push(self.term()?);
            self.skip_space();
            if self.eat(close) {
                return Ok(terms);
            }
            if !self.eat(',') {
                return self.fail(expected);
            }
        }
    }

    fn term(&mut self) -> Read<Term<'a>> {
        if self.depth == MAX_DEPTH {
            return self.fail("a value that is not so deep inside others");
        }
        self.depth += 1;
        self.skip_space();
        let start = self.at;
        let kind = self.kind()?;
        self.depth -= 1;
        Ok(Term { text: &self.text[start..self.at], kind })
    }

    fn kind(&mut self) -> Read<Kind<'a>> {
        let Some(first) = self.peek() else { return self.fail("a value") };
        match first {
            '"' | '\'' => self.string().map(Kind::Text),
            '?' => {
                self.at += 1;
                Ok(Kind::Hole)
            }
            '[' => {
                self.at += 1;
                self.terms(']', "`,` or `]`").map(Kind::Square)
            }
            '{' => {
                self.at += 1;
                self.terms('}', "`,` or `}`").map(Kind::Round)
            }
            '(' => {
                self.at += 1;
                self.terms(')', "`,` or `)`").map(Kind::Round)
            }
            _ => self.word(),
        }
    }

    /// What begins with neither a bracket nor a quote.
    fn word(&mut self) -> Read<Kind<'a>> {
        let word = self.take_while(is_plain);
        match word {
            "" => return self.fail("a value"),
            "hex" if self.is_quote() => return self.hex().map(Kind::Hex),
            "unicode" if self.is_quote() => return self.string().map(Kind::Text),
            "type" if self.peek() == Some('(') => {
                self.take_while(|it| it != ')');
                self.eat(')');
                self.take_while(is_plain);
                return Ok(Kind::Plain);
            }
            _ => {}
        }
        if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            self.typed(word)
        } else {
            self.unit();
            Ok(Kind::Plain)
        }
    }

    /// A word that is all, or the type of what follows it.
    fn typed(&mut self, word: &'a str) -> Read<Kind<'a>> {
        let start = self.at - word.len();
        while self.dimension() {}
        let end = self.at;
        self.skip_space();
        if self.peek().is_none_or(|next| matches!(next, ',' | ')' | ']' | '}')) {
            self.at = end;
            return Ok(Kind::Plain);
        }
        let value = self.term()?;
        Ok(Kind::Typed(&self.text[start..end], Box::new(value)))
    }

    /// `[]` or `[3]`, as in the type of an array.
    fn dimension(&mut self) -> bool {
        let start = self.at;
        let is_open = self.eat('[');
        self.take_while(|it| it.is_ascii_digit());
        if is_open && self.eat(']') {
            return true;
        }
        self.at = start;
        false
    }

    /// The unit after a number.
    fn unit(&mut self) {
        let end = self.at;
        self.skip_space();
        let unit = self.take_while(|it| it.is_ascii_alphabetic());
        if unit.is_empty() {
            self.at = end;
        }
    }

    fn is_quote(&self) -> bool {
        matches!(self.peek(), Some('"' | '\''))
    }

    /// A string in quotes of either kind, with the escapes of Solidity.
    fn string(&mut self) -> Read<Vec<u8>> {
        let quote = self.peek();
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(next) = self.peek() else { return self.fail("a closing quote") };
            self.at += next.len_utf8();
            match next {
                '\\' => self.escape(&mut bytes)?,
                _ if Some(next) == quote => return Ok(bytes),
                _ => bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Read<()> {
        const EXPECTED: &str = r#"an escape: \n, \r, \t, \\, \", \', \xNN or \uNNNN"#;
        let Some(next) = self.peek() else { return self.fail(EXPECTED) };
        let start = self.at;
        self.at += next.len_utf8();
        bytes.push(match next {
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            '\\' => b'\\',
            '"' => b'"',
            '\'' => b'\'',
            'x' => {
                let byte = self.digits(2).and_then(|number| u8::try_from(number).ok());
                byte.ok_or(Misread { at: start, expected: r"two hex digits after \x" })?
            }
            'u' => {
                let character = self.digits(4).and_then(char::from_u32);
                let expected = r"four hex digits of a character after \u";
                let character = character.ok_or(Misread { at: start, expected })?;
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(Misread { at: start, expected: EXPECTED }),
        });
        Ok(())
    }

    /// So many hex digits.
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        self.at += count;
        is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }

    /// The bytes of `hex"…"`.
    fn hex(&mut self) -> Read<Vec<u8>> {
        const EXPECTED: &str = "an even number of hex digits and a closing quote";
        let quote = self.peek();
        self.at += 1;
        let start = self.at;
        let digits = self.take_while(|it| it.is_ascii_hexdigit());
        let is_closed = self.peek() == quote;
        let bytes = alloy_primitives::hex::decode(digits).ok().filter(|_| is_closed);
        self.at += usize::from(is_closed);
        bytes.ok_or(Misread { at: start, expected: EXPECTED })
    }
}

fn is_plain(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(character, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '?')
}
