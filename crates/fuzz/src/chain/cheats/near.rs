//! Assertions that two numbers are almost the same.

use alloy_primitives::{Bytes, U256, U512};

use super::args::Args;
use super::assertions::text;
use super::table::Entry;
use super::{Answer, Refusal};

/// What stands for the whole in a share.
const WHOLE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// How two numbers of Solidity differ.
struct Difference {
    left: String,
    right: String,
    distance: U256,
    /// The size of the right one, without its sign.
    right_size: U256,
}

type Read = fn(&mut Args<'_>) -> Result<Difference, Refusal>;

pub(super) const TABLE: &[Entry] = &[
    ("assertApproxEqAbs(uint256,uint256,uint256)", |_, args| absolute(args, unsigned, false)),
    ("assertApproxEqAbs(uint256,uint256,uint256,string)", |_, args| absolute(args, unsigned, true)),
    ("assertApproxEqAbs(int256,int256,uint256)", |_, args| absolute(args, signed, false)),
    ("assertApproxEqAbs(int256,int256,uint256,string)", |_, args| absolute(args, signed, true)),
    ("assertApproxEqRel(uint256,uint256,uint256)", |_, args| relative(args, unsigned, false)),
    ("assertApproxEqRel(uint256,uint256,uint256,string)", |_, args| relative(args, unsigned, true)),
    ("assertApproxEqRel(int256,int256,uint256)", |_, args| relative(args, signed, false)),
    ("assertApproxEqRel(int256,int256,uint256,string)", |_, args| relative(args, signed, true)),
];

fn unsigned(args: &mut Args<'_>) -> Result<Difference, Refusal> {
    let (left, right) = (args.uint()?, args.uint()?);
    Ok(Difference {
        left: left.to_string(),
        right: right.to_string(),
        distance: left.abs_diff(right),
        right_size: right,
    })
}

fn signed(args: &mut Args<'_>) -> Result<Difference, Refusal> {
    let (left, right) = (args.int()?, args.int()?);
    let (left_size, right_size) = (left.unsigned_abs(), right.unsigned_abs());
    let distance = if left.is_negative() == right.is_negative() {
        left_size.abs_diff(right_size)
    } else {
        // Neither is larger than half of what fits.
        left_size.saturating_add(right_size)
    };
    Ok(Difference { left: left.to_string(), right: right.to_string(), distance, right_size })
}

fn absolute(args: &mut Args<'_>, read: Read, has_text: bool) -> Answer {
    let (difference, max) = (read(args)?, args.uint()?);
    if difference.distance <= max {
        return Ok(Bytes::new());
    }
    let by = difference.distance;
    Err(difference.refuse(&text(args, has_text)?, &format!("they differ by {by}, more than {max}")))
}

fn relative(args: &mut Args<'_>, read: Read, has_text: bool) -> Answer {
    let (difference, max) = (read(args)?, args.uint()?);
    // Twice as wide, so that nothing overflows.
    let wide = |number: U256| U512::from(number);
    let scaled = wide(difference.distance) * wide(WHOLE);
    let share = scaled.checked_div(wide(difference.right_size));
    let is_near = match share {
        Some(share) => share <= wide(max),
        // Nothing is a share of zero but zero.
        None => difference.distance.is_zero(),
    };
    if is_near {
        return Ok(Bytes::new());
    }
    let why = match share {
        Some(share) => format!("they differ by {share} / 1e18, more than {max} / 1e18"),
        None => "only 0 is near 0".to_owned(),
    };
    Err(difference.refuse(&text(args, has_text)?, &why))
}

impl Difference {
    fn refuse(&self, text: &str, why: &str) -> Refusal {
        Refusal::Broken(format!("{text}: {} !~= {} ({why})", self.left, self.right))
    }
}
