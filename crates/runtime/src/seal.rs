//! Sealed request state: what a client carries between two rounds of one call and cannot change.
//!
//! A state is bound to caller, tool, contract and arguments, lives for minutes, and opens once. The seal is an HMAC
//! (`rmcp`'s codec); single use needs memory, which the store has.

use std::sync::Arc;
use std::time::Duration;

use contract::{Code, ToolError};
use jiff::Timestamp;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Store;

use crate::call::{Answers, Refusal, Stop};

#[derive(Serialize, Deserialize)]
struct Sealed {
    nonce: String,
    round: Round,
}

/// What earlier rounds left behind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Round {
    /// The keys of the questions that were put.
    pub(crate) asked: Vec<String>,
    pub(crate) answers: Answers,
    /// What an invoker wants to find again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<Value>,
    /// A person has agreed to the call. An approval of the queue is used up by the first round.
    #[serde(default)]
    pub(crate) approved: bool,
}

pub(crate) struct Seal {
    codec: RequestStateCodec,
    store: Arc<dyn Store>,
    lifetime: Duration,
}

/// What a state is bound to.
pub(crate) struct Binding<'a> {
    pub(crate) principal: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) arguments: &'a str,
}

impl Binding<'_> {
    fn bytes(&self) -> Vec<u8> {
        // A JSON array, because joined strings could be split in more than one way.
        serde_json::to_vec(&[self.principal, self.tool, self.contract, self.arguments])
            .expect("strings always serialise")
    }
}

impl Seal {
    pub(crate) fn new(key: [u8; 32], store: Arc<dyn Store>, lifetime: Duration) -> Self {
        let codec = RequestStateCodec::try_new(key).expect("32 bytes are a valid key length");
        Self { codec, store, lifetime }
    }

    pub(crate) fn close(&self, binding: &Binding<'_>, round: Round) -> Result<String, Stop> {
        let mut nonce = [0_u8; 16];
        getrandom::fill(&mut nonce).map_err(|_| defect("no randomness for a request state"))?;
        let nonce = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let sealed = Sealed { nonce, round };
        let binding = binding.bytes();
        let options = SealOptions::new().associated_data(&binding).ttl(self.lifetime);
        self.codec
            .seal_json_with(&sealed, &options)
            .map_err(|_| defect("the answers could not be sealed"))
    }

    /// What is inside. Altered, expired, foreign and used states are refused.
    pub(crate) async fn open(&self, binding: &Binding<'_>, state: &str) -> Result<Round, Stop> {
        let refuse = |why: &str| {
            Stop::Refuse(Refusal::BadState(format!(
                "requestState refused: {why}; call again without requestState and inputResponses"
            )))
        };
        let sealed: Sealed =
            self.codec.open_json_with(state, &binding.bytes()).map_err(|error| match error {
                rmcp::model::RequestStateError::Expired => refuse("it has expired"),
                _ => refuse("it was altered or belongs to another call"),
            })?;
        let expires = Timestamp::now()
            .checked_add(jiff::SignedDuration::try_from(self.lifetime).unwrap_or_default())
            .unwrap_or(Timestamp::MAX);
        match self.store.use_nonce(&sealed.nonce, expires).await {
            Ok(true) => Ok(sealed.round),
            Ok(false) => Err(refuse("it was used before")),
            Err(error) => {
                tracing::error!(%error, "the store cannot remember a used request state");
                Err(refuse("its single use cannot be recorded now"))
            }
        }
    }
}

fn defect(cause: &str) -> Stop {
    tracing::error!(cause, "a request state could not be made");
    ToolError::new(
        Code::InternalError,
        "the call could not be put off; the server's log has the cause",
    )
    .into()
}
