//! Cheat codes that write values as text.

use alloy_primitives::hex;

use super::answer;
use super::table::Entry;

pub(super) const TABLE: &[Entry] = &[
    ("toString(address)", |_, args| Ok(answer::text(&args.address()?.to_string()))),
    ("toString(uint256)", |_, args| Ok(answer::text(&args.uint()?.to_string()))),
    ("toString(int256)", |_, args| Ok(answer::text(&args.int()?.to_string()))),
    ("toString(bool)", |_, args| Ok(answer::text(&args.bool()?.to_string()))),
    ("toString(bytes32)", |_, args| Ok(answer::text(&args.word()?.to_string()))),
    ("toString(bytes)", |_, args| Ok(answer::text(&hex::encode_prefixed(args.bytes()?)))),
];
