//! Compares vectors with one byte per dimension with the same arithmetic in floating point.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rank::vectors::VectorIndex;

/// Deterministic pseudo-random numbers.
fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    })
}

fn normalize(vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

/// Vectors in clusters, like the texts of one project, with neighbors that are hard to distinguish.
fn documents(count: usize, dims: usize) -> Vec<Vec<f32>> {
    (0..count)
        .map(|n| {
            let center = numbers(1 + n as u64 % 10).take(dims);
            let own = numbers(100 + n as u64);
            normalize(center.zip(own).map(|(center, own)| center + own * 0.7).collect())
        })
        .collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn ids(found: &[(u32, f32)]) -> Vec<u32> {
    found.iter().map(|(id, _)| *id).collect()
}

#[test]
fn quantized_ranking_matches_floating_point() {
    let documents = documents(3000, 384);
    let mut vectors = VectorIndex::new(384);
    for (id, document) in (0..).zip(&documents) {
        assert!(vectors.insert(id, document));
    }
    let mut agreed = 0;
    for query in documents.iter().step_by(100) {
        let mut exact: Vec<(u32, f32)> =
            (0..).zip(&documents).map(|(id, document)| (id, dot(query, document))).collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = vectors.nearest(query, |_| true, 10);
        assert_eq!(found[0].0, exact[0].0, "the document itself must be the nearest");
        for ((id, score), _) in found.iter().zip(&exact) {
            let truth = dot(query, &documents[*id as usize]);
            assert!((score - truth).abs() < 0.002, "{score} is too far from {truth}");
        }
        let right = ids(&exact[..10]);
        agreed += ids(&found).iter().filter(|id| right.contains(id)).count();
    }
    assert!(agreed >= 297, "only {agreed} of 300 are among the ten nearest in floating point");
}

#[test]
fn returns_only_allowed_documents() {
    let mut vectors = VectorIndex::new(64);
    for (id, document) in (0..).zip(documents(1500, 64)) {
        vectors.insert(id, &document);
    }
    let query = normalize(numbers(5).take(64).collect());
    let found = vectors.nearest(&query, |id| id % 7 == 3, 20);
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|(id, _)| id % 7 == 3));
    assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
    let all = vectors.nearest(&query, |_| true, 1500);
    let filtered: Vec<(u32, f32)> =
        all.into_iter().filter(|(id, _)| id % 7 == 3).take(20).collect();
    assert_eq!(found, filtered);
}

#[test]
fn equal_documents_are_ordered_by_id() {
    let query = [1.0, 0.0];
    for order in [[3, 1, 2], [2, 3, 1], [1, 2, 3]] {
        let mut vectors = VectorIndex::new(2);
        for id in order {
            vectors.insert(id, &query);
        }
        assert_eq!(ids(&vectors.nearest(&query, |_| true, 2)), [1, 2]);
    }
}

/// Uses more rows than one thread scans.
#[test]
fn parallel_search_matches_single_similarities() {
    let dims = 8;
    let all = documents(100_000, dims);
    let mut vectors = VectorIndex::new(dims);
    for (id, vector) in (0..).zip(&all) {
        vectors.insert(id, vector);
    }
    let query = normalize(numbers(77).take(dims).collect());
    let odd = |id: u32| id % 2 == 1;
    let mut expected: Vec<(u32, f32)> = (0..100_000)
        .filter(|id| odd(*id))
        .map(|id| (id, vectors.similarity(&query, id).unwrap()))
        .collect();
    expected.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    expected.truncate(300);
    assert_eq!(vectors.nearest(&query, odd, 300), expected);
}

#[test]
fn encoded_vectors_roundtrip_and_corrupt_ones_are_rejected() {
    let vector = normalize(numbers(3).take(384).collect());
    let row = VectorIndex::encode_vector(&vector);
    assert_eq!(row.len(), 388);
    let mut vectors = VectorIndex::new(384);
    assert!(vectors.insert_encoded(7, &row));
    let kept = vectors.get(7).into_iter().flatten();
    assert!(kept.zip(&vector).all(|(kept, value)| (kept - value).abs() < 0.001));

    let infinite = [&f32::INFINITY.to_le_bytes()[..], &row[4..]].concat();
    for corrupt in [&row[..387], &[&row[..], &[0]].concat(), &[], &row[..3], &infinite] {
        assert!(!vectors.insert_encoded(8, corrupt));
    }
    assert_eq!(vectors.len(), 1);
}

#[test]
fn sums_do_not_overflow_with_many_dimensions() {
    for dims in [1, 384, 3072, 20_000] {
        let vector = normalize(vec![1.0; dims]);
        let opposite: Vec<f32> = vector.iter().map(|value| -value).collect();
        let mut vectors = VectorIndex::new(dims);
        vectors.insert(0, &vector);
        let [same, other] =
            [&vector, &opposite].map(|query| vectors.similarity(query, 0).unwrap_or(f32::NAN));
        assert!((same - 1.0).abs() < 0.01 && (other + 1.0).abs() < 0.01, "{same}, {other}");
    }
}

#[test]
fn zero_nan_and_infinite_vectors_match_nothing() {
    let mut vectors = VectorIndex::new(3);
    vectors.insert(1, &[0.0; 3]);
    vectors.insert(2, &[f32::NAN; 3]);
    vectors.insert(4, &[f32::INFINITY, 0.0, 1.0]);
    vectors.insert(3, &[0.0, 1.0, 0.0]);
    assert_eq!(ids(&vectors.nearest(&[0.0, 1.0, 0.0], |_| true, 1)), [3]);
    assert!(vectors.nearest(&[0.0; 3], |_| true, 3).iter().all(|(_, score)| *score == 0.0));
    assert!(vectors.nearest(&[0.0; 3], |_| true, 0).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random inserts and removals, in any order.
    #[test]
    fn edits_match_a_map(edits in prop::collection::vec((0u32..12, 0u64..5, any::<bool>()), 0..60)) {
        let mut vectors = VectorIndex::new(8);
        let mut map = BTreeMap::new();
        for (id, seed, keep) in edits {
            if keep {
                let vector = normalize(numbers(seed + 1).take(8).collect());
                prop_assert!(vectors.insert(id, &vector));
                map.insert(id, vector);
            } else {
                prop_assert_eq!(vectors.remove(id), map.remove(&id).is_some());
            }
        }
        prop_assert_eq!(vectors.len(), map.len());
        let query = normalize(numbers(9).take(8).collect());
        let mut found = ids(&vectors.nearest(&query, |_| true, 20));
        found.sort_unstable();
        prop_assert_eq!(found, map.keys().copied().collect::<Vec<_>>());
        for (id, vector) in map {
            let near = vectors.similarity(&query, id).unwrap_or(f32::NAN);
            prop_assert!((near - dot(&query, &vector)).abs() < 0.01);
        }
    }
}
