//! A member as somebody who watches it knows it: what it does now, what it cost, and where its steps
//! lie in its log.

use crate::text::{one_line, tail};
use longboat_core::content::{Reply, ToolOutcome, Usage};
use longboat_core::id::{ItemId, Seq, StepNo, TurnNo};
use longboat_core::log::{Event, InboxItem, Lane, Record};
use longboat_core::price::Spending;
use longboat_core::time::Timestamp;
use longboat_engine::Delta;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a reply in progress that are kept: its end.
const STREAM_BYTES: usize = 16_384;
/// Characters of a call's arguments that are kept.
const ARGUMENT_CHARS: usize = 160;

/// A member, watched.
#[derive(Debug, Clone)]
pub struct MemberWatch {
    model: Option<String>,
    spending: Spending,
    turn: Option<(TurnNo, Timestamp)>,
    /// Where each group of records begins that ends with a step.
    groups: Vec<Seq>,
    open: OpenGroup,
    pending: Vec<(Lane, Timestamp, Arc<InboxItem>)>,
    doing: Doing,
    calls: Vec<CallWatch>,
    questions: Vec<Question>,
    stream: Stream,
    here: bool,
}

/// Records that belong to one step: what led to it, what it said and did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Its number in the session's log, from 0.
    pub number: usize,
    /// What was heard at its step boundary.
    pub heard: Vec<Arc<InboxItem>>,
    /// Those of its records that a conversation shows.
    pub records: Vec<Arc<Record>>,
}

/// The group that has not ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenGroup {
    /// What was heard.
    pub heard: Vec<Arc<InboxItem>>,
    /// Its records so far.
    pub records: Vec<Arc<Record>>,
}

/// What a member does at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Nothing.
    Nothing,
    /// It made a model request.
    Asking {
        /// When.
        since: Timestamp,
    },
    /// It runs tools.
    Calling {
        /// Since when.
        since: Timestamp,
    },
    /// Its conversation is being summed up.
    SummingUp {
        /// Since when.
        since: Timestamp,
    },
    /// Its request failed and will be made again.
    Retrying {
        /// Why.
        reason: String,
        /// When it failed.
        at: Timestamp,
        /// How long after that it is made again.
        wait: Duration,
    },
    /// It cannot be brought into memory, and its mail waits.
    Unreachable {
        /// Why.
        cause: String,
        /// When it was last tried.
        at: Timestamp,
        /// How long after that it is tried again.
        wait: Duration,
    },
}

/// A tool call of the open step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallWatch {
    /// The tool.
    pub name: String,
    /// The beginning of what it is called with, on one line.
    pub arguments: String,
    /// Since when it runs.
    pub started: Option<Timestamp>,
    /// Whether it waits for a person's permission.
    pub asked: bool,
    /// What came of it.
    pub outcome: Option<Arc<ToolOutcome>>,
}

/// A call that waits for a person's permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The step whose reply holds the call.
    pub step: StepNo,
    /// Its place in that reply.
    pub index: u32,
    /// Since when it waits.
    pub at: Timestamp,
    /// The tool.
    pub tool: String,
    /// What it is called with, whole.
    pub arguments: String,
}

/// A reply that is coming in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The end of its text so far.
    pub text: String,
    /// The end of its reasoning so far.
    pub reasoning: String,
    /// The tools it calls so far.
    pub calls: Vec<String>,
}

impl Default for MemberWatch {
    fn default() -> Self {
        Self {
            model: None,
            spending: Spending::default(),
            turn: None,
            groups: vec![Seq(0)],
            open: OpenGroup::default(),
            pending: Vec::new(),
            doing: Doing::Nothing,
            calls: Vec::new(),
            questions: Vec::new(),
            stream: Stream::default(),
            here: true,
        }
    }
}

/// Says whether a conversation shows records of such a kind. What it does not show is not read.
#[must_use]
pub fn shows(kind: &str) -> bool {
    !kind.starts_with("team/") && !matches!(kind, "session/created" | "session/configured")
}

