//! Any type, and any value of it.

use alloy_primitives::U256;
use fuzz::abi::{Type, Value, clamp};
use proptest::prelude::*;

pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    let simple = prop_oneof![
        Just(Type::Bool),
        Just(Type::Address),
        (1_u16..=32).prop_map(|bytes| Type::Uint(8 * bytes)),
        (1_u16..=32).prop_map(|bytes| Type::Int(8 * bytes)),
        (1_u8..=32).prop_map(Type::FixedBytes),
        Just(Type::Function),
        Just(Type::Bytes),
        Just(Type::String),
    ];
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|element| Type::Array(Box::new(element))),
            (inner.clone(), 1_usize..4)
                .prop_map(|(element, length)| Type::FixedArray(Box::new(element), length)),
            prop::collection::vec(inner, 1..4).prop_map(Type::Tuple),
        ]
    })
}

pub(crate) fn value_of(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Bytes | Type::String => {
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes).boxed()
        }
        Type::Array(element) => {
            prop::collection::vec(value_of(element), 0..4).prop_map(Value::List).boxed()
        }
        Type::FixedArray(element, length) => {
            prop::collection::vec(value_of(element), *length).prop_map(Value::List).boxed()
        }
        Type::Tuple(fields) => {
            fields.iter().map(value_of).collect::<Vec<_>>().prop_map(Value::List).boxed()
        }
        word => {
            let word = word.clone();
            any::<[u64; 4]>()
                .prop_map(move |limbs| Value::Word(clamp(&word, U256::from_limbs(limbs))))
                .boxed()
        }
    }
}
