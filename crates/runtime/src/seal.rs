//! Sealed request state: the state that a client carries between two rounds of one call and cannot modify.
//!
//! A state is bound to caller, tool, contract and arguments. It expires after minutes and opens once. The seal is an
//! HMAC (`rmcp`'s codec). The store keeps the nonces of unused states and enforces single use and expiry, so that a
//! clock that is set does not make a state valid again.

use std::sync::Arc;
use std::time::Duration;

use contract::{ErrorCode, ToolError};
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Store;

use crate::call::{CallInterruption, ElicitationAnswers, ProtocolRefusal};

#[derive(Serialize, Deserialize)]
struct SealedState {
    nonce: String,
    round: RoundState,
}

/// The state left by earlier rounds of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RoundState {
    /// The keys of the elicitations sent so far.
    pub(crate) asked: Vec<String>,
    pub(crate) answers: ElicitationAnswers,
    /// State of the invoker, returned to it in the next round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<Value>,
    /// Id of the approval of this call. The first round uses up a queued approval, so later rounds rely on this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
}

/// Seals and opens request states.
pub(crate) struct StateSealer {
    codec: RequestStateCodec,
    store: Arc<dyn Store>,
    lifetime: Duration,
}

/// The call that a state is bound to.
pub(crate) struct StateBinding<'a> {
    pub(crate) principal: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) arguments: &'a str,
}

impl StateBinding<'_> {
    fn to_bytes(&self) -> Vec<u8> {
        // A JSON array, because concatenated strings are ambiguous.
        serde_json::to_vec(&[self.principal, self.tool, self.contract, self.arguments])
            .expect("strings always serialize")
    }
}

impl StateSealer {
    pub(crate) fn new(key: [u8; 32], store: Arc<dyn Store>, lifetime: Duration) -> Self {
        let codec = RequestStateCodec::try_new(key).expect("32 bytes are a valid key length");
        Self { codec, store, lifetime }
    }

    /// Returns the sealed state of a round, whose nonce is in the store.
    pub(crate) async fn seal(
        &self,
        binding: &StateBinding<'_>,
        round: RoundState,
    ) -> Result<String, CallInterruption> {
        let mut nonce = [0_u8; 16];
        getrandom::fill(&mut nonce)
            .map_err(|_| seal_error(ErrorCode::InternalError, "no random bytes for the nonce"))?;
        let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        if let Err(error) = self.store.issue_nonce(&nonce, binding.principal, self.lifetime).await {
            tracing::error!(%error, "failed to record the request state");
            return Err(seal_error(ErrorCode::StorageUnavailable, "the store is unavailable"));
        }
        let sealed = SealedState { nonce, round };
        let binding = binding.to_bytes();
        let options = SealOptions::new().associated_data(&binding).ttl(self.lifetime);
        self.codec
            .seal_json_with(&sealed, &options)
            .map_err(|_| seal_error(ErrorCode::InternalError, "failed to seal the answers"))
    }

    /// Opens a sealed state and returns its content. Refuses altered, expired, foreign and used states.
    pub(crate) async fn open(
        &self,
        binding: &StateBinding<'_>,
        state: &str,
    ) -> Result<RoundState, CallInterruption> {
        let refuse = |why: &str| {
            CallInterruption::Refuse(ProtocolRefusal::InvalidState(format!(
                "invalid requestState: {why}; call again without requestState and inputResponses"
            )))
        };
        let sealed: SealedState =
            self.codec.open_json_with(state, &binding.to_bytes()).map_err(|error| match error {
                rmcp::model::RequestStateError::Expired => refuse("it has expired"),
                _ => refuse("it was altered or belongs to another call"),
            })?;
        match self.store.use_nonce(&sealed.nonce).await {
            Ok(true) => Ok(sealed.round),
            Ok(false) => Err(refuse("it was used before or has expired")),
            Err(error) => {
                tracing::error!(%error, "failed to record the used request state");
                Err(refuse("its use could not be recorded"))
            }
        }
    }
}

fn seal_error(code: ErrorCode, cause: &str) -> CallInterruption {
    tracing::error!(cause, "failed to create a request state");
    ToolError::new(code, "failed to suspend the call; see the server log for the cause").into()
}

#[cfg(test)]
mod tests {
    use store::{SqliteStore, StateDir};

    use super::*;

    fn open_store(folder: &std::path::Path) -> Arc<dyn Store> {
        let state = StateDir::open(folder.join(".vouch")).unwrap();
        Arc::new(SqliteStore::open(&state).unwrap())
    }

    fn bind<'a>(parts: [&'a str; 4]) -> StateBinding<'a> {
        let [principal, tool, contract, arguments] = parts;
        StateBinding { principal, tool, contract, arguments }
    }

    /// Returns why the state was refused.
    fn refusal(result: Result<RoundState, CallInterruption>) -> String {
        match result {
            Err(CallInterruption::Refuse(ProtocolRefusal::InvalidState(why))) => why,
            Err(_) => panic!("another error"),
            Ok(_) => panic!("the state was opened"),
        }
    }

    #[tokio::test]
    async fn state_opens_only_for_its_own_call() {
        const OWN: [&str; 4] = ["ann", "write", "sha256:c", "sha256:a"];
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path());
        let sealer = StateSealer::new([7; 32], Arc::clone(&store), Duration::from_secs(60));
        let round = || RoundState { asked: vec!["q".into()], ..RoundState::default() };
        let state = sealer.seal(&bind(OWN), round()).await.unwrap();

        let foreign = "invalid requestState: it was altered or belongs to another call; \
                       call again without requestState and inputResponses";
        for index in 0..OWN.len() {
            let mut other = OWN;
            other[index] = "other";
            assert_eq!(refusal(sealer.open(&bind(other), &state).await), foreign, "{other:?}");
        }
        // The same text, divided differently.
        let shifted = ["annw", "rite", "sha256:c", "sha256:a"];
        assert_eq!(refusal(sealer.open(&bind(shifted), &state).await), foreign);
        let other_key = StateSealer::new([8; 32], Arc::clone(&store), Duration::from_secs(60));
        assert_eq!(refusal(other_key.open(&bind(OWN), &state).await), foreign);
        let altered = format!("{}A", &state[..state.len() - 1]);
        let altered =
            if altered == state { format!("{}B", &state[..state.len() - 1]) } else { altered };
        assert_eq!(refusal(sealer.open(&bind(OWN), &altered).await), foreign);

        assert_eq!(sealer.open(&bind(OWN), &state).await.unwrap().asked, ["q"]);
        let used = refusal(sealer.open(&bind(OWN), &state).await);
        assert!(used.contains("it was used before or has expired"), "{used}");
    }

    #[tokio::test]
    async fn state_without_a_nonce_in_the_store_is_refused() {
        const OWN: [&str; 4] = ["ann", "write", "c", "a"];
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sealer = StateSealer::new([7; 32], open_store(folder.path()), Duration::from_secs(60));
        let state = sealer.seal(&bind(OWN), RoundState::default()).await.unwrap();
        let stranger = StateSealer::new([7; 32], open_store(other.path()), Duration::from_secs(60));
        let why = refusal(stranger.open(&bind(OWN), &state).await);
        assert!(why.contains("it was used before or has expired"), "{why}");
    }
}
