//! Random ids and keys from the operating system's generator.

use crate::StoreError;

/// Crockford's base 32, without letters that look alike. Lower case, so that no shift key is needed.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 50 bits: short enough to type, and infeasible to guess before an approval expires.
const ID_LENGTH: usize = 10;

pub(crate) fn generate_key() -> Result<[u8; 32], StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(StoreError::RandomSource)?;
    Ok(bytes)
}

pub(crate) fn generate_id() -> Result<String, StoreError> {
    let mut bytes = [0; ID_LENGTH];
    getrandom::fill(&mut bytes).map_err(StoreError::RandomSource)?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// Normalizes an id typed by a person: lower case, with the letters that Crockford's base 32 reads as digits replaced.
pub(crate) fn normalize_id(id: &str) -> String {
    id.trim()
        .chars()
        .map(|c| match c.to_ascii_lowercase() {
            'i' | 'l' => '1',
            'o' => '0',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_are_short_typable_and_unique() {
        let ids: Vec<_> = (0..100).map(|_| generate_id().unwrap()).collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(id.len(), ID_LENGTH);
            assert!(id.bytes().all(|byte| ALPHABET.contains(&byte)), "{id}");
            assert!(!ids[..n].contains(id), "duplicate id {id}");
            assert_eq!(&normalize_id(&format!(" {} ", id.to_uppercase())), id);
        }
        assert_eq!(normalize_id("OIl0"), "0110");
    }
}
