//! Syntax of a written call, before types are known.
//!
//! ```text
//! call := [ contract '.' ] name '(' [ term { ',' term } ] ')'
//! term := '?' | string | hex string | '[' terms ']' | '{' terms '}' | '(' terms ')' | plain | type term
//! ```
//!
//! A plain term (a number with or without a unit, an address, a boolean) is parsed later, when its type is known.

/// Maximum nesting depth of values. No compiler-generated type is that deep.
const MAX_DEPTH: usize = 32;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct CallSyntax<'a> {
    /// Name or address of the contract.
    pub(super) contract: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Vec<ScriptTerm<'a>>,
}

/// A value with its source text.
#[derive(Clone, Debug)]
pub(super) struct ScriptTerm<'a> {
    pub(super) text: &'a str,
    pub(super) kind: TermKind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum TermKind<'a> {
    Hole,
    Plain,
    /// A quoted string.
    Text(Vec<u8>),
    /// `hex"…"`
    Hex(Vec<u8>),
    /// `[…]`
    Square(Vec<ScriptTerm<'a>>),
    /// `{…}` or `(…)`
    Round(Vec<ScriptTerm<'a>>),
    /// A value with an explicit type, as in `uint8 1`.
    Typed(&'a str, Box<ScriptTerm<'a>>),
}

/// Position of a syntax error, and the expected input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptSyntaxError {
    /// Offset in bytes.
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

type ParseResult<T> = Result<T, ScriptSyntaxError>;

/// Parses a whole call.
pub(super) fn parse_call_syntax(text: &str) -> ParseResult<CallSyntax<'_>> {
    let mut reader = TermReader { text, at: 0, depth: 0 };
    reader.skip_space();
    let mut name = reader.read_name();
    let mut contract = None;
    reader.skip_space();
    if !name.is_empty() && reader.eat_char('.') {
        reader.skip_space();
        contract = Some(std::mem::replace(&mut name, reader.read_name()));
        reader.skip_space();
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        reader.at -= name.len();
        return reader.fail("the name of a function");
    }
    if !reader.eat_char('(') {
        return reader.fail("`(`");
    }
    let args = reader.read_terms(')', "`,` or `)`")?;
    reader.expect_end()?;
    Ok(CallSyntax { contract, name, args })
}

/// Parses a single value.
pub(super) fn parse_value(text: &str) -> ParseResult<ScriptTerm<'_>> {
    let mut reader = TermReader { text, at: 0, depth: 0 };
    let term = reader.read_term()?;
    reader.expect_end()?;
    Ok(term)
}

