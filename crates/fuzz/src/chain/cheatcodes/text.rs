//! Cheat codes that format values as strings.

use alloy_primitives::hex;

use super::encoding;
use super::table::CheatcodeEntry;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("toString(address)", |_, args| Ok(encoding::encode_string(&args.read_address()?.to_string()))),
    ("toString(uint256)", |_, args| Ok(encoding::encode_string(&args.read_uint()?.to_string()))),
    ("toString(int256)", |_, args| Ok(encoding::encode_string(&args.read_int()?.to_string()))),
    ("toString(bool)", |_, args| Ok(encoding::encode_string(&args.read_bool()?.to_string()))),
    ("toString(bytes32)", |_, args| Ok(encoding::encode_string(&args.read_word()?.to_string()))),
    ("toString(bytes)", |_, args| {
        Ok(encoding::encode_string(&hex::encode_prefixed(args.read_bytes()?)))
    }),
];
