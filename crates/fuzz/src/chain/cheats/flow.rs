//! Cheat codes that decide whether a call counts, and those that have nothing to do here.

use alloy_primitives::Bytes;

use super::table::Entry;
use super::{Answer, Refusal};

pub(super) const TABLE: &[Entry] = &[
    ("assume(bool)", |_, args| if args.bool()? { nothing() } else { Err(Refusal::Discarded) }),
    ("skip(bool)", |_, args| if args.bool()? { Err(Refusal::Discarded) } else { nothing() }),
    ("skip(bool,string)", |_, args| if args.bool()? { Err(Refusal::Discarded) } else { nothing() }),
    // Every contract may cheat.
    ("allowCheatcodes(address)", |_, _| nothing()),
    // Gas is limited, not measured.
    ("pauseGasMetering()", |_, _| nothing()),
    ("resumeGasMetering()", |_, _| nothing()),
];

fn nothing() -> Answer {
    Ok(Bytes::new())
}
