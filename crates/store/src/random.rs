//! Random ids and keys, from the operating system.

use crate::StoreError;

/// Crockford's base 32: no letter that looks like another, none that needs the shift key.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Fifty bits: short enough to type, far too many to guess within the life of an approval.
const ID_LENGTH: usize = 10;

pub(crate) fn key() -> Result<[u8; 32], StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(StoreError::Random)?;
    Ok(bytes)
}

pub(crate) fn id() -> Result<String, StoreError> {
    let mut bytes = [0; ID_LENGTH];
    getrandom::fill(&mut bytes).map_err(StoreError::Random)?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// An id as a person typed it: any case, with the letters that Crockford reads as digits.
pub(crate) fn normalize(id: &str) -> String {
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
    fn an_id_is_short_typable_and_new_each_time() {
        let ids: Vec<_> = (0..100).map(|_| id().unwrap()).collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(id.len(), ID_LENGTH);
            assert!(id.bytes().all(|byte| ALPHABET.contains(&byte)), "{id}");
            assert!(!ids[..n].contains(id), "{id} came twice");
            assert_eq!(&normalize(&format!(" {} ", id.to_uppercase())), id);
        }
        assert_eq!(normalize("OIl0"), "0110");
    }
}
