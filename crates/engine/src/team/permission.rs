//! Questions to people: a call that waits for permission, and what becomes of it.
//!
//! The question is in the member's log, so it outlives the process: the call is then made again, and
//! waits again. Nobody but a person answers, through [`TeamHandle::answer`]; no tool does.

use super::actor::TeamActor;
use super::handle::{CallError, TeamFault};
use super::input::{Input, ReplyTo};
use super::residency::open_call;
use longboat_core::id::{MemberName, Origin};
use longboat_core::log::Event;
use longboat_core::permission::{Answer, Decider, Grant, QuestionId, Request, Unanswered, Verdict};
use longboat_core::session::Progress;
use longboat_core::team::Standing;

/// What a driver is told about a call: it runs, or this is its result.
pub(crate) type Permit = Result<(), String>;

/// A question as far as this process has come with it.
#[derive(Debug)]
pub(super) enum Question {
    /// The call waits.
    Waiting { origin: Origin, request: Request, reply: ReplyTo<Permit> },
    /// The answer waits, for a call that is still to be made again.
    Answered(Answer),
}

/// Says why an answer is to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefused {
    /// Nobody waits for it.
    #[error("{question} is not an open question; it was answered already, or its turn was ended")]
    NotOpen {
        /// What was answered.
        question: QuestionId,
    },
}

/// What a model is told when a person says no.
pub(super) const REFUSED: &str = "a person was asked and did not permit this call; do not try it in another way, go on without it";

const NOBODY: &str = "not permitted: this call needs a person's permission, and nobody is there who could be asked; do without it, or say what you would need and why";

impl TeamActor {
    /// Decides on a call that has begun, or leaves it to a person.
    pub(super) fn permission(&mut self, origin: Origin, request: Request, reply: ReplyTo<Permit>) {
        let state = self.writer.session(&origin.session);
        let call = state.and_then(|state| open_call(state, origin.step, origin.index));
        // A call that is over needs no answer.
        let Some(call) = call else { return };
        let (progress, id) = (call.progress, call.call.id.clone());
        let key: String = origin.key().into();
        if let Some(Question::Answered(answer)) = self.questions.remove(&key) {
            if answer == Answer::Always {
                self.grant(&request);
            }
            self.permit(reply, permit(answer));
            return;
        }
        let permissions = &self.parts.settings.permissions;
        let verdict = permissions.decide(&request, self.writer.team().grants());
        let decided = match (verdict, permissions.unanswered) {
            (Verdict::Allow, _) | (Verdict::Ask, Unanswered::Allow) => Ok(()),
            (Verdict::Deny { reason }, _) => Err(reason),
            (Verdict::Ask, Unanswered::Deny) => Err(NOBODY.to_owned()),
            (Verdict::Ask, Unanswered::Wait) => {
                if progress != Progress::Asked {
                    let Origin { session, step, index } = origin.clone();
                    let asked = Event::PermissionAsked { step, index, call: id };
                    self.append_all(&session, vec![asked]);
                }
                self.questions.insert(key, Question::Waiting { origin, request, reply });
                return;
            }
        };
        if progress == Progress::Asked {
            let answer = if decided.is_ok() { Answer::Once } else { Answer::No };
            self.append_answer(&origin, answer, Decider::Rules);
        }
        self.permit(reply, decided);
    }

    /// Takes a person's answer.
    pub(super) fn answered(
        &mut self,
        question: QuestionId,
        answer: Answer,
        reply: ReplyTo<Result<(), CallError<AnswerRefused>>>,
    ) {
        if self.closing {
            self.answer(reply, Err(TeamFault::Closed.into()));
            return;
        }
        if self.comes_back(&question.member) {
            // It may be asking as soon as it is here.
            let name = question.member.clone();
            self.stalled.push((name.clone(), Input::Answer { question, answer, reply }));
            self.rouse(&name);
            return;
        }
        let Some(origin) = self.open_question(&question) else {
            let refused = AnswerRefused::NotOpen { question };
            self.answer(reply, Err(CallError::Refused(refused)));
            return;
        };
        self.append_answer(&origin, answer, Decider::Human);
        let key: String = origin.key().into();
        match self.questions.remove(&key) {
            Some(Question::Waiting { request, reply: waiting, .. }) => {
                self.permit(waiting, permit(answer));
                if answer == Answer::Always {
                    self.grant(&request);
                    self.permit_granted();
                }
            }
            Some(Question::Answered(_)) | None => {
                self.questions.insert(key, Question::Answered(answer));
            }
        }
        self.answer(reply, Ok(()));
    }

    /// Says whether a member is out of memory in the middle of a turn, and not too many wait for it.
    fn comes_back(&self, name: &MemberName) -> bool {
        let Some(member) = self.writer.team().roster().get(name) else { return false };
        let waiting = self.stalled.iter().filter(|(stalled, _)| stalled == name).count();
        member.standing == Standing::Active
            && member.activity.turn.is_some()
            && !self.residents.contains_key(&member.session)
            && waiting < self.parts.settings.limits.pending_per_target
    }

    fn open_question(&self, question: &QuestionId) -> Option<Origin> {
        let session = self.session_of(&question.member)?;
        let state = self.writer.session(&session)?;
        let call = open_call(state, question.step, question.index)?;
        let (step, index) = (question.step, question.index);
        (call.progress == Progress::Asked).then_some(Origin { session, step, index })
    }

    fn grant(&mut self, request: &Request) {
        let (lead, team) = (self.writer.lead().clone(), self.team());
        let grant = Grant::of(request);
        self.writer.append(&lead, None, Event::TeamPermission { team, grant });
    }

    /// Lets run what waits for a permission that the team has by now.
    fn permit_granted(&mut self) {
        let grants = self.writer.team().grants();
        let permissions = &self.parts.settings.permissions;
        let granted = |question: &Question| match question {
            Question::Waiting { request, .. } => {
                permissions.decide(request, grants) == Verdict::Allow
            }
            Question::Answered(_) => false,
        };
        let keys = self.questions.iter().filter(|(_, question)| granted(question));
        let keys: Vec<String> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(Question::Waiting { origin, reply, .. }) = self.questions.remove(&key) {
                self.append_answer(&origin, Answer::Once, Decider::Rules);
                self.permit(reply, Ok(()));
            }
        }
    }

    fn append_answer(&mut self, origin: &Origin, answer: Answer, by: Decider) {
        let Origin { session, step, index } = origin;
        let state = self.writer.session(session);
        let call = state.and_then(|state| open_call(state, *step, *index));
        let Some(call) = call.map(|call| call.call.id.clone()) else { return };
        let answered = Event::PermissionAnswered { step: *step, index: *index, call, answer, by };
        self.append_all(session, vec![answered]);
    }

    /// Tells a driver once what it rests on is durable.
    fn permit(&mut self, reply: ReplyTo<Permit>, permit: Permit) {
        self.after_commit(move |fault| {
            if fault.is_none() {
                drop(reply.send(permit));
            }
        });
    }
}

fn permit(answer: Answer) -> Permit {
    match answer {
        Answer::Once | Answer::Always => Ok(()),
        Answer::No => Err(REFUSED.to_owned()),
    }
}
