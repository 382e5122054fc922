//! Dispatch of operations to the instruction sets of the machine.
//!
//! An operation is a struct that implements [`SimdOp`]. [`dispatch`] compiles it for each instruction set and runs the
//! best one available. All functions called by an operation must be `#[inline(always)]`, so that they are compiled for
//! the instruction set as well and their loops become vector instructions. Only products of small integers, which
//! compilers do not vectorize, use intrinsics.

/// Number of sums computed in parallel.
pub(crate) const LANES: usize = 8;

/// Sums of products of small integer pairs, in [`LANES`] lanes.
pub(crate) trait SimdProducts: Copy {
    type Sums: Copy;

    fn zero_sums(self) -> Self::Sums;

    /// Adds the products of the pair and the two weights of each lane to the sum of that lane.
    fn add_products(self, sums: Self::Sums, pair: I16Pair, weights: &[i8; 2 * LANES])
    -> Self::Sums;

    fn to_floats(self, sums: Self::Sums) -> [f32; LANES];
}

/// Two 16-bit integers in one word, the first in the lower half.
#[derive(Clone, Copy, Default)]
pub(crate) struct I16Pair(i32);

impl I16Pair {
    #[inline(always)]
    pub(crate) fn new(first: i16, second: i16) -> Self {
        Self(i32::from(first.cast_unsigned()) | (i32::from(second) << 16))
    }
}

/// An operation that is compiled for each instruction set.
pub(crate) trait SimdOp {
    type Output;

    fn run(self, products: impl SimdProducts) -> Self::Output;
}

/// Runs an operation with the best instruction set of the machine and returns its output.
pub(crate) fn dispatch<O: SimdOp>(op: O) -> O::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = pulp::x86::V3::try_new() {
        return avx2.vectorize(x86::Avx2Call { op, avx2 });
    }
    op.run(PortableProducts)
}

/// Portable implementation. On targets with baseline vector instructions, such as ARM, the compiler uses them.
#[derive(Clone, Copy)]
struct PortableProducts;

impl SimdProducts for PortableProducts {
    type Sums = [i32; LANES];

    #[inline(always)]
    fn zero_sums(self) -> Self::Sums {
        [0; LANES]
    }

    #[inline(always)]
    fn add_products(
        self,
        mut sums: Self::Sums,
        I16Pair(pair): I16Pair,
        weights: &[i8; 2 * LANES],
    ) -> Self::Sums {
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

    use super::{I16Pair, LANES, SimdOp, SimdProducts};

    /// Adapter that runs an operation in a function compiled for AVX2.
    pub(super) struct Avx2Call<O> {
        pub(super) op: O,
        pub(super) avx2: V3,
    }

    impl<O: SimdOp> pulp::NullaryFnOnce for Avx2Call<O> {
        type Output = O::Output;

        #[inline(always)]
        fn call(self) -> Self::Output {
            self.op.run(self.avx2)
        }
    }

    impl SimdProducts for V3 {
        type Sums = __m256i;

        #[inline(always)]
        fn zero_sums(self) -> Self::Sums {
            self.avx._mm256_setzero_si256()
        }

        #[inline(always)]
        fn add_products(
            self,
            sums: Self::Sums,
            I16Pair(pair): I16Pair,
            weights: &[i8; 2 * LANES],
        ) -> Self::Sums {
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

    impl SimdOp for Sum<'_> {
        type Output = [f32; LANES];

        #[inline(always)]
        fn run(self, products: impl SimdProducts) -> Self::Output {
            let sums =
                self.0.iter().fold(products.zero_sums(), |sums, (first, second, weights)| {
                    products.add_products(sums, I16Pair::new(*first, *second), weights)
                });
            products.to_floats(sums)
        }
    }

    proptest! {
        #[test]
        fn instruction_sets_agree(terms in prop::collection::vec(any::<(i16, i16, [i8; 16])>(), 0..40)) {
            let mut expected = [0; LANES];
            for (first, second, weights) in &terms {
                for (lane, sum) in expected.iter_mut().enumerate() {
                    *sum += i32::from(*first) * i32::from(weights[2 * lane])
                        + i32::from(*second) * i32::from(weights[2 * lane + 1]);
                }
            }
            let expected = expected.map(|sum| sum as f32);
            prop_assert_eq!(dispatch(Sum(&terms)), expected);
            prop_assert_eq!(Sum(&terms).run(PortableProducts), expected);
        }
    }
}
