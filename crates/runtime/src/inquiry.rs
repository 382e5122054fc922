//! Asking the person behind a call, whichever way the protocol revision allows.
//!
//! In the handshake revisions a question goes over the open connection and the call waits. From 2026-07-28 on a call
//! that needs an answer ends, and the next round brings the answers along. There are two ways to go on from there:
//!
//! - [`Inquiry::ask`]: the call runs again from the start, asks the same questions and this time finds them answered. For
//!   our own tools.
//! - [`Inquiry::ask_carrying`]: the next round finds what was carried ([`Inquiry::carried`]) and goes on from there. For an
//!   upstream server that has a state of its own, whose questions may be other ones in each round.
//!
//! An upstream server of the handshake revisions asks in the middle of its call ([`Inquiry::relay`]). Its call cannot be
//! put off, so this reaches only people behind an open connection; for others such a question is declined.

mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use contract::{Code, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::call::{Abilities, Answers, Ask, Person, Question, QuestionKind, Refusal, Stop};
use crate::pipeline::json_size;
use crate::seal::Round;
use waiting::Waiting;

/// What may be carried from one round to the next: the client has to send it back.
pub const MAX_CARRIED_BYTES: usize = 64 * 1024;
/// The questions of an upstream server that are passed on at once.
pub(crate) const MAX_QUESTIONS_BYTES: usize = 256 * 1024;
/// Questions that one call may put to a connected person. More is no conversation but a siege.
const MAX_QUESTIONS: usize = 64;
/// Before the keys of questions that somebody else named, so that none can pose as one of ours.
const FOREIGN: &str = "upstream/";

/// The questions and answers of one call. A clone is the same inquiry, for one who asks from elsewhere while the call runs.
#[derive(Clone)]
pub struct Inquiry {
    inner: Arc<Inner>,
}

struct Inner {
    person: Person,
    /// What earlier rounds sealed.
    past: Round,
    /// A person has agreed to this call, in this round.
    is_approved: AtomicBool,
    /// How long the person has been thinking: time that the tool is not charged for.
    waiting: Waiting,
    patience: Duration,
    put: AtomicUsize,
    /// The call has ended: nobody waits for an answer any more.
    over: CancellationToken,
}

impl Inquiry {
    pub(crate) fn new(person: Person, past: Round, patience: Duration) -> Self {
        let inner = Inner {
            person,
            past,
            is_approved: AtomicBool::new(false),
            waiting: Waiting::default(),
            patience,
            put: AtomicUsize::new(0),
            over: CancellationToken::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn abilities(&self) -> Abilities {
        self.inner.person.abilities()
    }

    /// Whether a question ends the call, and the answer comes with the next round.
    pub fn comes_in_rounds(&self) -> bool {
        matches!(self.inner.person, Person::Rounds(_))
    }

    /// What an earlier round carried; None in the first round of a call.
    pub fn carried(&self) -> Option<&Value> {
        self.inner.past.carried.as_ref()
    }

    /// What this round brought for the questions that were put with what was carried, by their own keys. Some may be missing:
    /// a client need not answer.
    pub fn answers(&self) -> Answers {
        let Person::Rounds(rounds) = &self.inner.person else { return Answers::new() };
        let asked = |key: &&String| self.inner.past.asked.contains(key);
        rounds
            .answers
            .iter()
            .filter(|(key, answer)| asked(key) && answer.is_object())
            .filter_map(|(key, answer)| {
                Some((key.strip_prefix(FOREIGN)?.to_owned(), answer.clone()))
            })
            .collect()
    }

    /// The answers to all of these questions, or the reason to stop here.
    pub async fn ask(&self, questions: Vec<Question>) -> Result<Answers, Stop> {
        self.check_abilities(&questions)?;
        match &self.inner.person {
            // No ability covers any question, so there is none.
            Person::Absent => Ok(Answers::new()),
            Person::Rounds(rounds) => self.answered_in_rounds(&rounds.answers, questions),
            Person::Connected { ask, .. } => {
                let mut answers = Answers::new();
                for question in questions {
                    let answer = self.put(&**ask, &question).await;
                    let answer = answer.map_err(|reason| no_answer(&reason))?;
                    answers.insert(question.key, answer);
                }
                Ok(answers)
            }
        }
    }

    /// The answers of a connected person. Otherwise the call stops here, and the next round goes on with what is carried: it
    /// is sealed, so it comes back as it is, to this very call of this caller, once.
    pub async fn ask_carrying(
        &self,
        questions: Vec<Question>,
        carry: Value,
    ) -> Result<Answers, Stop> {
        within("state", json_size(&carry), MAX_CARRIED_BYTES)?;
        let size = questions.iter().map(Question::size).sum();
        within("questions", size, MAX_QUESTIONS_BYTES)?;
        if !matches!(self.inner.person, Person::Rounds(_)) {
            return self.ask(questions).await;
        }
        self.check_abilities(&questions)?;
        let name =
            |question: Question| Question { key: format!("{FOREIGN}{}", question.key), ..question };
        let questions = questions.into_iter().map(name).collect();
        Err(Stop::Ask { questions, carry: Some(carry) })
    }

    /// Puts the request of an upstream server to a connected person and gives the client's result: `elicitation/create`,
    /// `sampling/createMessage` or `roots/list`. Where nobody can be asked so, an elicitation is declined, and the others
    /// fail with a reason for the upstream server.
    pub async fn relay(&self, method: &str, params: Value) -> Result<Value, String> {
        within("question", json_size(&params), MAX_QUESTIONS_BYTES)
            .map_err(|error| error.message)?;
        let kind = match method {
            "elicitation/create" => QuestionKind::Elicitation(params),
            "sampling/createMessage" => QuestionKind::Sampling(params),
            "roots/list" => QuestionKind::Roots,
            _ => return Err("this is no question that can be passed on".to_owned()),
        };
        let question = Question { key: "relayed".to_owned(), kind };
        match &self.inner.person {
            Person::Connected { abilities, ask } if abilities.cover(&question) => {
                self.put(&**ask, &question).await
            }
            _ if matches!(question.kind, QuestionKind::Elicitation(_)) => {
                Ok(json!({"action": "decline"}))
            }
            _ => Err(format!("the client cannot be asked for {}", question.ability())),
        }
    }

    /// As [`Self::ask`], but an answer counts only if an earlier round of this very call put the question. Without
    /// that, a client could answer what nobody has asked.
    pub(crate) async fn ask_sealed(&self, question: Question) -> Result<Answers, Stop> {
        let past = &self.inner.past;
        match &self.inner.person {
            Person::Rounds(_) if !past.asked.contains(&question.key) => {
                Err(Stop::Ask { questions: vec![question], carry: past.carried.clone() })
            }
            _ => self.ask(vec![question]).await,
        }
    }

    /// Whether a person has agreed to this call already, in an earlier round.
    pub(crate) fn is_approved(&self) -> bool {
        self.inner.past.approved
    }

    pub(crate) fn approved(&self) {
        self.inner.is_approved.store(true, Ordering::Relaxed);
    }

    /// What the next round has to bring back: every question put and every answer given so far. Those of somebody else
    /// are of one round only: what they lead to is in what is carried.
    pub(crate) fn next_round(&self, questions: &[Question], carry: Option<Value>) -> Round {
        let past = &self.inner.past;
        let is_ours = |key: &&String| !key.starts_with(FOREIGN);
        let mut asked: Vec<_> = past.asked.iter().filter(is_ours).cloned().collect();
        asked.extend(questions.iter().map(|question| question.key.clone()));
        asked.sort();
        asked.dedup();
        let mut answers = past.answers.clone();
        if let Person::Rounds(rounds) = &self.inner.person {
            // Only what was asked for: a client cannot have us carry its own luggage.
            let wanted = |key: &&String| is_ours(key) && asked.contains(key);
            let new = rounds.answers.iter().filter(|(key, _)| wanted(key));
            answers.extend(new.map(|(key, answer)| (key.clone(), answer.clone())));
        }
        let approved = past.approved || self.inner.is_approved.load(Ordering::Relaxed);
        Round { asked, answers, carried: carry, approved }
    }

    /// Time spent waiting for the person so far.
    pub(crate) fn waited(&self) -> Duration {
        self.inner.waiting.so_far()
    }

    /// Until it is dropped the call runs; then clones ask nobody any more.
    pub(crate) fn until_dropped(&self) -> DropGuard {
        self.inner.over.clone().drop_guard()
    }

    async fn put(&self, ask: &dyn Ask, question: &Question) -> Result<Value, String> {
        if self.inner.put.fetch_add(1, Ordering::Relaxed) >= MAX_QUESTIONS {
            return Err(format!("one call asks at most {MAX_QUESTIONS} questions"));
        }
        let _waiting = self.inner.waiting.begin();
        tokio::select! {
            biased;
            () = self.inner.over.cancelled() => Err("the call is over".to_owned()),
            answer = tokio::time::timeout(self.inner.patience, ask.ask(question)) => {
                answer.unwrap_or_else(|_| Err("nobody answered in time".to_owned()))
            }
        }
    }

    fn check_abilities(&self, questions: &[Question]) -> Result<(), Stop> {
        let abilities = self.abilities();
        match questions.iter().find(|question| !abilities.cover(question)) {
            Some(question) => Err(Stop::Refuse(Refusal::MissingAbility(question.ability()))),
            None => Ok(()),
        }
    }

    fn answered_in_rounds(&self, new: &Answers, questions: Vec<Question>) -> Result<Answers, Stop> {
        // An answer that is no object cannot be a result of the client: it counts as missing and is asked for again.
        let past = &self.inner.past.answers;
        let find = |key: &String| new.get_key_value(key).or(past.get_key_value(key));
        let answered: Answers = questions
            .iter()
            .filter_map(|question| find(&question.key))
            .filter(|(_, answer)| answer.is_object())
            .map(|(key, answer)| (key.clone(), answer.clone()))
            .collect();
        if answered.len() == questions.len() {
            Ok(answered)
        } else {
            Err(Stop::Ask { questions, carry: None })
        }
    }
}

fn within(what: &str, size: usize, limit: usize) -> Result<(), ToolError> {
    if size <= limit {
        return Ok(());
    }
    let message = format!(
        "the tool asks for more, but its {what} has {size} bytes, over the limit of {limit}"
    );
    Err(ToolError::new(Code::TooLarge, message).with("limit", limit).with("size", size))
}

fn no_answer(reason: &str) -> ToolError {
    ToolError::new(
        Code::ApprovalRequired,
        format!("a question to the person went unanswered: {reason}"),
    )
}
