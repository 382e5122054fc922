//! Asking the person behind a call, whichever way the protocol revision allows.
//!
//! In the handshake revisions a question goes over the open connection and the call waits. From 2026-07-28 on a call
//! that needs an answer ends; the next round runs it again from the start and brings the answers along, so an invoker
//! asks the same questions and this time finds them answered.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use contract::{Code, ToolError};

use crate::call::{Abilities, Answers, Person, Question, Refusal, Stop};
use crate::seal::Round;

/// The questions and answers of one call.
pub struct Inquiry {
    person: Person,
    /// What earlier rounds sealed.
    past: Round,
    /// How long the person has been thinking: time that the tool is not charged for.
    waiting: Mutex<Waiting>,
    patience: Duration,
}

#[derive(Default)]
struct Waiting {
    since: Option<Instant>,
    before: Duration,
}

impl Inquiry {
    pub(crate) fn new(person: Person, past: Round, patience: Duration) -> Self {
        Self { person, past, waiting: Mutex::default(), patience }
    }

    pub fn abilities(&self) -> Abilities {
        self.person.abilities()
    }

    /// What the next round has to bring back: every question put and every answer given so far.
    pub(crate) fn next_round(&self, questions: &[Question]) -> Round {
        let mut asked = self.past.asked.clone();
        asked.extend(questions.iter().map(|question| question.key.clone()));
        asked.sort();
        asked.dedup();
        let mut answers = self.past.answers.clone();
        if let Person::Rounds(rounds) = &self.person {
            // Only what was asked for: a client cannot have us carry its own luggage.
            let wanted = rounds.answers.iter().filter(|(key, _)| asked.contains(key));
            answers.extend(wanted.map(|(key, answer)| (key.clone(), answer.clone())));
        }
        Round { asked, answers }
    }

    /// As [`Self::ask`], but an answer counts only if an earlier round of this very call put the question. Without
    /// that, a client could answer what nobody has asked.
    pub(crate) async fn ask_sealed(&self, question: Question) -> Result<Answers, Stop> {
        let asked = self.past.asked.contains(&question.key);
        match &self.person {
            Person::Rounds(_) if !asked => Err(Stop::Ask(vec![question])),
            _ => self.ask(vec![question]).await,
        }
    }

    /// The answers to all of these questions, or the reason to stop here.
    pub async fn ask(&self, questions: Vec<Question>) -> Result<Answers, Stop> {
        let abilities = self.abilities();
        if let Some(question) = questions.iter().find(|question| !abilities.cover(question)) {
            return Err(Stop::Refuse(Refusal::MissingAbility(question.ability())));
        }
        match &self.person {
            // No ability covers any question, so there is none.
            Person::Absent => Ok(Answers::new()),
            Person::Rounds(rounds) => self.answered_in_rounds(&rounds.answers, questions),
            Person::Connected { ask, .. } => {
                let mut answers = Answers::new();
                for question in questions {
                    self.begin_waiting();
                    let answer = tokio::time::timeout(self.patience, ask.ask(&question)).await;
                    self.end_waiting();
                    let answer = match answer {
                        Ok(Ok(answer)) => answer,
                        Ok(Err(reason)) => return Err(no_answer(&reason).into()),
                        Err(_) => return Err(no_answer("nobody answered in time").into()),
                    };
                    answers.insert(question.key, answer);
                }
                Ok(answers)
            }
        }
    }

    fn answered_in_rounds(&self, new: &Answers, questions: Vec<Question>) -> Result<Answers, Stop> {
        // An answer that is no object cannot be a result of the client: it counts as missing and is asked for again.
        let find = |key: &String| new.get_key_value(key).or(self.past.answers.get_key_value(key));
        let answered: Answers = questions
            .iter()
            .filter_map(|question| find(&question.key))
            .filter(|(_, answer)| answer.is_object())
            .map(|(key, answer)| (key.clone(), answer.clone()))
            .collect();
        if answered.len() == questions.len() { Ok(answered) } else { Err(Stop::Ask(questions)) }
    }

    /// Time spent waiting for the person so far.
    pub(crate) fn waited(&self) -> Duration {
        let waiting = self.lock();
        waiting.before + waiting.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn begin_waiting(&self) {
        self.lock().since = Some(Instant::now());
    }

    fn end_waiting(&self) {
        let mut waiting = self.lock();
        if let Some(since) = waiting.since.take() {
            waiting.before += since.elapsed();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn no_answer(reason: &str) -> ToolError {
    ToolError::new(
        Code::ApprovalRequired,
        format!("a question to the person went unanswered: {reason}"),
    )
}
