//! Assertions that two numbers are approximately equal.

use alloy_primitives::{Bytes, U256, U512};

use super::args::CheatcodeArgs;
use super::assertions::read_message;
use super::table::CheatcodeEntry;
use super::{CheatcodeError, CheatcodeResult};

/// Fixed-point representation of 100 %.
const WHOLE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Difference of two Solidity numbers.
struct NumberDifference {
    left: String,
    right: String,
    distance: U256,
    /// Absolute value of the right number.
    right_size: U256,
}

type ReadDifference = fn(&mut CheatcodeArgs<'_>) -> Result<NumberDifference, CheatcodeError>;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("assertApproxEqAbs(uint256,uint256,uint256)", |_, args| {
        assert_approx_abs(args, read_unsigned, Shown { decimals: false, text: false })
    }),
    ("assertApproxEqAbs(uint256,uint256,uint256,string)", |_, args| {
        assert_approx_abs(args, read_unsigned, Shown { decimals: false, text: true })
    }),
    ("assertApproxEqAbs(int256,int256,uint256)", |_, args| {
        assert_approx_abs(args, read_signed, Shown { decimals: false, text: false })
    }),
    ("assertApproxEqAbs(int256,int256,uint256,string)", |_, args| {
        assert_approx_abs(args, read_signed, Shown { decimals: false, text: true })
    }),
    ("assertApproxEqRel(uint256,uint256,uint256)", |_, args| {
        assert_approx_rel(args, read_unsigned, Shown { decimals: false, text: false })
    }),
    ("assertApproxEqRel(uint256,uint256,uint256,string)", |_, args| {
        assert_approx_rel(args, read_unsigned, Shown { decimals: false, text: true })
    }),
    ("assertApproxEqRel(int256,int256,uint256)", |_, args| {
        assert_approx_rel(args, read_signed, Shown { decimals: false, text: false })
    }),
    ("assertApproxEqRel(int256,int256,uint256,string)", |_, args| {
        assert_approx_rel(args, read_signed, Shown { decimals: false, text: true })
    }),
    ("assertApproxEqAbsDecimal(uint256,uint256,uint256,uint256)", |_, args| {
        assert_approx_abs(args, read_unsigned, Shown { decimals: true, text: false })
    }),
    ("assertApproxEqAbsDecimal(uint256,uint256,uint256,uint256,string)", |_, args| {
        assert_approx_abs(args, read_unsigned, Shown { decimals: true, text: true })
    }),
    ("assertApproxEqAbsDecimal(int256,int256,uint256,uint256)", |_, args| {
        assert_approx_abs(args, read_signed, Shown { decimals: true, text: false })
    }),
    ("assertApproxEqAbsDecimal(int256,int256,uint256,uint256,string)", |_, args| {
        assert_approx_abs(args, read_signed, Shown { decimals: true, text: true })
    }),
    ("assertApproxEqRelDecimal(uint256,uint256,uint256,uint256)", |_, args| {
        assert_approx_rel(args, read_unsigned, Shown { decimals: true, text: false })
    }),
    ("assertApproxEqRelDecimal(uint256,uint256,uint256,uint256,string)", |_, args| {
        assert_approx_rel(args, read_unsigned, Shown { decimals: true, text: true })
    }),
    ("assertApproxEqRelDecimal(int256,int256,uint256,uint256)", |_, args| {
        assert_approx_rel(args, read_signed, Shown { decimals: true, text: false })
    }),
    ("assertApproxEqRelDecimal(int256,int256,uint256,uint256,string)", |_, args| {
        assert_approx_rel(args, read_signed, Shown { decimals: true, text: true })
    }),
];

/// Arguments that follow the numbers.
#[derive(Clone, Copy)]
struct Shown {
    /// A number of decimals. Messages have numbers without a decimal point.
    decimals: bool,
    text: bool,
}

impl Shown {
    fn read_message(self, args: &mut CheatcodeArgs<'_>) -> Result<String, CheatcodeError> {
        if self.decimals {
            args.read_uint()?;
        }
        read_message(args, self.text)
    }
}

fn read_unsigned(args: &mut CheatcodeArgs<'_>) -> Result<NumberDifference, CheatcodeError> {
    let (left, right) = (args.read_uint()?, args.read_uint()?);
    Ok(NumberDifference {
        left: left.to_string(),
        right: right.to_string(),
        distance: left.abs_diff(right),
        right_size: right,
    })
}

fn read_signed(args: &mut CheatcodeArgs<'_>) -> Result<NumberDifference, CheatcodeError> {
    let (left, right) = (args.read_int()?, args.read_int()?);
    let (left_size, right_size) = (left.unsigned_abs(), right.unsigned_abs());
    let distance = if left.is_negative() == right.is_negative() {
        left_size.abs_diff(right_size)
    } else {
        // Neither exceeds half of the range.
        left_size.saturating_add(right_size)
    };
    Ok(NumberDifference { left: left.to_string(), right: right.to_string(), distance, right_size })
}

fn assert_approx_abs(
    args: &mut CheatcodeArgs<'_>,
    read: ReadDifference,
    shown: Shown,
) -> CheatcodeResult {
    let (difference, max) = (read(args)?, args.read_uint()?);
    if difference.distance <= max {
        return Ok(Bytes::new());
    }
    let by = difference.distance;
    Err(difference.to_error(&shown.read_message(args)?, &format!("difference {by} exceeds {max}")))
}

fn assert_approx_rel(
    args: &mut CheatcodeArgs<'_>,
    read: ReadDifference,
    shown: Shown,
) -> CheatcodeResult {
    let (difference, max) = (read(args)?, args.read_uint()?);
    // Twice as wide, to avoid overflow.
    let wide = |number: U256| U512::from(number);
    let scaled = wide(difference.distance) * wide(WHOLE);
    let share = scaled.checked_div(wide(difference.right_size));
    let is_near = match share {
        Some(share) => share <= wide(max),
        // The relative difference to zero is undefined; only zero is equal to it.
        None => difference.distance.is_zero(),
    };
    if is_near {
        return Ok(Bytes::new());
    }
    let why = match share {
        Some(share) => format!("relative difference {share} / 1e18 exceeds {max} / 1e18"),
        None => "only 0 is approximately 0".to_owned(),
    };
    Err(difference.to_error(&shown.read_message(args)?, &why))
}

impl NumberDifference {
    fn to_error(&self, text: &str, why: &str) -> CheatcodeError {
        CheatcodeError::AssertionFailed(format!("{text}: {} !~= {} ({why})", self.left, self.right))
    }
}
