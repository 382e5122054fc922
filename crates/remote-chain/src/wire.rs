//! JSON-RPC requests, and the values in the responses.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use fuzz::chain::RemoteBlock;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Maximum code size of an account, in bytes. Chains limit it to 24,576, some to a few times that.
const MAX_CODE: usize = 1 << 20;

/// A method with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct RpcCall {
    pub(crate) method: &'static str,
    params: Value,
}

impl RpcCall {
    pub(crate) fn chain_id() -> Self {
        Self { method: "eth_chainId", params: json!([]) }
    }

    /// Asks for a block without its transactions; `None` is the latest.
    pub(crate) fn block(number: Option<u64>) -> Self {
        let number = number.map_or_else(|| "latest".to_owned(), to_quantity);
        Self { method: "eth_getBlockByNumber", params: json!([number, false]) }
    }

    pub(crate) fn balance(address: Address, block: BlockName) -> Self {
        Self { method: "eth_getBalance", params: json!([address, block.to_json()]) }
    }

    pub(crate) fn nonce(address: Address, block: BlockName) -> Self {
        Self { method: "eth_getTransactionCount", params: json!([address, block.to_json()]) }
    }

    pub(crate) fn code(address: Address, block: BlockName) -> Self {
        Self { method: "eth_getCode", params: json!([address, block.to_json()]) }
    }

    pub(crate) fn storage(address: Address, slot: U256, block: BlockName) -> Self {
        let params = json!([address, B256::from(slot), block.to_json()]);
        Self { method: "eth_getStorageAt", params }
    }
}

/// The block whose state is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockName {
    /// EIP-1898. Another block with the same number is never meant.
    Hash(B256),
    Number(u64),
}

impl BlockName {
    fn to_json(self) -> Value {
        match self {
            Self::Hash(hash) => json!({ "blockHash": hash }),
            Self::Number(number) => json!(to_quantity(number)),
        }
    }
}

/// Encodes calls as a batch, or a single call without the list around it. Ids are positions.
pub(crate) fn encode_calls(calls: &[RpcCall]) -> Vec<u8> {
    let mut requests = calls.iter().enumerate().map(|(id, call)| {
        json!({"jsonrpc": "2.0", "id": id, "method": call.method, "params": call.params})
    });
    let body = match calls.len() {
        1 => requests.next().unwrap_or_default(),
        _ => Value::Array(requests.collect()),
    };
    body.to_string().into_bytes()
}

/// Error that a node answered with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct NodeError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

/// Content of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RpcAnswer {
    /// The results of the calls, in their order.
    Results(Vec<String>),
    /// The error of the first call that failed, or of the batch as a whole.
    Failed(NodeError),
    /// One answer for several calls: the node knows no batches.
    NotABatch,
    /// Something else.
    Malformed,
}

#[derive(Deserialize)]
struct RpcResponse<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<NodeError>,
}

/// Reads a list of at most this many responses. A longer one takes many times its size in memory.
struct ResponseList(usize);

impl<'de> Visitor<'de> for ResponseList {
    type Value = Vec<RpcResponse<'de>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a list of {} responses", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut responses = Vec::new();
        while let Some(response) = list.next_element()? {
            if responses.len() == self.0 {
                return Err(A::Error::invalid_length(self.0 + 1, &self));
            }
            responses.push(response);
        }
        Ok(responses)
    }
}

