//! Cheat codes that parse and change strings.

use alloy_primitives::{Address, B256, I256, U256, hex};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeError, encoding};

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("parseUint(string)", |_, args| {
        let number = read_parsed(args, "an unsigned integer", |text| match hex_digits(text) {
            Some(digits) => U256::from_str_radix(digits, 16).ok(),
            None => U256::from_str_radix(text, 10).ok(),
        })?;
        Ok(encoding::encode_word(number))
    }),
    ("parseInt(string)", |_, args| {
        let number = read_parsed(args, "an integer", |text| text.parse::<I256>().ok())?;
        Ok(encoding::encode_word(number.into_raw()))
    }),
    ("parseAddress(string)", |_, args| {
        let address = read_parsed(args, "an address", |text| text.parse::<Address>().ok())?;
        Ok(encoding::encode_address(address))
    }),
    ("parseBool(string)", |_, args| {
        let flag = read_parsed(args, "true or false", |text| text.parse::<bool>().ok())?;
        Ok(encoding::encode_word(U256::from(flag)))
    }),
    ("parseBytes32(string)", |_, args| {
        let word = read_parsed(args, "32 bytes in hex", |text| text.parse::<B256>().ok())?;
        Ok(encoding::encode_word(word))
    }),
    ("parseBytes(string)", |_, args| {
        let bytes = read_parsed(args, "bytes in hex", |text| hex::decode(text).ok())?;
        Ok(encoding::encode_bytes(&bytes))
    }),
    ("toLowercase(string)", |_, args| {
        Ok(encoding::encode_string(&args.read_text()?.to_lowercase()))
    }),
    ("toUppercase(string)", |_, args| {
        Ok(encoding::encode_string(&args.read_text()?.to_uppercase()))
    }),
    ("trim(string)", |_, args| Ok(encoding::encode_string(args.read_text()?.trim()))),
    ("contains(string,string)", |_, args| {
        let (text, part) = (args.read_text()?, args.read_text()?);
        Ok(encoding::encode_word(U256::from(text.contains(&part))))
    }),
    ("indexOf(string,string)", |_, args| {
        let (text, part) = (args.read_text()?, args.read_text()?);
        Ok(encoding::encode_word(text.find(&part).map_or(U256::MAX, U256::from)))
    }),
];

fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x")
}

/// Reads a string and parses it without the space around it.
fn read_parsed<T>(
    args: &mut CheatcodeArgs<'_>,
    kind: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, CheatcodeError> {
    const SHOWN: usize = 80;
    let text = args.read_text()?;
    parse(text.trim()).ok_or_else(|| {
        let text: String = text.chars().take(SHOWN).collect();
        CheatcodeError::InvalidUse(format!("expected {kind}, not `{text}`"))
    })
}
