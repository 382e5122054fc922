//! Strategies for arbitrary ABI types and values.

use alloy_primitives::U256;
use fuzz::abi::{AbiType, AbiValue, clamp_to_type};
use proptest::prelude::*;

pub(crate) fn any_type() -> impl Strategy<Value = AbiType> {
    let simple = prop_oneof![
        Just(AbiType::Bool),
        Just(AbiType::Address),
        (1_u16..=32).prop_map(|bytes| AbiType::Uint(8 * bytes)),
        (1_u16..=32).prop_map(|bytes| AbiType::Int(8 * bytes)),
        (1_u8..=32).prop_map(AbiType::FixedBytes),
        Just(AbiType::Function),
        Just(AbiType::Bytes),
        Just(AbiType::String),
    ];
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|element| AbiType::Array(Box::new(element))),
            (inner.clone(), 1_usize..4)
                .prop_map(|(element, length)| AbiType::FixedArray(Box::new(element), length)),
            prop::collection::vec(inner, 1..4).prop_map(AbiType::Tuple),
        ]
    })
}

pub(crate) fn value_of(ty: &AbiType) -> BoxedStrategy<AbiValue> {
    match ty {
        AbiType::Bytes | AbiType::String => {
            prop::collection::vec(any::<u8>(), 0..40).prop_map(AbiValue::Bytes).boxed()
        }
        AbiType::Array(element) => {
            prop::collection::vec(value_of(element), 0..4).prop_map(AbiValue::List).boxed()
        }
        AbiType::FixedArray(element, length) => {
            prop::collection::vec(value_of(element), *length).prop_map(AbiValue::List).boxed()
        }
        AbiType::Tuple(fields) => {
            fields.iter().map(value_of).collect::<Vec<_>>().prop_map(AbiValue::List).boxed()
        }
        word => {
            let word = word.clone();
            any::<[u64; 4]>()
                .prop_map(move |limbs| {
                    AbiValue::Word(clamp_to_type(&word, U256::from_limbs(limbs)))
                })
                .boxed()
        }
    }
}
