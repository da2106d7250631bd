//! The agent loop's decisions: what a session does next, as a function of its log.

use super::SessionState;
use crate::content::{FinishReason, ToolCall};
use crate::id::{ItemId, StepNo, TurnNo};
use crate::log::{Event, StepOutcome, Trigger, TurnOutcome};

/// Where a session is in its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// No turn is open.
    Idle,
    /// A turn is open, between two steps.
    Between {
        /// The open turn.
        turn: TurnNo,
        /// No step of it has begun.
        first: bool,
        /// The model wants to go on: its last reply had tool calls, or its last step was cut.
        more: bool,
    },
    /// A request was made and there is no reply.
    Asking {
        /// The open turn.
        turn: TurnNo,
        /// The open step.
        step: StepNo,
    },
    /// There is a reply; its calls, if any, are being answered.
    Calling {
        /// The open turn.
        turn: TurnNo,
        /// The open step.
        step: StepNo,
        /// The reply's calls, in order.
        calls: Vec<Call>,
    },
}

/// A tool call of the open step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// As the model wrote it.
    pub call: ToolCall,
    /// How far it is.
    pub progress: Progress,
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It has not begun.
    Waiting,
    /// It has begun; its effect may have happened.
    Started,
    /// It waits for a person's permission, and has had no effect.
    Asked,
    /// A person refused it; it has had no effect.
    Refused,
    /// Its result is recorded.
    Answered,
}

impl Progress {
    /// Says whether a call has begun and has no result.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Started | Self::Asked | Self::Refused => true,
            Self::Waiting | Self::Answered => false,
        }
    }

    /// Says whether it is certain that the call had no effect.
    #[must_use]
    pub fn is_without_effect(self) -> bool {
        match self {
            Self::Waiting | Self::Asked | Self::Refused => true,
            Self::Started | Self::Answered => false,
        }
    }
}

/// What a session does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Nothing: it is idle and its inbox is empty.
    Rest,
    /// Append these, then ask again. No effect stands between them and the log.
    Append(Vec<Event>),
    /// Make the model request of the open step.
    AskModel {
        /// The open step.
        step: StepNo,
    },
    /// Run the calls that have not begun; those that have are still under way.
    RunCalls {
        /// The open step.
        step: StepNo,
    },
}

impl SessionState {
    /// Decides what to do next.
    ///
    /// The answer `Rest` and the change to idle are one: the records that end a turn are only
    /// returned while `next-step` is empty, and the caller appends them before it reads another
    /// input. // P4: nothing can come between the look and the change.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.phase() {
            Phase::Idle if self.inbox().is_empty() => Next::Rest,
            Phase::Idle => Next::Append(vec![Event::TurnStarted {
                turn: self.last_turn().next(),
                trigger: self.trigger(),
            }]),
            Phase::Between { turn, first, more } => {
                if *first || *more || self.inbox().has_next_step() {
                    Next::Append(self.step_events(*turn, self.inbox().claimable(*first)))
                } else {
                    let outcome = self.finish().outcome();
                    Next::Append(vec![Event::TurnEnded { turn: *turn, outcome }])
                }
            }
            Phase::Asking { step, .. } => Next::AskModel { step: *step },
            Phase::Calling { step, calls, .. } => {
                if calls.iter().all(|call| call.progress == Progress::Answered) {
                    let outcome = StepOutcome::Whole;
                    Next::Append(vec![Event::StepEnded { step: *step, outcome }])
                } else {
                    Next::RunCalls { step: *step }
                }
            }
        }
    }

    fn trigger(&self) -> Trigger {
        if self.inbox().has_next_turn() { Trigger::Prompt } else { Trigger::Steer }
    }

    fn step_events(&self, turn: TurnNo, claim: Vec<ItemId>) -> Vec<Event> {
        let step = self.last_step().next();
        let mut events = Vec::with_capacity(2);
        if !claim.is_empty() {
            events.push(Event::InboxClaimed { step, items: claim });
        }
        events.push(Event::StepStarted { turn, step });
        events
    }
}

impl FinishReason {
    /// How a turn ends whose last reply ended so. One that was cut is not the answer it seems to be.
    fn outcome(self) -> TurnOutcome {
        let reason = match self {
            Self::Done => return TurnOutcome::Completed,
            Self::Length => {
                "the reply was cut at the limit of its length; set max_output_tokens higher, or ask for \
                 less at once"
            }
            Self::ContentFilter => "the provider withheld the rest of the reply (content filter)",
        };
        TurnOutcome::Failed { reason: reason.to_owned() }
    }
}

impl Phase {
    /// The open turn, if one is open.
    #[must_use]
    pub fn turn(&self) -> Option<TurnNo> {
        match self {
            Self::Idle => None,
            Self::Between { turn, .. } | Self::Asking { turn, .. } | Self::Calling { turn, .. } => {
                Some(*turn)
            }
        }
    }
}
