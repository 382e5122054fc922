//! Comparison of the bundled model with the reference runtime.
//!
//! The expected values were computed with Python's onnxruntime and the Hugging Face tokenizer, from identical weights.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::num::NonZeroUsize;

use embed::{Embedder, MiniLm};

const COOKIES: &str = "We keep session tokens in cookies that scripts cannot read.";
const SIGN_IN: &str = "How are users signed in?";
const RETRY: &str = "fn retry_with_backoff(mut wait: Duration) -> Result<Response, Error> { \
    loop { match send() { Ok(answer) => return Ok(answer), Err(_) => sleep(wait) } wait *= 2; } }";
const COUNTER: &str = "Der Zähler wächst mit jeder Anfrage. ";

fn minilm() -> MiniLm {
    MiniLm::new(NonZeroUsize::new(2).unwrap())
}

fn embed(texts: &[&str]) -> Vec<Vec<f32>> {
    minilm().embed(texts).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn vectors_match_reference() {
    // The last text far exceeds the limit of 256 tokens.
    let long = COUNTER.repeat(40);
    let vectors = embed(&[COOKIES, SIGN_IN, RETRY, &long]);
    let first_components = [
        [-0.0835, 0.02284, -0.08034, -0.01616, 0.039, -0.0365],
        [0.02253, -0.01409, -0.08866, -0.0533, -0.02544, 0.00956],
        [-0.04593, 0.01913, 0.01912, 0.05433, 0.00673, -0.01277],
        [-0.06255, -0.01321, 0.06731, -0.01095, -0.05202, -0.04652],
    ];
    for (vector, expected) in vectors.iter().zip(first_components) {
        for (value, expected) in vector.iter().zip(expected) {
            assert!((value - expected).abs() < 0.004, "{value} is not near {expected}");
        }
    }
    let cosines = [
        [1.0, 0.3309, 0.0545, 0.0037],
        [0.3309, 1.0, -0.0677, -0.0136],
        [0.0545, -0.0677, 1.0, -0.0788],
        [0.0037, -0.0136, -0.0788, 1.0],
    ];
    for (a, row) in vectors.iter().zip(cosines) {
        for (b, expected) in vectors.iter().zip(row) {
            let found = cosine(a, b);
            assert!((found - expected).abs() < 0.01, "{found} is not near {expected}");
        }
    }
}

#[test]
fn vector_is_independent_of_batch() {
    let texts: Vec<String> = (1..40).map(|n| "alpha beta ".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = embed(&texts);
    let shortest = texts.first().unwrap();
    let longest = texts.last().unwrap();
    let alone = embed(&[longest, shortest]);
    assert!(cosine(together.first().unwrap(), &alone[1]) > 0.9999);
    assert!(cosine(together.last().unwrap(), &alone[0]) > 0.9999);
}

#[test]
fn embeds_empty_and_unusual_texts() {
    for text in ["", " \n\t", "\0", "\u{202e}", "]]]]", &"é".repeat(5000)] {
        let [vector] = embed(&[text]).try_into().unwrap();
        let length = cosine(&vector, &vector);
        assert!((length - 1.0).abs() < 1e-3, "the vector of {text:?} has length {length}");
    }
    assert!(embed(&[]).is_empty());
}

#[test]
fn model_reports_id_dimensions_and_hash() {
    let embedder = minilm();
    let model = embedder.model();
    assert_eq!(model.id, "all-MiniLM-L6-v2");
    assert_eq!(model.dims, Some(embedder.embed(&["x"]).unwrap()[0].len()));
    assert_eq!(model.hash.len(), 64);
}
