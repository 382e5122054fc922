//! ABI types, ABI values, and their encoding.
//!
//! [`AbiType`] and [`AbiValue`] are small because they are created, mutated and encoded a million times a second. The
//! general `DynSolValue` of `alloy-dyn-abi` costs as much to encode as a small smart contract costs to run. Formatting as
//! text, which is not performance-critical, is in [`text`].

mod decode;
mod encode;
pub mod text;
mod types;
mod value;

pub use decode::decode_values;
pub use encode::encode_call;
pub(crate) use encode::encode_call_into;
pub use types::{AbiType, UnknownAbiType};
pub use value::{AbiValue, clamp_to_type};
