//! Cheat codes for accounts whose private key the contract knows.

use alloy_primitives::{Address, U256};
use k256::ecdsa::SigningKey;

use super::args::Args;
use super::table::Entry;
use super::{Answer, Call, Refusal, answer};

pub(super) const TABLE: &[Entry] = &[
    ("addr(uint256)", |_, args| {
        let point = key(args)?.verifying_key().to_encoded_point(false);
        // The first byte says that both coordinates follow.
        Ok(answer::address(Address::from_raw_public_key(&point.as_bytes()[1..])))
    }),
    ("sign(uint256,bytes32)", sign),
];

fn key(args: &mut Args<'_>) -> Result<SigningKey, Refusal> {
    SigningKey::from_slice(args.word()?.as_slice()).map_err(|_| {
        let text = "a private key is not zero and less than the order of secp256k1";
        Refusal::Misuse(text.to_owned())
    })
}

/// Signs a digest, deterministically, and returns `(uint8 v, bytes32 r, bytes32 s)`.
fn sign(_: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (key, digest) = (key(args)?, args.word()?);
    let (signature, recovery) = key
        .sign_prehash_recoverable(digest.as_slice())
        .map_err(|error| Refusal::Misuse(format!("cannot sign {digest}: {error}")))?;
    let v = U256::from(27 + u8::from(recovery.is_y_odd()));
    let mut data = v.to_be_bytes::<32>().to_vec();
    data.extend_from_slice(&signature.to_bytes());
    Ok(data.into())
}
