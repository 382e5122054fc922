//! Random values, and addresses of contracts that are not deployed yet.
//!
//! The values follow from the number of values before them, so that a sequence sees the same ones whenever it is run.

use alloy_primitives::{Address, B256, Bytes, I256, U256, keccak256};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, encoding};

/// Maximum length of random bytes.
const MAX_BYTES: usize = 1 << 16;

/// Account that deploys by `CREATE2` if no other is named.
const CREATE2_DEPLOYER: Address =
    alloy_primitives::address!("0x4e59b44847b379578588920cA78FbF26c0B4956C");

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("randomUint()", |call, _| Ok(encoding::encode_word(next_word(call)))),
    ("randomUint(uint256)", |call, args| {
        let word = next_bits(call, args)?;
        Ok(encoding::encode_word(word))
    }),
    ("randomUint(uint256,uint256)", |call, args| {
        let (low, high) = (args.read_uint()?, args.read_uint()?);
        if low > high {
            return Err(CheatcodeError::InvalidUse("the minimum is above the maximum".to_owned()));
        }
        let word = U256::from_be_bytes(next_word(call).0);
        // A span of all numbers has one more than fits.
        let offset = match (high - low).checked_add(U256::ONE) {
            Some(span) => word % span,
            None => word,
        };
        Ok(encoding::encode_word(low + offset))
    }),
    ("randomInt()", |call, _| Ok(encoding::encode_word(next_word(call)))),
    ("randomInt(uint256)", |call, args| {
        let bits = args.read_small::<usize>("a number of bits")?;
        if bits == 0 || bits > 256 {
            return Err(CheatcodeError::InvalidUse("expected 1 to 256 bits".to_owned()));
        }
        let word = I256::from_raw(U256::from_be_bytes(next_word(call).0)).asr(256 - bits);
        Ok(encoding::encode_word(word.into_raw()))
    }),
    ("randomAddress()", |call, _| {
        let word = next_word(call);
        Ok(encoding::encode_address(Address::from_word(word)))
    }),
    ("randomBool()", |call, _| {
        let word = next_word(call);
        Ok(encoding::encode_word(U256::from(word[31] & 1)))
    }),
    ("randomBytes(uint256)", |call, args| {
        let length = args.read_small::<usize>("a length")?;
        if length > MAX_BYTES {
            let text = format!("{length} bytes are too many; the limit is {MAX_BYTES}");
            return Err(CheatcodeError::InvalidUse(text));
        }
        let words = (0..length.div_ceil(32)).map(|_| next_word(call).0);
        let mut bytes = words.collect::<Vec<_>>().concat();
        bytes.truncate(length);
        Ok(encoding::encode_bytes(&bytes))
    }),
    ("randomBytes4()", |call, _| Ok(next_fixed_bytes(call, 4))),
    ("randomBytes8()", |call, _| Ok(next_fixed_bytes(call, 8))),
    ("computeCreateAddress(address,uint256)", |_, args| {
        let (deployer, nonce) = (args.read_address()?, args.read_small::<u64>("a nonce")?);
        Ok(encoding::encode_address(deployer.create(nonce)))
    }),
    ("computeCreate2Address(bytes32,bytes32)", |_, args| {
        let (salt, hash) = (args.read_word()?, args.read_word()?);
        Ok(encoding::encode_address(CREATE2_DEPLOYER.create2(salt, hash)))
    }),
    ("computeCreate2Address(bytes32,bytes32,address)", |_, args| {
        let (salt, hash, deployer) = (args.read_word()?, args.read_word()?, args.read_address()?);
        Ok(encoding::encode_address(deployer.create2(salt, hash)))
    }),
];

fn next_word(call: &mut CheatcodeCall<'_>) -> B256 {
    let count = &mut call.context.chain.cheats.random_count;
    *count += 1;
    keccak256([b"random".as_slice(), &count.to_be_bytes(), call.caller.as_slice()].concat())
}

fn next_bits(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
) -> Result<U256, CheatcodeError> {
    let bits = args.read_small::<usize>("a number of bits")?;
    if bits > 256 {
        return Err(CheatcodeError::InvalidUse("expected at most 256 bits".to_owned()));
    }
    let word = U256::from_be_bytes(next_word(call).0);
    Ok(if bits == 0 { U256::ZERO } else { word >> (256 - bits) })
}

fn next_fixed_bytes(call: &mut CheatcodeCall<'_>, length: usize) -> Bytes {
    let mut word = next_word(call);
    word[length..].fill(0);
    encoding::encode_word(word)
}
