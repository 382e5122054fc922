//! Cheat codes that discard a call, and those without effect here.

use alloy_primitives::Bytes;

use super::table::CheatcodeEntry;
use super::{CheatcodeError, CheatcodeResult};

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("assume(bool)", |_, args| {
        if args.read_bool()? { return_nothing() } else { Err(CheatcodeError::Discarded) }
    }),
    ("skip(bool)", |_, args| {
        if args.read_bool()? { Err(CheatcodeError::Discarded) } else { return_nothing() }
    }),
    ("skip(bool,string)", |_, args| {
        if args.read_bool()? { Err(CheatcodeError::Discarded) } else { return_nothing() }
    }),
    // Every contract may use cheat codes.
    ("allowCheatcodes(address)", |_, _| return_nothing()),
    // Gas is limited, not metered.
    ("pauseGasMetering()", |_, _| return_nothing()),
    ("resumeGasMetering()", |_, _| return_nothing()),
];

fn return_nothing() -> CheatcodeResult {
    Ok(Bytes::new())
}