struct TermReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> TermReader<'a> {
    fn fail<T>(&self, expected: &'static str) -> ParseResult<T> {
        Err(ScriptSyntaxError { at: self.at, expected })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat_char(&mut self, wanted: char) -> bool {
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

    fn read_name(&mut self) -> &'a str {
        self.take_while(|it| it.is_ascii_alphanumeric() || it == '_' || it == '$')
    }

    fn expect_end(&mut self) -> ParseResult<()> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { self.fail("the end") }
    }

    /// Reads values up to the closing bracket.
    fn read_terms(
        &mut self,
        close: char,
        expected: &'static str,
    ) -> ParseResult<Vec<ScriptTerm<'a>>> {
        let mut terms = Vec::new();
        self.skip_space();
        if self.eat_char(close) {
            return Ok(terms);
        }
        loop {
            terms.push(self.read_term()?);
            self.skip_space();
            if self.eat_char(close) {
                return Ok(terms);
            }
            if !self.eat_char(',') {
                return self.fail(expected);
            }
        }
    }

    fn read_term(&mut self) -> ParseResult<ScriptTerm<'a>> {
        if self.depth == MAX_DEPTH {
            return self.fail("a less deeply nested value");
        }
        self.depth += 1;
        self.skip_space();
        let start = self.at;
        let kind = self.read_kind()?;
        self.depth -= 1;
        Ok(ScriptTerm { text: &self.text[start..self.at], kind })
    }

    fn read_kind(&mut self) -> ParseResult<TermKind<'a>> {
        let Some(first) = self.peek() else { return self.fail("a value") };
        match first {
            '"' | '\'' => self.read_string().map(TermKind::Text),
            '?' => {
                self.at += 1;
                Ok(TermKind::Hole)
            }
            '[' => {
                self.at += 1;
                self.read_terms(']', "`,` or `]`").map(TermKind::Square)
            }
            '{' => {
                self.at += 1;
                self.read_terms('}', "`,` or `}`").map(TermKind::Round)
            }
            '(' => {
                self.at += 1;
                self.read_terms(')', "`,` or `)`").map(TermKind::Round)
            }
            _ => self.read_word(),
        }
    }

    /// Reads a term that begins with neither a bracket nor a quote.
    fn read_word(&mut self) -> ParseResult<TermKind<'a>> {
        let word = self.take_while(is_plain);
        match word {
            "" => return self.fail("a value"),
            "hex" if self.is_quote() => return self.read_hex().map(TermKind::Hex),
            "unicode" if self.is_quote() => return self.read_string().map(TermKind::Text),
            "type" if self.peek() == Some('(') => {
                self.take_while(|it| it != ')');
                self.eat_char(')');
                self.take_while(is_plain);
                return Ok(TermKind::Plain);
            }
            _ => {}
        }
        if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            self.read_typed(word)
        } else {
            self.skip_unit();
            Ok(TermKind::Plain)
        }
    }

    /// Reads a plain word, or a type with the value that follows it.
    fn read_typed(&mut self, word: &'a str) -> ParseResult<TermKind<'a>> {
        let start = self.at - word.len();
        while self.skip_dimension() {}
        let end = self.at;
        self.skip_space();
        if self.peek().is_none_or(|next| matches!(next, ',' | ')' | ']' | '}')) {
            self.at = end;
            return Ok(TermKind::Plain);
        }
        let value = self.read_term()?;
        Ok(TermKind::Typed(&self.text[start..end], Box::new(value)))
    }

    /// Reads `[]` or `[3]`, as in an array type. Returns true if it was present.
    fn skip_dimension(&mut self) -> bool {
        let start = self.at;
        let is_open = self.eat_char('[');
        self.take_while(|it| it.is_ascii_digit());
        if is_open && self.eat_char(']') {
            return true;
        }
        self.at = start;
        false
    }

    /// Skips the unit after a number.
    fn skip_unit(&mut self) {
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

    /// Reads a string in single or double quotes, with Solidity's escapes.
    fn read_string(&mut self) -> ParseResult<Vec<u8>> {
        let quote = self.peek();
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(next) = self.peek() else { return self.fail("a closing quote") };
            self.at += next.len_utf8();
            match next {
                '\\' => self.read_escape(&mut bytes)?,
                _ if Some(next) == quote => return Ok(bytes),
                _ => bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    fn read_escape(&mut self, bytes: &mut Vec<u8>) -> ParseResult<()> {
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
                let byte = self.read_hex_digits(2).and_then(|number| u8::try_from(number).ok());
                byte.ok_or(ScriptSyntaxError { at: start, expected: r"two hex digits after \x" })?
            }
            'u' => {
                let character = self.read_hex_digits(4).and_then(char::from_u32);
                let expected = r"four hex digits of a character after \u";
                let character = character.ok_or(ScriptSyntaxError { at: start, expected })?;
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(ScriptSyntaxError { at: start, expected: EXPECTED }),
        });
        Ok(())
    }

    /// Reads exactly `count` hex digits.
    fn read_hex_digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        self.at += count;
        is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }

    /// Reads the bytes of `hex"…"`.
    fn read_hex(&mut self) -> ParseResult<Vec<u8>> {
        const EXPECTED: &str = "an even number of hex digits and a closing quote";
        let quote = self.peek();
        self.at += 1;
        let start = self.at;
        let digits = self.take_while(|it| it.is_ascii_hexdigit());
        let is_closed = self.peek() == quote;
        let bytes = alloy_primitives::hex::decode(digits).ok().filter(|_| is_closed);
        self.at += usize::from(is_closed);
        bytes.ok_or(ScriptSyntaxError { at: start, expected: EXPECTED })
    }
}

fn is_plain(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(character, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '?')
}
