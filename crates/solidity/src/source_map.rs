//! Source maps of solc: for each instruction the piece of source that it was made for.
//!
//! A map is a list `s:l:f:j:m;…`, one entry for each instruction in order; a field that is left out, or an entry that
//! is short, repeats the entry before. Counting instructions, not bytes, means walking over the operands of `PUSH`.

/// One entry for each instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    pub spans: Vec<Span>,
}

/// A piece of source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset in bytes.
    pub start: u32,
    pub length: u32,
    /// The number of the source; None for code that the compiler made up.
    pub source: Option<u32>,
    pub jump: Jump,
}

/// What a jump is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jump {
    /// Into a function.
    In,
    /// Out of a function.
    Out,
    /// Within one, such as a loop.
    #[default]
    Regular,
}

impl SourceMap {
    /// Reads the compressed form. What is no number counts as left out, so every text has a meaning.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let mut span = Span::default();
        let spans = text.split(';').map(|entry| {
            let mut fields = entry.split(':');
            if let Some(start) = number(fields.next()) {
                span.start = u32::try_from(start).unwrap_or(0);
            }
            if let Some(length) = number(fields.next()) {
                span.length = u32::try_from(length).unwrap_or(0);
            }
            if let Some(source) = number(fields.next()) {
                span.source = u32::try_from(source).ok();
            }
            match fields.next() {
                Some("i") => span.jump = Jump::In,
                Some("o") => span.jump = Jump::Out,
                Some("-") => span.jump = Jump::Regular,
                _ => {}
            }
            span
        });
        Self { spans: spans.collect() }
    }

    /// The span of each byte of the code that begins an instruction.
    pub fn by_offset<'a>(&'a self, code: &'a [u8]) -> impl Iterator<Item = (usize, Span)> + 'a {
        offsets(code).zip(self.spans.iter().copied())
    }
}

fn number(field: Option<&str>) -> Option<i64> {
    field?.parse().ok()
}

/// Where instructions begin.
pub fn offsets(code: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const PUSH1: u8 = 0x60;
    const PUSH32: u8 = 0x7f;
    let mut next = 0;
    std::iter::from_fn(move || {
        let offset = next;
        let opcode = *code.get(offset)?;
        let operand = if (PUSH1..=PUSH32).contains(&opcode) { opcode - PUSH1 + 1 } else { 0 };
        next += 1 + usize::from(operand);
        Some(offset)
    })
}
