//! Constructor arguments by name, written as in JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use alloy_json_abi::Param;
use alloy_primitives::Address;
use solidity::SolidityContract;

use crate::config::yaml::{YamlNode, YamlValue};
use crate::deploy::DeployError;

/// Refers to a deployed contract by its name instead of its address.
const DEPLOYED: &str = "DeployedContract:";

/// A value of a constructor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MedusaValue {
    /// A string, or a number or boolean as written.
    Scalar(String),
    List(Vec<MedusaValue>),
    /// The fields of a struct.
    Fields(Vec<(String, MedusaValue)>),
}

impl MedusaValue {
    pub(super) fn from_node(node: &YamlNode) -> Self {
        match &node.value {
            YamlValue::Plain(text) | YamlValue::Text(text) => Self::Scalar(text.clone()),
            YamlValue::List(items) => Self::List(items.iter().map(Self::from_node).collect()),
            YamlValue::Map(entries) => {
                let fields = entries.iter().map(|it| (it.key.clone(), Self::from_node(&it.value)));
                Self::Fields(fields.collect())
            }
        }
    }
}

/// Returns the arguments of a constructor in their order, written as in Solidity.
pub(super) fn write_arguments(
    contract: &SolidityContract,
    values: &[(String, MedusaValue)],
    addresses: &BTreeMap<&str, Address>,
) -> Result<Vec<String>, DeployError> {
    let inputs = contract.abi.constructor.as_ref().map_or(&[][..], |it| &it.inputs);
    if inputs.len() != values.len() {
        let (expected, given) = (inputs.len(), values.len());
        return Err(DeployError::ArgumentCount {
            contract: contract.name.clone(),
            expected,
            given,
        });
    }
    let writer = ArgumentWriter { addresses };
    let write = |input: &Param| {
        let wrong = |reason: String| DeployError::InvalidArgument {
            contract: contract.name.clone(),
            argument: input.name.clone(),
            ty: input.selector_type().into_owned(),
            reason,
        };
        let value = values.iter().find(|(name, _)| *name == input.name);
        let (_, value) =
            value.ok_or_else(|| wrong("it is missing in `constructorArgs`".to_owned()))?;
        let mut text = String::new();
        writer.write_value(&input.ty, &input.components, value, &mut text).map_err(wrong)?;
        Ok(text)
    };
    inputs.iter().map(write).collect()
}

struct ArgumentWriter<'a> {
    addresses: &'a BTreeMap<&'a str, Address>,
}

impl ArgumentWriter<'_> {
    fn write_value(
        &self,
        ty: &str,
        components: &[Param],
        value: &MedusaValue,
        text: &mut String,
    ) -> Result<(), String> {
        match (ty.strip_suffix(']').and_then(|it| it.rsplit_once('[')), value) {
            (Some((element, _)), MedusaValue::List(items)) => {
                text.push('[');
                for (number, item) in items.iter().enumerate() {
                    text.push_str(if number > 0 { ", " } else { "" });
                    self.write_value(element, components, item, text)?;
                }
                text.push(']');
                Ok(())
            }
            (None, MedusaValue::Fields(fields)) if ty == "tuple" => {
                text.push('(');
                for (number, component) in components.iter().enumerate() {
                    text.push_str(if number > 0 { ", " } else { "" });
                    let field = fields.iter().find(|(name, _)| *name == component.name);
                    let (_, field) =
                        field.ok_or_else(|| format!("field `{}` is missing", component.name))?;
                    self.write_value(&component.ty, &component.components, field, text)?;
                }
                text.push(')');
                Ok(())
            }
            (None, MedusaValue::Scalar(scalar)) if ty != "tuple" => {
                self.write_scalar(ty, scalar, text)
            }
            _ => Err(format!("expected {}", describe_shape(ty))),
        }
    }

    fn write_scalar(&self, ty: &str, scalar: &str, text: &mut String) -> Result<(), String> {
        if let Some(name) = scalar.strip_prefix(DEPLOYED).filter(|_| ty == "address") {
            let address = self.addresses.get(name);
            let address = address
                .ok_or_else(|| format!("contract `{}` is not deployed", name.escape_debug()))?;
            text.push_str(&address.to_string());
        } else if ty == "string" {
            text.push('"');
            for c in scalar.chars() {
                match c {
                    '"' | '\\' => text.extend(['\\', c]),
                    c if c.is_ascii_control() => drop(write!(text, "\\x{:02x}", c as u32)),
                    c => text.push(c),
                }
            }
            text.push('"');
        } else if ty.starts_with("bytes") {
            text.push_str("0x");
            text.push_str(scalar.trim_start_matches("0x"));
        } else {
            text.push_str(scalar);
        }
        Ok(())
    }
}

fn describe_shape(ty: &str) -> &'static str {
    match ty {
        _ if ty.ends_with(']') => "a list",
        "tuple" => "a map of its fields",
        _ => "a single value",
    }
}
