//! Which type the answers of a tool are read as.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Shape, TypedError, Validated, partly_typed, typed};
use crate::offer::Offer;

type Boxed = Box<dyn Any + Send + Sync>;
type Read = Box<dyn Fn(&Value) -> Result<Boxed, TypedError> + Send + Sync>;

/// The registered types, by server and tool.
#[derive(Default)]
pub struct Parsers {
    by_tool: HashMap<(String, String), Registered>,
}

struct Registered {
    type_name: &'static str,
    read: Read,
}

impl Parsers {
    /// Reads the answers of a tool as `T`, which must take in all of them.
    pub fn register<T>(&mut self, server: &str, tool: &str)
    where
        T: DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        self.put::<T>(server, tool, Box::new(|value| Ok(Box::new(typed::<T>(value)?))));
    }

    /// Reads the answers of a tool as `T`, which may leave parts out.
    pub fn register_partial<T>(&mut self, server: &str, tool: &str)
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        self.put::<T>(server, tool, Box::new(|value| Ok(Box::new(partly_typed::<T>(value)?))));
    }

    fn put<T>(&mut self, server: &str, tool: &str, read: Read) {
        let registered = Registered { type_name: std::any::type_name::<T>(), read };
        self.by_tool.insert((server.to_owned(), tool.to_owned()), registered);
    }

    /// Reads a validated answer as the type of its tool, or as the shape that the schema describes.
    pub fn parse(&self, offer: &Offer, value: &Validated) -> Result<Parsed, TypedError> {
        let key = (offer.server.clone(), offer.tool.clone());
        let Some(Registered { type_name, read }) = self.by_tool.get(&key) else {
            let Some(schema) = &offer.contract.output else {
                return Err(TypedError::NoSchema(crate::json::short(&offer.name)));
            };
            return Shape::read(schema.as_value(), value.value()).map(Parsed::Shape);
        };
        Ok(Parsed::Typed { type_name, value: read(value.value())? })
    }
}

/// An answer as a program works with it.
pub enum Parsed {
    /// Of the registered type.
    Typed { type_name: &'static str, value: Boxed },
    /// Of the schema's own shape.
    Shape(Shape),
}

impl Parsed {
    /// The registered type, if it is `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Typed { value, .. } => value.downcast_ref(),
            Self::Shape(_) => None,
        }
    }

    pub fn shape(&self) -> Option<&Shape> {
        match self {
            Self::Typed { .. } => None,
            Self::Shape(shape) => Some(shape),
        }
    }
}

impl fmt::Debug for Parsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed { type_name, .. } => write!(out, "Typed({type_name})"),
            Self::Shape(shape) => shape.fmt(out),
        }
    }
}
