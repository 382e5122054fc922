//! JSON encoding of the embeddings protocol, and validation of responses.

use serde::{Deserialize, Serialize};

use crate::EmbedError;

/// Maximum number of characters quoted from a server's error message.
const MAX_QUOTE_CHARS: usize = 200;

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Returns the JSON body of a request.
pub(super) fn encode_request(texts: &[&str], model: &str, dimensions: Option<usize>) -> Vec<u8> {
    // OpenAI rejects a whole batch if one text is empty.
    let input = texts.iter().map(|text| if text.is_empty() { " " } else { text }).collect();
    let request = EmbeddingsRequest { model, input, encoding_format: "float", dimensions };
    serde_json::to_vec(&request).expect("strings and numbers serialize to JSON")
}

/// Returns the normalized vectors of a response, in the order of the texts.
pub(super) fn decode_vectors(
    body: &[u8],
    count: usize,
    dims: Option<&usize>,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let invalid = |reason: String| Err(EmbedError::InvalidResponse(reason));
    let Ok(EmbeddingsResponse { data }) = serde_json::from_slice(body) else {
        return invalid("not an embeddings JSON object".to_owned());
    };
    if data.len() != count {
        return invalid(format!("expected {count} vectors, got {}", data.len()));
    }
    let mut vectors = vec![Vec::new(); count];
    for (position, item) in data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        match vectors.get_mut(index) {
            Some(slot) if slot.is_empty() => *slot = normalize_vector(item.embedding)?,
            Some(_) => return invalid(format!("duplicate vector for text {index}")),
            None => return invalid(format!("vector index {index} out of range for {count} texts")),
        }
    }
    if let Some(dims) = dims.copied().or(vectors.first().map(Vec::len)) {
        check_dimensions(&vectors, dims)?;
    }
    Ok(vectors)
}

pub(super) fn check_dimensions(vectors: &[Vec<f32>], dims: usize) -> Result<(), EmbedError> {
    match vectors.iter().find(|vector| vector.len() != dims) {
        Some(other) => {
            let reason = format!("expected {dims} dimensions, got {}", other.len());
            Err(EmbedError::InvalidResponse(reason))
        }
        None => Ok(()),
    }
}

fn normalize_vector(mut vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if vector.is_empty() || !length.is_finite() {
        return Err(EmbedError::InvalidResponse("empty or non-finite vector".to_owned()));
    }
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    Ok(vector)
}

/// Returns the error message of a response body, truncated and with the API key removed.
pub(super) fn extract_error_message(body: &[u8], key: Option<&str>) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let error = json.get("error").unwrap_or(&json);
    let message = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
    let words = message.split(|char: char| char.is_whitespace() || char.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let message = words.join(" ");
    // The key is removed before truncation, because a truncated key would not be recognized.
    let message = match key.filter(|key| !key.is_empty()) {
        Some(key) => message.replace(key, "…"),
        None => message,
    };
    message.chars().take(MAX_QUOTE_CHARS).collect()
}
