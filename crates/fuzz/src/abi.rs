//! What calls are made of: the types of the ABI, values of them, and the bytes that carry them.
//!
//! [`Type`] and [`Value`] are plain and small because they are made, changed and encoded a million times a second; the
//! general `DynSolValue` of `alloy-dyn-abi` costs as much to encode as a small contract costs to run. Reading and
//! printing text, where speed does not count, is in [`text`].

mod decode;
mod encode;
pub mod text;
mod types;
mod value;

pub use decode::decode;
pub use encode::encode;
pub(crate) use encode::encode_into;
pub use types::{Type, UnknownType};
pub use value::{Value, clamp};
