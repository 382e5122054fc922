//! Reads the value of one key as the type that it must have.

use std::num::NonZeroUsize;
use std::str::FromStr;

use alloy_primitives::{Address, U256};

use super::UnknownChoiceError;
use super::echidna_yaml::EchidnaConfigError;
use super::number;
use super::yaml::{YamlEntry, YamlNode, YamlValue};

/// Maximum characters of an invalid value that an error shows.
const SHOWN: usize = 40;

/// A value with its key, for error messages.
#[derive(Clone, Copy)]
pub(super) struct ConfigField<'a> {
    pub(super) key: &'a str,
    pub(super) node: &'a YamlNode,
}

impl<'a> ConfigField<'a> {
    pub(super) fn read_bool(self) -> Result<bool, EchidnaConfigError> {
        let YamlValue::Plain(word) = &self.node.value else {
            return Err(self.invalid_value("true or false without quotes"));
        };
        match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true),
            "false" | "no" | "off" => Ok(false),
            _ => Err(self.invalid_value("true or false")),
        }
    }

    pub(super) fn read_string(self) -> Result<String, EchidnaConfigError> {
        Ok(self.node.text().ok_or_else(|| self.invalid_value("a string"))?.to_owned())
    }

    pub(super) fn read_choice<T: FromStr<Err = UnknownChoiceError>>(
        self,
    ) -> Result<T, EchidnaConfigError> {
        self.read_string()?.parse().map_err(|error: UnknownChoiceError| {
            self.invalid_value(&format!("one of {}", error.choices))
        })
    }

    pub(super) fn read_number(self) -> Result<U256, EchidnaConfigError> {
        let number = self.node.text().and_then(number::parse_number);
        number.ok_or_else(|| self.invalid_value("a whole number of at most 256 bits"))
    }

    pub(super) fn read_count(self) -> Result<u64, EchidnaConfigError> {
        let number = self.node.text().and_then(number::parse_number);
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.invalid_value(&format!("a whole number from 0 to {}", u64::MAX)))
    }

    pub(super) fn read_gas_price(self) -> Result<u128, EchidnaConfigError> {
        u128::try_from(self.read_number()?)
            .map_err(|_| self.invalid_value("a number of at most 128 bits"))
    }

    /// Reads a count of at least 1.
    pub(super) fn read_positive(self) -> Result<NonZeroUsize, EchidnaConfigError> {
        let count = usize::try_from(self.read_count()?).ok().and_then(NonZeroUsize::new);
        count.ok_or_else(|| self.invalid_value("at least 1"))
    }

    /// Reads a count, or None for 0.
    pub(super) fn read_optional_count(self) -> Result<Option<NonZeroUsize>, EchidnaConfigError> {
        if self.read_count()? == 0 { Ok(None) } else { self.read_positive().map(Some) }
    }

    /// Reads a number from 0 to 1.
    pub(super) fn read_fraction(self) -> Result<f64, EchidnaConfigError> {
        let number = self.node.text().and_then(|text| text.parse::<f64>().ok());
        let number = number.filter(|number| (0.0..=1.0).contains(number));
        number.ok_or_else(|| self.invalid_value("a number from 0 to 1"))
    }

    /// Reads an address. The prefix `0x` is optional only in quotes, where a decimal number is not expected.
    pub(super) fn read_address(self) -> Result<Address, EchidnaConfigError> {
        let address = match &self.node.value {
            YamlValue::Text(text) => {
                number::parse_address(text).or_else(|| number::parse_address(&format!("0x{text}")))
            }
            _ => self.node.text().and_then(number::parse_address),
        };
        address.ok_or_else(|| {
            self.invalid_value("an address of at most 40 digits such as \"0x10000\"")
        })
    }

    /// Reads an address where a contract can be deployed.
    pub(super) fn read_deploy_address(self) -> Result<Address, EchidnaConfigError> {
        let address = self.read_address()?;
        if is_precompile(address) {
            return Err(self.invalid_value("an address that is not reserved for a precompile"));
        }
        Ok(address)
    }

    pub(super) fn read_bytes(self) -> Result<Vec<u8>, EchidnaConfigError> {
        let text = self.read_string()?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        alloy_primitives::hex::decode(digits).map_err(|_| self.invalid_value("bytes in hex"))
    }

    /// Reads the elements of a list with `read`.
    pub(super) fn read_list<T>(
        self,
        expected: &str,
        read: impl Fn(ConfigField<'a>) -> Result<T, EchidnaConfigError>,
    ) -> Result<Vec<T>, EchidnaConfigError> {
        let YamlValue::List(items) = &self.node.value else {
            return Err(self.invalid_value(expected));
        };
        items.iter().map(|node| read(ConfigField { key: self.key, node })).collect()
    }

    /// Reads both elements of a pair.
    pub(super) fn read_pair(
        self,
        expected: &str,
    ) -> Result<[ConfigField<'a>; 2], EchidnaConfigError> {
        self.read_list(expected, Ok)?.try_into().map_err(|_| self.invalid_value(expected))
    }

    pub(super) fn map_entries(self) -> Option<&'a [YamlEntry]> {
        match &self.node.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn invalid_value(self, expected: &str) -> EchidnaConfigError {
        EchidnaConfigError::InvalidValue {
            line: self.node.line,
            key: self.key.to_owned(),
            expected: expected.to_owned(),
            found: format_node(self.node),
        }
    }
}

/// Returns true for the precompiles up to Cancun, 0x01 to 0x0a. Projects written before Prague place contracts at the
/// addresses of later ones; the code there is run instead.
fn is_precompile(address: Address) -> bool {
    let number = U256::from_be_slice(address.as_slice());
    (U256::ONE..=U256::from(0x0a)).contains(&number)
}

/// Formats a value for an error, truncated.
fn format_node(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::List(_) => "a list".to_owned(),
        YamlValue::Map(_) => "a map".to_owned(),
        YamlValue::Plain(text) | YamlValue::Text(text) => {
            let short: String = text.chars().take(SHOWN).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            format!("`{}{more}`", short.escape_debug())
        }
    }
}
