//! The one place that knows instruction sets.
//!
//! An operation is a struct with [`Op`]; [`dispatch`] compiles it for each set and picks the best that the machine has.
//! Everything that an operation calls must be `#[inline(always)]`, so that it is compiled for the set as well: then plain
//! loops become vector instructions. Only the products of small integers, which compilers do not find, are spelled out.

/// Sums that are computed side by side.
pub(crate) const LANES: usize = 8;

/// Products of pairs of small integers, added up in [`LANES`] sums.
pub(crate) trait Products: Copy {
    type Sums: Copy;

    fn zero(self) -> Self::Sums;

    /// Adds to each sum both products of the pair with the weights of its lane.
    fn add(self, sums: Self::Sums, pair: Pair, weights: &[i8; 2 * LANES]) -> Self::Sums;

    fn to_floats(self, sums: Self::Sums) -> [f32; LANES];
}

/// Two numbers of sixteen bits in one word, the first in the lower half.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pair(i32);

impl Pair {
    #[inline(always)]
    pub(crate) fn new(first: i16, second: i16) -> Self {
        Self(i32::from(first.cast_unsigned()) | (i32::from(second) << 16))
    }
}

pub(crate) trait Op {
    type Output;

    fn run(self, products: impl Products) -> Self::Output;
}

pub(crate) fn dispatch<O: Op>(op: O) -> O::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = pulp::x86::V3::try_new() {
        return avx2.vectorize(x86::Run { op, avx2 });
    }
    op.run(Plain)
}

/// What every machine can do; where vectors are always there, as on ARM, the compiler uses them.
#[derive(Clone, Copy)]
struct Plain;

impl Products for Plain {
    type Sums = [i32; LANES];

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; LANES]
    }

    #[inline(always)]
    fn add(self, mut sums: Self::Sums, Pair(pair): Pair, weights: &[i8; 2 * LANES]) -> Self::Sums {
        let (first, second) = (i32::from(pair as i16), pair >> 16);
        for (lane, sum) in sums.iter_mut().enumerate() {
            let [a, b] = [weights[2 * lane], weights[2 * lane + 1]].map(i32::from);
            *sum += first * a + second * b;
        }
        sums
    }

    #[inline(always)]
    fn to_floats(self, sums: Self::Sums) -> [f32; LANES] {
        sums.map(|sum| sum as f32)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::__m256i;

    use pulp::x86::V3;

    use super::{LANES, Op, Pair, Products};

    /// An operation on its way into a function that is compiled for AVX2.
    pub(super) struct Run<O> {
        pub(super) op: O,
        pub(super) avx2: V3,
    }

    impl<O: Op> pulp::NullaryFnOnce for Run<O> {
        type Output = O::Output;

        #[inline(always)]
        fn call(self) -> Self::Output {
            self.op.run(self.avx2)
        }
    }

    impl Products for V3 {
        type Sums = __m256i;

        #[inline(always)]
        fn zero(self) -> Self::Sums {
            self.avx._mm256_setzero_si256()
        }

        #[inline(always)]
        fn add(self, sums: Self::Sums, Pair(pair): Pair, weights: &[i8; 2 * LANES]) -> Self::Sums {
            let weights = self.avx2._mm256_cvtepi8_epi16(pulp::cast(*weights));
            let products = self.avx2._mm256_madd_epi16(self.avx._mm256_set1_epi32(pair), weights);
            self.avx2._mm256_add_epi32(sums, products)
        }

        #[inline(always)]
        fn to_floats(self, sums: Self::Sums) -> [f32; LANES] {
            pulp::cast(self.avx._mm256_cvtepi32_ps(sums))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Sum<'a>(&'a [(i16, i16, [i8; 16])]);

    impl Op for Sum<'_> {
        type Output = [f32; LANES];

        #[inline(always)]
        fn run(self, products: impl Products) -> Self::Output {
            let sums = self.0.iter().fold(products.zero(), |sums, (first, second, weights)| {
                products.add(sums, Pair::new(*first, *second), weights)
            });
            products.to_floats(sums)
        }
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_same(terms in prop::collection::vec(any::<(i16, i16, [i8; 16])>(), 0..40)) {
            let mut expected = [0; LANES];
            for (first, second, weights) in &terms {
                for (lane, sum) in expected.iter_mut().enumerate() {
                    *sum += i32::from(*first) * i32::from(weights[2 * lane])
                        + i32::from(*second) * i32::from(weights[2 * lane + 1]);
                }
            }
            let expected = expected.map(|sum| sum as f32);
            prop_assert_eq!(dispatch(Sum(&terms)), expected);
            prop_assert_eq!(Sum(&terms).run(Plain), expected);
        }
    }
}