/// Decodes the response to these calls.
pub(crate) fn decode_answer(body: &[u8], calls: usize) -> RpcAnswer {
    let mut parser = serde_json::Deserializer::from_slice(body);
    let list = parser.deserialize_seq(ResponseList(calls));
    let responses = match list.and_then(|responses| parser.end().map(|()| responses)) {
        Ok(responses) => responses,
        Err(_) => match serde_json::from_slice::<RpcResponse<'_>>(body) {
            Ok(response) if calls == 1 => vec![RpcResponse { id: Some(0), ..response }],
            Ok(RpcResponse { error: Some(_), .. }) => return RpcAnswer::NotABatch,
            _ => return RpcAnswer::Malformed,
        },
    };
    let mut results = vec![None; calls];
    for response in responses {
        let slot = response.id.and_then(|id| results.get_mut(usize::try_from(id).ok()?));
        let Some(slot @ None) = slot else { return RpcAnswer::Malformed };
        *slot = Some(match (response.result, response.error) {
            (_, Some(error)) => Err(error),
            (Some(result), None) => Ok(result.get().to_owned()),
            // serde reads null as a missing value.
            (None, None) => Ok("null".to_owned()),
        });
    }
    let Some(results) = results.into_iter().collect::<Option<Vec<_>>>() else {
        return RpcAnswer::Malformed;
    };
    match results.into_iter().collect() {
        Ok(results) => RpcAnswer::Results(results),
        Err(error) => RpcAnswer::Failed(error),
    }
}

/// Decodes a number.
pub(crate) fn decode_number(result: &str) -> Option<U256> {
    parse_quantity(&decode_text(result)?)
}

/// Decodes a number of 64 bits.
pub(crate) fn decode_count(result: &str) -> Option<u64> {
    u64::try_from(decode_number(result)?).ok()
}

pub(crate) fn decode_code(result: &str) -> Option<Bytes> {
    let text = decode_text(result)?;
    let digits = text.strip_prefix("0x")?;
    (digits.len() <= 2 * MAX_CODE).then(|| hex::decode(digits).ok()).flatten().map(Into::into)
}

/// A block header as nodes send it. Chains leave out what they do not have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockHeader {
    number: String,
    hash: B256,
    timestamp: String,
    #[serde(default)]
    gas_limit: Option<String>,
    #[serde(default)]
    base_fee_per_gas: Option<String>,
    #[serde(default, alias = "author")]
    miner: Option<Address>,
    #[serde(default)]
    difficulty: Option<String>,
    #[serde(default)]
    mix_hash: Option<B256>,
    #[serde(default)]
    excess_blob_gas: Option<String>,
}

/// Decodes a block header. `Ok(None)` means that the node has no such block.
pub(crate) fn decode_block(result: &str) -> Result<Option<RemoteBlock>, ()> {
    let header = serde_json::from_str::<Option<BlockHeader>>(result).map_err(|_| ())?;
    header.map(|header| to_block(header).ok_or(())).transpose()
}

fn to_block(header: BlockHeader) -> Option<RemoteBlock> {
    fn read<T: TryFrom<U256>>(text: Option<&String>) -> Option<Option<T>> {
        text.map(|text| T::try_from(parse_quantity(text)?).ok())
            .map_or(Some(None), |it| it.map(Some))
    }
    Some(RemoteBlock {
        number: u64::try_from(parse_quantity(&header.number)?).ok()?,
        hash: header.hash,
        timestamp: u64::try_from(parse_quantity(&header.timestamp)?).ok()?,
        // Some chains have a limit that does not fit, which stands for none.
        gas_limit: read::<u64>(header.gas_limit.as_ref()).flatten().unwrap_or(u64::MAX),
        base_fee: read(header.base_fee_per_gas.as_ref())?.unwrap_or_default(),
        beneficiary: header.miner.unwrap_or_default(),
        difficulty: read(header.difficulty.as_ref())?.unwrap_or_default(),
        prev_randao: header.mix_hash.unwrap_or_default(),
        excess_blob_gas: read(header.excess_blob_gas.as_ref())?,
    })
}

fn decode_text(result: &str) -> Option<String> {
    serde_json::from_str(result).ok()
}

pub(crate) fn to_quantity(number: u64) -> String {
    format!("{number:#x}")
}

