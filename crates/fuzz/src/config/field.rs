//! One key with its value, read as the type that it must have.

use std::num::NonZeroUsize;
use std::str::FromStr;

use alloy_primitives::{Address, U256};

use super::NoSuchChoice;
use super::echidna_yaml::ConfigError;
use super::number;
use super::yaml::{Entry, Node, Yaml};

/// How much of a wrong value an error shows.
const SHOWN: usize = 40;

/// A value and the key that an error about it names.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) key: &'a str,
    pub(super) node: &'a Node,
}

impl<'a> Field<'a> {
    pub(super) fn flag(self) -> Result<bool, ConfigError> {
        let Yaml::Plain(word) = &self.node.value else {
            return Err(self.wrong("true or false without quotes"));
        };
        match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true),
            "false" | "no" | "off" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    pub(super) fn text(self) -> Result<String, ConfigError> {
        Ok(self.node.text().ok_or_else(|| self.wrong("text"))?.to_owned())
    }

    pub(super) fn choice<T: FromStr<Err = NoSuchChoice>>(self) -> Result<T, ConfigError> {
        self.text()?
            .parse()
            .map_err(|error: NoSuchChoice| self.wrong(&format!("one of {}", error.choices)))
    }

    pub(super) fn number(self) -> Result<U256, ConfigError> {
        let number = self.node.text().and_then(number::parse);
        number.ok_or_else(|| self.wrong("a whole number of at most 256 bits"))
    }

    pub(super) fn count(self) -> Result<u64, ConfigError> {
        let number = self.node.text().and_then(number::parse);
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.wrong(&format!("a whole number from 0 to {}", u64::MAX)))
    }

    pub(super) fn price(self) -> Result<u128, ConfigError> {
        u128::try_from(self.number()?).map_err(|_| self.wrong("a number of at most 128 bits"))
    }

    /// A number of things of which there must be one.
    pub(super) fn positive(self) -> Result<NonZeroUsize, ConfigError> {
        let count = usize::try_from(self.count()?).ok().and_then(NonZeroUsize::new);
        count.ok_or_else(|| self.wrong("at least 1"))
    }

    /// A number of things, or none said.
    pub(super) fn maybe_positive(self) -> Result<Option<NonZeroUsize>, ConfigError> {
        if self.count()? == 0 { Ok(None) } else { self.positive().map(Some) }
    }

    /// A number from 0 to 1.
    pub(super) fn fraction(self) -> Result<f64, ConfigError> {
        let number = self.node.text().and_then(|text| text.parse::<f64>().ok());
        let number = number.filter(|number| (0.0..=1.0).contains(number));
        number.ok_or_else(|| self.wrong("a number from 0 to 1"))
    }

    /// An address; without `0x` only in quotes, where Echidna reads hex, too, and nobody expects a decimal number.
    pub(super) fn address(self) -> Result<Address, ConfigError> {
        let address = match &self.node.value {
            Yaml::Text(text) => {
                number::parse_address(text).or_else(|| number::parse_address(&format!("0x{text}")))
            }
            _ => self.node.text().and_then(number::parse_address),
        };
        address.ok_or_else(|| self.wrong("an address of at most 40 digits such as \"0x10000\""))
    }

    /// An address that a contract can be put at.
    pub(super) fn place(self) -> Result<Address, ConfigError> {
        let address = self.address()?;
        if is_precompile(address) {
            return Err(self.wrong("an address that is not reserved for a precompiled contract"));
        }
        Ok(address)
    }

    pub(super) fn bytes(self) -> Result<Vec<u8>, ConfigError> {
        let text = self.text()?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        alloy_primitives::hex::decode(digits).map_err(|_| self.wrong("bytes in hex"))
    }

    /// The elements of a list, each read by `read`.
    pub(super) fn list<T>(
        self,
        expected: &str,
        read: impl Fn(Field<'a>) -> Result<T, ConfigError>,
    ) -> Result<Vec<T>, ConfigError> {
        let Yaml::List(items) = &self.node.value else { return Err(self.wrong(expected)) };
        items.iter().map(|node| read(Field { key: self.key, node })).collect()
    }

    /// Both parts of a pair.
    pub(super) fn pair(self, expected: &str) -> Result<[Field<'a>; 2], ConfigError> {
        self.list(expected, Ok)?.try_into().map_err(|_| self.wrong(expected))
    }

    pub(super) fn entries(self) -> Option<&'a [Entry]> {
        match &self.node.value {
            Yaml::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn wrong(self, expected: &str) -> ConfigError {
        ConfigError::Value {
            line: self.node.line,
            key: self.key.to_owned(),
            expected: expected.to_owned(),
            found: show(self.node),
        }
    }
}

/// Ethereum's precompiled contracts lie at 0x01 to 0x11 and at 0x100.
fn is_precompile(address: Address) -> bool {
    let number = U256::from_be_slice(address.as_slice());
    (U256::ONE..=U256::from(0x11)).contains(&number) || number == U256::from(0x100)
}

/// A value, short enough for an error.
fn show(node: &Node) -> String {
    match &node.value {
        Yaml::List(_) => "a list".to_owned(),
        Yaml::Map(_) => "a map".to_owned(),
        Yaml::Plain(text) | Yaml::Text(text) => {
            let short: String = text.chars().take(SHOWN).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            format!("`{}{more}`", short.escape_debug())
        }
    }
}
