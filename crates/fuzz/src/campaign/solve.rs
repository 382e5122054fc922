//! Computes numbers that may flip a comparison.
//!
//! Two methods cover most conditions in smart contracts. If a number of the call is one of the two operands, it is
//! replaced by the other. If not, but a step of one changes the difference, the comparison is assumed to be linear in that
//! number and solved.

use alloy_primitives::{I256, U256, U512};

use crate::chain::ObservedComparison;

/// Returns candidates for a number that is itself an operand: the other operand and its neighbors.
///
/// Returns `None` if the number is not an operand.
pub(super) fn solve_direct(comparison: &ObservedComparison, number: U256) -> Option<[U256; 3]> {
    let ObservedComparison { left, right, .. } = *comparison;
    let other = match number {
        _ if number == left => right,
        _ if number == right => left,
        _ => return None,
    };
    Some([other, other.wrapping_add(U256::ONE), other.wrapping_sub(U256::ONE)])
}

/// Returns the change of the difference between the operands.
pub(super) fn difference_slope(before: &ObservedComparison, after: &ObservedComparison) -> U256 {
    let difference =
        |comparison: &ObservedComparison| comparison.left.wrapping_sub(comparison.right);
    difference(after).wrapping_sub(difference(before))
}

/// Returns the root of the line through two observations, or `None` if both have the same difference.
///
/// Unlike a step of one, two distant points are not affected by plateaus, such as those of a division.
pub(super) fn solve_secant(
    first: (U256, &ObservedComparison),
    second: (U256, &ObservedComparison),
) -> Option<U256> {
    let signed = |it: &ObservedComparison| I256::from_raw(it.left.wrapping_sub(it.right));
    let ((near, a), (far, b)) = ((first.0, signed(first.1)), (second.0, signed(second.1)));
    let slope = b.checked_sub(a).filter(|slope| !slope.is_zero())?;
    let (run, is_left) = (far.abs_diff(near), far < near);
    // 512 bits, so that the product does not overflow before the division.
    let way = U512::from(a.unsigned_abs()) * U512::from(run) / U512::from(slope.unsigned_abs());
    let way = U256::checked_from_limbs_slice(way.as_limbs())?;
    let is_back = (a.is_negative() == slope.is_negative()) != is_left;
    Some(if is_back { near.wrapping_sub(way) } else { near.wrapping_add(way) })
}

/// Returns candidates for a number, given that increasing it by one changed `before` to `after`.
pub(super) fn solve_linear(
    before: &ObservedComparison,
    after: &ObservedComparison,
    number: U256,
) -> Vec<U256> {
    let difference = before.left.wrapping_sub(before.right);
    let slope = difference_slope(before, after);
    if slope.is_zero() {
        return Vec::new();
    }
    let mut found = Vec::with_capacity(4);
    let (signed, step) = (I256::from_raw(difference), I256::from_raw(slope));
    // `MIN / -1` overflows.
    if let Some(quotient) = signed.checked_div(step) {
        let solution = number.wrapping_sub(quotient.into_raw());
        found.extend([
            solution,
            solution.wrapping_sub(U256::ONE),
            solution.wrapping_add(U256::ONE),
        ]);
    }
    // In wrapping arithmetic an odd slope has an inverse, so there is always an exact solution.
    if let Some(inverse) = slope.inv_ring() {
        let solution = number.wrapping_sub(difference.wrapping_mul(inverse));
        if !found.contains(&solution) {
            found.push(solution);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ComparisonKind;

    fn comparison(left: u64, right: u64) -> ObservedComparison {
        let (left, right) = (U256::from(left), U256::from(right));
        let outcome = left == right;
        ObservedComparison {
            code: 0,
            offset: 0,
            kind: ComparisonKind::Equal,
            left,
            right,
            outcome,
            is_open: true,
        }
    }

    #[test]
    fn replaces_operand_by_the_other() {
        let found = solve_direct(&comparison(5, 1000), U256::from(5));
        assert_eq!(found, Some([1000, 1001, 999].map(U256::from)));
        assert_eq!(solve_direct(&comparison(5, 1000), U256::from(6)), None);
    }

    #[test]
    fn solves_rising_line() {
        // 3 x + 7 == 100 at x = 1
        let found = solve_linear(&comparison(10, 100), &comparison(13, 100), U256::from(1));
        assert!(found.contains(&U256::from(31)), "{found:?}");
    }

    #[test]
    fn solves_falling_line() {
        // 50 - 2 x == 10 at x = 5
        let found = solve_linear(&comparison(40, 10), &comparison(38, 10), U256::from(5));
        assert!(found.contains(&U256::from(20)), "{found:?}");
    }

    #[test]
    fn secant_finds_root_from_either_side() {
        // 3 x - 300 between 10 and 1000, both ways, and 300 - 3 x
        let (low, high) = (comparison(30, 300), comparison(3000, 300));
        let (ten, thousand, root) = (U256::from(10), U256::from(1000), Some(U256::from(100)));
        assert_eq!(solve_secant((ten, &low), (thousand, &high)), root);
        assert_eq!(solve_secant((thousand, &high), (ten, &low)), root);
        let (low, high) = (comparison(300, 30), comparison(300, 3000));
        assert_eq!(solve_secant((ten, &low), (thousand, &high)), root);
        assert_eq!(solve_secant((thousand, &high), (ten, &low)), root);
        assert_eq!(solve_secant((ten, &low), (thousand, &low)), None);
    }

    #[test]
    fn zero_slope_gives_no_candidates() {
        assert!(solve_linear(&comparison(40, 10), &comparison(40, 10), U256::from(5)).is_empty());
    }
}