/// Parses a hexadecimal number. Leading zeros are allowed: storage is sent as a whole word.
pub(crate) fn parse_quantity(text: &str) -> Option<U256> {
    let digits = text.strip_prefix("0x")?;
    let is_number = !digits.is_empty()
        && digits.len() <= 64
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| U256::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(body: &str, calls: usize) -> RpcAnswer {
        decode_answer(body.as_bytes(), calls)
    }

    #[test]
    fn matches_results_to_calls_by_id() {
        let results = |texts: &[&str]| {
            RpcAnswer::Results(texts.iter().map(|text| (*text).to_owned()).collect())
        };
        assert_eq!(check(r#"{"id":0,"result":"0x1"}"#, 1), results(&["\"0x1\""]));
        assert_eq!(check(r#"{"id":9,"result":null}"#, 1), results(&["null"]));
        let swapped = r#"[{"id":1,"result":"0x2"},{"id":0,"result":"0x1"}]"#;
        assert_eq!(check(swapped, 2), results(&["\"0x1\"", "\"0x2\""]));
        let failed = r#"[{"id":1,"error":{"code":-1,"message":"no"}},{"id":0,"result":"0x1"}]"#;
        let error = NodeError { code: -1, message: "no".to_owned() };
        assert_eq!(check(failed, 2), RpcAnswer::Failed(error));
        assert_eq!(check(r#"{"error":{"code":-32600}}"#, 2), RpcAnswer::NotABatch);
        for body in [
            "",
            "<html>",
            "[]",
            "7",
            r#"[{"id":0,"result":"0x1"}]"#,
            r#"[{"id":0,"result":"0x1"},{"id":0,"result":"0x1"}]"#,
            r#"[{"id":0,"result":"0x1"},{"id":2,"result":"0x1"}]"#,
            r#"[{"id":0,"result":"0x1"},{"id":1,"result":"0x1"},{"id":1,"result":"0x1"}]"#,
            r#"[{"id":0,"result":"0x1"},{"id":1,"result":"0x1"}] 7"#,
        ] {
            assert_eq!(check(body, 2), RpcAnswer::Malformed, "{body}");
        }
        let deep = "[".repeat(200_000);
        assert_eq!(check(&deep, 2), RpcAnswer::Malformed);
    }

    #[test]
    fn decodes_numbers_and_code() {
        assert_eq!(decode_number("\"0x00ff\""), Some(U256::from(255)));
        assert_eq!(decode_code("\"0x6001\"").unwrap().as_ref(), [0x60, 1]);
        assert_eq!(decode_code("\"0x\"").unwrap().len(), 0);
        for text in ["\"\"", "\"0x\"", "\"ff\"", "\"0xfg\"", "\"0x+1\"", "7", "null", "[]", "{}"] {
            assert_eq!(decode_number(text), None, "{text}");
        }
        let long = format!("\"0x{}\"", "0".repeat(65));
        assert_eq!(decode_number(&long), None);
        assert_eq!(decode_code("\"0x123\""), None);
    }

    #[test]
    fn decodes_headers_of_chains_without_some_fields() {
        let hash = B256::repeat_byte(7);
        let text = format!(r#"{{"number":"0x10","hash":"{hash}","timestamp":"0x5"}}"#);
        let block = decode_block(&text).unwrap().unwrap();
        let expected = RemoteBlock {
            number: 16,
            hash,
            timestamp: 5,
            gas_limit: u64::MAX,
            ..RemoteBlock::default()
        };
        assert_eq!(block, expected);
        assert_eq!(decode_block("null"), Ok(None));
        for text in [
            "7",
            "{}",
            r#"{"number":16,"hash":"0x1","timestamp":"0x5"}"#,
            &text.replace("0x5", "5"),
            &text.replace("\"0x10\"", "null"),
        ] {
            assert_eq!(decode_block(text), Err(()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn decoding_arbitrary_text_never_panics(text: String, calls in 1_usize..4) {
            let _ = decode_answer(text.as_bytes(), calls);
            let _ = (decode_number(&text), decode_code(&text), decode_block(&text));
        }
    }
}