impl MemberWatch {
    pub(super) fn record(&mut self, record: &Arc<Record>) {
        if shows(record.event.kind()) {
            self.open.records.push(Arc::clone(record));
        }
        match &record.event {
            Event::SessionConfigured { model, .. } => self.model = Some(model.clone()),
            Event::InboxInserted { lane, item } => {
                self.pending.push((*lane, record.at, Arc::clone(item)));
            }
            Event::InboxClaimed { items, .. } => {
                let heard: Vec<_> = items.iter().filter_map(|item| self.take(item)).collect();
                self.open.heard.extend(heard);
            }
            Event::ContextCompacted { usage, .. } => {
                self.spend(*usage);
                self.doing = Doing::Nothing;
            }
            Event::InboxDiscarded { items, .. } => {
                items.iter().for_each(|item| drop(self.take(item)));
            }
            Event::TurnStarted { turn, .. } => {
                (self.turn, self.here) = (Some((*turn, record.at)), true);
                self.doing = Doing::Nothing;
            }
            Event::TurnEnded { .. } => {
                (self.turn, self.doing) = (None, Doing::Nothing);
                self.calls.clear();
            }
            Event::StepStarted { .. } => {
                self.stream = Stream::default();
                self.calls.clear();
                self.doing = Doing::Asking { since: record.at };
            }
            Event::AssistantMessage { reply, .. } => {
                self.replied(reply, record.at);
            }
            Event::ToolStarted { index, .. } => {
                if let Some(call) = self.calls.get_mut(*index as usize) {
                    call.started = Some(record.at);
                }
            }
            Event::PermissionAsked { step, index, .. } => self.asked(*step, *index, record.at),
            Event::PermissionAnswered { index, .. } => self.unasked(*index),
            Event::ToolResult { index, outcome, .. } => {
                self.unasked(*index);
                if let Some(call) = self.calls.get_mut(*index as usize) {
                    call.outcome = Some(Arc::clone(outcome));
                }
            }
            Event::StepEnded { .. } => {
                self.groups.push(record.seq.next());
                self.open = OpenGroup::default();
                self.stream = Stream::default();
                self.doing = Doing::Nothing;
            }
            Event::SessionCreated { .. }
            | Event::TeamMember { .. }
            | Event::TeamActivity { .. }
            | Event::TeamTask { .. }
            | Event::TeamMessageQueued { .. }
            | Event::TeamMessageDelivered { .. }
            | Event::TeamPermission { .. }
            | Event::Ignored { .. } => {}
        }
    }

    fn asked(&mut self, step: StepNo, index: u32, at: Timestamp) {
        if let Some(call) = self.calls.get_mut(index as usize) {
            call.asked = true;
        }
        let reply = self.open.records.iter().rev().find_map(|record| match &record.event {
            Event::AssistantMessage { reply, .. } => Some(reply),
            _ => None,
        });
        let call = reply.and_then(|reply| reply.calls().nth(index as usize));
        self.questions.extend(call.map(|call| Question {
            step,
            index,
            at,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
        }));
    }

    fn unasked(&mut self, place: u32) {
        self.questions.retain(|question| question.index != place);
        if let Some(call) = self.calls.get_mut(place as usize) {
            call.asked = false;
        }
    }

    fn replied(&mut self, reply: &Reply, at: Timestamp) {
        self.spend(reply.usage);
        self.stream = Stream::default();
        let calls = reply.calls().map(|call| CallWatch {
            name: one_line(&call.name, ARGUMENT_CHARS),
            arguments: gist(&call.arguments),
            started: None,
            asked: false,
            outcome: None,
        });
        self.calls = calls.collect();
        self.doing = match self.calls.is_empty() {
            true => Doing::Nothing,
            false => Doing::Calling { since: at },
        };
    }

    fn spend(&mut self, usage: Usage) {
        self.spending.add(self.model.as_deref().unwrap_or_default(), usage);
    }

    fn take(&mut self, id: &ItemId) -> Option<Arc<InboxItem>> {
        let place = self.pending.iter().position(|(_, _, item)| item.id == *id)?;
        Some(self.pending.remove(place).2)
    }

