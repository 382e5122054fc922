//! Cheat codes that discard a call, and those without effect here.

use alloy_primitives::Bytes;

use super::table::CheatcodeEntry;
use super::{CheatcodeError, CheatcodeResult};
use crate::chain::NotRunReason;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("assume(bool)", |_, args| {
        if args.read_bool()? { return_nothing() } else { Err(CheatcodeError::Discarded) }
    }),
    (
        "skip(bool)",
        |_, args| {
            if args.read_bool()? { skip_test(String::new()) } else { return_nothing() }
        },
    ),
    ("skip(bool,string)", |_, args| {
        let skips = args.read_bool()?;
        let reason = args.read_text()?;
        if skips { skip_test(reason) } else { return_nothing() }
    }),
    // Every contract may use cheat codes.
    ("allowCheatcodes(address)", |_, _| return_nothing()),
    // There are no forks to keep accounts across, and nothing to step through.
    ("makePersistent(address)", |_, _| return_nothing()),
    ("makePersistent(address[])", |_, _| return_nothing()),
    ("breakpoint(string)", |_, _| return_nothing()),
    ("breakpoint(string,bool)", |_, _| return_nothing()),
    // Gas is limited, not metered.
    ("pauseGasMetering()", |_, _| return_nothing()),
    ("resumeGasMetering()", |_, _| return_nothing()),
];

fn skip_test(reason: String) -> CheatcodeResult {
    Err(CheatcodeError::NotRun(NotRunReason::Skipped(reason)))
}

fn return_nothing() -> CheatcodeResult {
    Ok(Bytes::new())
}
