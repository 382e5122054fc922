//! The registry of types for the answers of tools.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{SchemaValue, TypedError, ValidatedOutput, parse_typed, parse_typed_partially};
use crate::offer::ToolOffer;

type BoxedOutput = Box<dyn Any + Send + Sync>;
type ParseFunction = Box<dyn Fn(&Value) -> Result<BoxedOutput, TypedError> + Send + Sync>;

/// The registered types, by server and tool.
#[derive(Default)]
pub struct OutputParsers {
    by_tool: HashMap<(String, String), RegisteredParser>,
}

/// The parser of one tool.
struct RegisteredParser {
    type_name: &'static str,
    read: ParseFunction,
}

impl OutputParsers {
    /// Parses the answers of a tool as `T`, which must keep every field.
    pub fn register<T>(&mut self, server: &str, tool: &str)
    where
        T: DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        self.insert_parser::<T>(
            server,
            tool,
            Box::new(|value| Ok(Box::new(parse_typed::<T>(value)?))),
        );
    }

    /// Parses the answers of a tool as `T`, which may drop fields.
    pub fn register_partial<T>(&mut self, server: &str, tool: &str)
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        self.insert_parser::<T>(
            server,
            tool,
            Box::new(|value| Ok(Box::new(parse_typed_partially::<T>(value)?))),
        );
    }

    fn insert_parser<T>(&mut self, server: &str, tool: &str, read: ParseFunction) {
        let registered = RegisteredParser { type_name: std::any::type_name::<T>(), read };
        self.by_tool.insert((server.to_owned(), tool.to_owned()), registered);
    }

    /// Parses a validated answer as the registered type of its tool, or as a tree that the schema describes.
    pub fn parse(
        &self,
        offer: &ToolOffer,
        value: &ValidatedOutput,
    ) -> Result<ParsedOutput, TypedError> {
        let key = (offer.server.clone(), offer.tool.clone());
        let Some(RegisteredParser { type_name, read }) = self.by_tool.get(&key) else {
            let Some(schema) = &offer.contract.output else {
                return Err(TypedError::NoSchema(crate::json::shorten_name(&offer.name)));
            };
            return SchemaValue::parse(schema.as_value(), value.value()).map(ParsedOutput::Schema);
        };
        Ok(ParsedOutput::Registered { type_name, value: read(value.value())? })
    }
}

/// A parsed answer.
pub enum ParsedOutput {
    /// A value of the registered type.
    Registered { type_name: &'static str, value: BoxedOutput },
    /// A tree that the schema describes.
    Schema(SchemaValue),
}

impl ParsedOutput {
    /// Returns the value if its registered type is `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Registered { value, .. } => value.downcast_ref(),
            Self::Schema(_) => None,
        }
    }

    /// Returns the tree if no type is registered.
    pub fn schema_value(&self) -> Option<&SchemaValue> {
        match self {
            Self::Registered { .. } => None,
            Self::Schema(shape) => Some(shape),
        }
    }
}

impl fmt::Debug for ParsedOutput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { type_name, .. } => write!(out, "Typed({type_name})"),
            Self::Schema(shape) => shape.fmt(out),
        }
    }
}
