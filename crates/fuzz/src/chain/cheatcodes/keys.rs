//! Cheat codes for accounts with a known private key.

use alloy_primitives::{Address, Bytes, U256, keccak256};
use k256::ecdsa::SigningKey;

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, encoding};

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("addr(uint256)", |_, args| {
        Ok(encoding::encode_address(compute_address(&read_private_key(args)?)))
    }),
    ("sign(uint256,bytes32)", sign),
    ("sign((address,uint256,uint256,uint256),bytes32)", |call, args| {
        // The private key is the last field of the wallet.
        for _ in 0..3 {
            args.read_word()?;
        }
        sign(call, args)
    }),
    ("rememberKey(uint256)", |_, args| {
        Ok(encoding::encode_address(compute_address(&read_private_key(args)?)))
    }),
    ("createWallet(uint256)", |_, args| Ok(encode_wallet(&read_private_key(args)?))),
    ("createWallet(uint256,string)", |_, args| Ok(encode_wallet(&read_private_key(args)?))),
    ("createWallet(string)", |_, args| {
        let key = keccak256(args.read_bytes()?);
        Ok(encode_wallet(&read_private_key(&mut CheatcodeArgs::new(key.as_slice()))?))
    }),
];

/// Reads a private key and returns its address.
pub(super) fn read_key_address(args: &mut CheatcodeArgs<'_>) -> Result<Address, CheatcodeError> {
    Ok(compute_address(&read_private_key(args)?))
}

fn compute_address(key: &SigningKey) -> Address {
    let point = key.verifying_key().to_encoded_point(false);
    // The first byte marks an uncompressed point: both coordinates follow.
    Address::from_raw_public_key(&point.as_bytes()[1..])
}

/// Encodes `(address addr, uint256 publicKeyX, uint256 publicKeyY, uint256 privateKey)`.
fn encode_wallet(key: &SigningKey) -> Bytes {
    let point = key.verifying_key().to_encoded_point(false);
    let mut data = compute_address(key).into_word().to_vec();
    data.extend_from_slice(&point.as_bytes()[1..]);
    data.extend_from_slice(&key.to_bytes());
    data.into()
}

fn read_private_key(args: &mut CheatcodeArgs<'_>) -> Result<SigningKey, CheatcodeError> {
    SigningKey::from_slice(args.read_word()?.as_slice()).map_err(|_| {
        let text = "invalid private key: must be nonzero and below the order of secp256k1";
        CheatcodeError::InvalidUse(text.to_owned())
    })
}

/// Signs a digest deterministically and returns `(uint8 v, bytes32 r, bytes32 s)`.
fn sign(_: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (key, digest) = (read_private_key(args)?, args.read_word()?);
    let (signature, recovery) = key
        .sign_prehash_recoverable(digest.as_slice())
        .map_err(|error| CheatcodeError::InvalidUse(format!("failed to sign {digest}: {error}")))?;
    let v = U256::from(27 + u8::from(recovery.is_y_odd()));
    let mut data = v.to_be_bytes::<32>().to_vec();
    data.extend_from_slice(&signature.to_bytes());
    Ok(data.into())
}
