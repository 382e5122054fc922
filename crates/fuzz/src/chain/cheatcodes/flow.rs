//! Cheat codes that discard a call, and those without effect here.

use alloy_primitives::{Bytes, U256};

use super::table::CheatcodeEntry;
use super::{CheatcodeError, CheatcodeResult, encoding};
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
    // There is nothing to step through.
    ("breakpoint(string)", |_, _| return_nothing()),
    ("breakpoint(string,bool)", |_, _| return_nothing()),
    // Tests run, without a report of coverage or gas, and without a broadcast.
    ("isContext(uint8)", |_, args| {
        const TESTS: [u8; 2] = [0, 1];
        let context = args.read_small::<u8>("a context")?;
        Ok(encoding::encode_word(U256::from(TESTS.contains(&context))))
    }),
    ("bound(uint256,uint256,uint256)", |_, args| {
        let (value, low, high) = (args.read_uint()?, args.read_uint()?, args.read_uint()?);
        if low > high {
            return Err(CheatcodeError::InvalidUse("the minimum is above the maximum".to_owned()));
        }
        // A span of all numbers has one more than fits.
        let offset = match (high - low).checked_add(U256::ONE) {
            Some(span) => value % span,
            None => value,
        };
        let is_inside = (low..=high).contains(&value);
        Ok(encoding::encode_word(if is_inside { value } else { low + offset }))
    }),
    // There are no traces to leave calls out of.
    ("pauseTracing()", |_, _| return_nothing()),
    ("resumeTracing()", |_, _| return_nothing()),
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
