//! The JSON of the embeddings protocol, and what an answer must be like.

use serde::{Deserialize, Serialize};

use crate::EmbedError;

/// Of what a server says, this many characters are quoted.
const LONGEST_QUOTE: usize = 200;

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

pub(super) fn question(texts: &[&str], model: &str, dimensions: Option<usize>) -> Vec<u8> {
    // OpenAI refuses a whole batch for one empty text.
    let input = texts.iter().map(|text| if text.is_empty() { " " } else { text }).collect();
    let question = Question { model, input, encoding_format: "float", dimensions };
    serde_json::to_vec(&question).expect("strings and numbers can be written as JSON")
}

/// The vectors in an answer, at length one and in the order of the texts.
pub(super) fn vectors(
    answer: &[u8],
    count: usize,
    dims: Option<&usize>,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let garbage = |what: String| Err(EmbedError::Garbage(what));
    let Ok(Answer { data }) = serde_json::from_slice(answer) else {
        return garbage("something that is not the JSON of embeddings".to_owned());
    };
    if data.len() != count {
        return garbage(format!("{} vectors for {count} texts", data.len()));
    }
    let mut vectors = vec![Vec::new(); count];
    for (position, item) in data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        match vectors.get_mut(index) {
            Some(place) if place.is_empty() => *place = normalised(item.embedding)?,
            Some(_) => return garbage(format!("two vectors for text {index}")),
            None => return garbage(format!("a vector for text {index} of {count}")),
        }
    }
    if let Some(dims) = dims.copied().or(vectors.first().map(Vec::len)) {
        same_length(&vectors, dims)?;
    }
    Ok(vectors)
}

pub(super) fn same_length(vectors: &[Vec<f32>], dims: usize) -> Result<(), EmbedError> {
    match vectors.iter().find(|vector| vector.len() != dims) {
        Some(other) => {
            let what = format!("a vector of {} dimensions instead of {dims}", other.len());
            Err(EmbedError::Garbage(what))
        }
        None => Ok(()),
    }
}

fn normalised(mut vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if vector.is_empty() || !length.is_finite() {
        return Err(EmbedError::Garbage("a vector that is empty or endless".to_owned()));
    }
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    Ok(vector)
}

/// What a server says about a refusal, made safe to show: without the key, which it may quote, and short.
pub(super) fn said(body: &[u8], key: Option<&str>) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let error = json.get("error").unwrap_or(&json);
    let message = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
    let words = message.split(|char: char| char.is_whitespace() || char.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let said = words.join(" ");
    // Before it is cut: half a key would not be known as one.
    let said = match key.filter(|key| !key.is_empty()) {
        Some(key) => said.replace(key, "…"),
        None => said,
    };
    said.chars().take(LONGEST_QUOTE).collect()
}
