//! Numbers that may turn a comparison round.
//!
//! Two observations suffice for most conditions that contracts have. If a number of the call is one of the two that are
//! compared, the other one takes its place. If it is not, but a step of one changes the difference, the comparison is
//! taken for linear in that number, and solved.

use alloy_primitives::{I256, U256, U512};

use crate::chain::Comparison;

/// What to try for a number that is itself compared: the other side, and its neighbours.
pub(super) fn direct(comparison: &Comparison, number: U256) -> Option<[U256; 3]> {
    let Comparison { left, right, .. } = *comparison;
    let other = match number {
        _ if number == left => right,
        _ if number == right => left,
        _ => return None,
    };
    Some([other, other.wrapping_add(U256::ONE), other.wrapping_sub(U256::ONE)])
}

/// How much the difference grew from one to the other.
pub(super) fn slope(before: &Comparison, after: &Comparison) -> U256 {
    let difference = |comparison: &Comparison| comparison.left.wrapping_sub(comparison.right);
    difference(after).wrapping_sub(difference(before))
}

/// Where the line through two observations crosses zero; None if both say the same.
///
/// Unlike a step of one, two distant points see through plateaus, such as those of a division.
pub(super) fn secant(first: (U256, &Comparison), second: (U256, &Comparison)) -> Option<U256> {
    let signed = |it: &Comparison| I256::from_raw(it.left.wrapping_sub(it.right));
    let ((near, a), (far, b)) = ((first.0, signed(first.1)), (second.0, signed(second.1)));
    let slope = b.checked_sub(a).filter(|slope| !slope.is_zero())?;
    let (run, is_left) = (far.abs_diff(near), far < near);
    // Twice as wide, so that nothing is lost before it is divided.
    let way = U512::from(a.unsigned_abs()) * U512::from(run) / U512::from(slope.unsigned_abs());
    let way = U256::checked_from_limbs_slice(way.as_limbs())?;
    let is_back = (a.is_negative() == slope.is_negative()) != is_left;
    Some(if is_back { near.wrapping_sub(way) } else { near.wrapping_add(way) })
}

/// What to try for a number of which a step of one was seen to lead from `before` to `after`.
pub(super) fn linear(before: &Comparison, after: &Comparison, number: U256) -> Vec<U256> {
    let difference = before.left.wrapping_sub(before.right);
    let slope = slope(before, after);
    if slope.is_zero() {
        return Vec::new();
    }
    let mut found = Vec::with_capacity(4);
    let (signed, step) = (I256::from_raw(difference), I256::from_raw(slope));
    // `MIN / -1` has no quotient.
    if let Some(quotient) = signed.checked_div(step) {
        let solution = number.wrapping_sub(quotient.into_raw());
        found.extend([
            solution,
            solution.wrapping_sub(U256::ONE),
            solution.wrapping_add(U256::ONE),
        ]);
    }
    // In arithmetic that wraps, an odd slope has an inverse, so there is always an exact solution.
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
    use crate::chain::Kind;

    fn comparison(left: u64, right: u64) -> Comparison {
        let (left, right) = (U256::from(left), U256::from(right));
        let outcome = left == right;
        Comparison { code: 0, offset: 0, kind: Kind::Equal, left, right, outcome, is_open: true }
    }

    #[test]
    fn the_other_side_takes_the_place() {
        let found = direct(&comparison(5, 1000), U256::from(5));
        assert_eq!(found, Some([1000, 1001, 999].map(U256::from)));
        assert_eq!(direct(&comparison(5, 1000), U256::from(6)), None);
    }

    #[test]
    fn a_line_is_solved() {
        // 3 x + 7 == 100 at x = 1
        let found = linear(&comparison(10, 100), &comparison(13, 100), U256::from(1));
        assert!(found.contains(&U256::from(31)), "{found:?}");
    }

    #[test]
    fn a_falling_line_is_solved() {
        // 50 - 2 x == 10 at x = 5
        let found = linear(&comparison(40, 10), &comparison(38, 10), U256::from(5));
        assert!(found.contains(&U256::from(20)), "{found:?}");
    }

    #[test]
    fn a_line_through_distant_points_is_solved_from_either_side() {
        // 3 x - 300 between 10 and 1000, both ways, and 300 - 3 x
        let (low, high) = (comparison(30, 300), comparison(3000, 300));
        let (ten, thousand, root) = (U256::from(10), U256::from(1000), Some(U256::from(100)));
        assert_eq!(secant((ten, &low), (thousand, &high)), root);
        assert_eq!(secant((thousand, &high), (ten, &low)), root);
        let (low, high) = (comparison(300, 30), comparison(300, 3000));
        assert_eq!(secant((ten, &low), (thousand, &high)), root);
        assert_eq!(secant((thousand, &high), (ten, &low)), root);
        assert_eq!(secant((ten, &low), (thousand, &low)), None);
    }

    #[test]
    fn what_has_no_influence_gives_nothing() {
        assert!(linear(&comparison(40, 10), &comparison(40, 10), U256::from(5)).is_empty());
    }
}
