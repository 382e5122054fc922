//! Tests of the bounds within which a reply is searched for parts of a secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runtime::ToolReply;
use serde_json::{Value, json};

use crate::secret_output::{NOISE, call_local, done, everything, key_lines, token};

/// Returns what becomes of a string beside the first line of a private key.
async fn beside_key_marker(text: &str) -> String {
    let value = json!({"text": key_lines()[0], "after": [text]});
    let reply = call_local(value).await;
    done(&reply).structured.as_ref().unwrap()["after"][0].as_str().unwrap().to_owned()
}

fn noise(length: usize) -> String {
    NOISE.repeat(8)[..length].to_owned()
}

#[tokio::test]
async fn lines_of_a_key_are_recognized() {
    for line in [
        noise(40),
        noise(255),
        format!("  \"{}\\n\",", noise(60)),
        format!("{}+/==", noise(40)),
        format!("{}+/==", noise(36)),
    ] {
        let redacted = beside_key_marker(&line).await;
        assert!(!redacted.contains(&noise(36)), "{line}: {redacted}");
    }
}

#[tokio::test]
async fn other_lines_beside_a_key_are_kept() {
    let word = |letters: &str, length: usize| letters.repeat(length)[..length].to_owned();
    for line in [
        noise(39),
        noise(256),
        // Quotes are no part of the line.
        format!("\"{}\"", noise(38)),
        // Hashes, addresses and words do not mix all kinds of letters.
        word("a1b2c3d4", 64),
        word("aB1cD2eF3", 64),
        format!("0x{}", word("aB1cD2eF3", 40)),
        word("lowercase7words", 60),
        word("UPPERCASE7WORDS", 60),
        format!("{}-{}", noise(30), noise(30)),
        format!("{} {}", noise(30), noise(30)),
        format!("{}.", noise(60)),
    ] {
        assert_eq!(beside_key_marker(&line).await, line);
    }
}

#[tokio::test]
async fn lines_are_kept_without_a_key() {
    let line = noise(60);
    // A long text that mentions a key is not one line of it.
    let mention = format!("{} PRIVATE KEY-----{}", "-----BEGIN RSA", " words".repeat(60));
    for text in ["PRIVATE KEY".to_owned(), mention] {
        let value = json!({"text": text, "after": [&line]});
        let reply = call_local(value.clone()).await;
        assert_eq!(done(&reply).structured.as_ref().unwrap()["after"][0], *line, "{value}");
    }
}

#[tokio::test]
async fn parts_of_a_secret_are_joined_up_to_a_size() {
    const LIMIT: usize = 64 * 1024;
    let token = token();
    let (left, right) = token.split_at(token.len() / 2);
    let parts = |total: usize| {
        let filler = " ".repeat(total - token.len());
        json!({"parts": [filler, left, right]})
    };
    let reply = call_local(parts(LIMIT)).await;
    assert!(matches!(reply, ToolReply::Failed(_)), "a secret in parts is refused");
    assert!(!everything(&reply).contains(right));
    let reply = call_local(parts(LIMIT + 1)).await;
    assert!(matches!(reply, ToolReply::Done(_)), "a longer list is not joined");
}

#[tokio::test]
async fn short_base64_is_decoded() {
    // Twenty bytes are the shortest secret, and 28 characters of base64.
    let key = format!("AK{}{}", "IA", "Q7ZT4KP9XW2LM5VB");
    let encoded = STANDARD.encode(&key);
    assert_eq!(encoded.len(), 28);
    let reply = call_local(json!({"blob": &encoded})).await;
    assert!(!everything(&reply).contains(&encoded), "{reply:?}");
    // Neither a part of it nor a text around it is base64.
    for text in [&encoded[..27], &format!("{encoded}."), &format!("{encoded}a")] {
        let value: Value = json!({"blob": text});
        let reply = call_local(value.clone()).await;
        assert_eq!(done(&reply).structured, Some(value));
    }
}