    pub(super) fn streaming(&mut self, delta: &Delta) {
        // What comes while it waits to ask again is of the new request.
        if let Doing::Retrying { at, .. } = &self.doing {
            (self.doing, self.stream) = (Doing::Asking { since: *at }, Stream::default());
        }
        match delta {
            Delta::Text(text) => extend(&mut self.stream.text, text),
            Delta::Reasoning(text) => extend(&mut self.stream.reasoning, text),
            Delta::Call(name) => {
                if self.stream.calls.len() < longboat_core::limits::CALLS_PER_REPLY {
                    self.stream.calls.push(one_line(name, ARGUMENT_CHARS));
                }
            }
        }
    }

    pub(super) fn retrying(&mut self, reason: &str, at: Timestamp, wait: Duration) {
        self.stream = Stream::default();
        self.doing = Doing::Retrying { reason: reason.to_owned(), at, wait };
    }

    pub(super) fn summing_up(&mut self, since: Timestamp) {
        self.doing = Doing::SummingUp { since };
    }

    pub(super) fn unreachable(&mut self, cause: &str, at: Timestamp, wait: Duration) {
        self.doing = Doing::Unreachable { cause: cause.to_owned(), at, wait };
    }

    pub(super) fn here(&mut self, here: bool) {
        self.here = here;
        if here && matches!(self.doing, Doing::Unreachable { .. }) {
            self.doing = Doing::Nothing;
        }
    }

    pub(super) fn moved(&mut self) {
        self.stream = Stream::default();
        if matches!(self.doing, Doing::Retrying { .. } | Doing::Unreachable { .. }) {
            self.doing = Doing::Nothing;
        }
    }

    /// Says whether it is in memory when its team is.
    pub(super) fn is_here(&self) -> bool {
        self.here
    }

    /// Says whether a turn is open, or must begin.
    pub(super) fn busy(&self) -> bool {
        self.turn.is_some() || !self.pending.is_empty()
    }

    /// The model it asks, as the configuration names it.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The tokens of all its requests.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.spending.usage()
    }

    /// The same, by model.
    #[must_use]
    pub fn spending(&self) -> &Spending {
        &self.spending
    }

    /// The open turn, and since when it is.
    #[must_use]
    pub fn turn(&self) -> Option<(TurnNo, Timestamp)> {
        self.turn
    }

    /// What it does now.
    #[must_use]
    pub fn doing(&self) -> &Doing {
        &self.doing
    }

    /// The calls of its open step, in order.
    #[must_use]
    pub fn calls(&self) -> &[CallWatch] {
        &self.calls
    }

    /// Its calls that wait for a person's permission.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Its reply that is coming in.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What is in its inbox, since when, in the order in which it came.
    #[must_use]
    pub fn pending(&self) -> &[(Lane, Timestamp, Arc<InboxItem>)] {
        &self.pending
    }

    /// How many groups of records ended; the group of this number is open.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.groups.len() - 1
    }

    /// Where the records of a group that ended lie: from the first to before the last.
    #[must_use]
    pub fn range(&self, group: usize) -> Option<(Seq, Seq)> {
        Some((*self.groups.get(group)?, *self.groups.get(group + 1)?))
    }

    /// The group that has not ended.
    #[must_use]
    pub fn open_group(&self) -> Group {
        let OpenGroup { heard, records } = self.open.clone();
        Group { number: self.ended(), heard, records }
    }
}

fn extend(text: &mut String, more: &str) {
    text.push_str(more);
    // Not at each piece: cutting copies what is kept.
    if text.len() > 2 * STREAM_BYTES {
        *text = tail(text, STREAM_BYTES).to_owned();
    }
}

/// What a call is about, in a few words: the values of its arguments, or their text as it is.
pub(crate) fn gist(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(arguments) else {
        return one_line(arguments, ARGUMENT_CHARS);
    };
    let first = ["command", "path", "pattern", "target", "name", "task_id", "subject"];
    let long = ["content", "old", "new", "description", "expected_revision", "since", "timeout_ms"];
    let mut keys: Vec<&String> =
        object.keys().filter(|key| !long.contains(&key.as_str())).collect();
    keys.sort_by_key(|key| first.iter().position(|f| f == key).unwrap_or(first.len()));
    let values = keys.into_iter().filter_map(|key| match object.get(key)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Null => None,
        other => Some(format!("{key} {other}")),
    });
    one_line(&values.take(3).collect::<Vec<_>>().join(" · "), ARGUMENT_CHARS)
}
