//! Members that cannot be brought back: their mail waits, it is tried again, and those concerned are
//! told by name.

use super::actor::TeamActor;
use super::handle::TeamFault;
use super::input::Input;
use crate::load::LoadError;
use crate::notice::Notice;
use longboat_core::id::{ItemId, MemberName, MessageId};
use longboat_core::log::{ActivityChange, Event, InboxItem, Lane, Source};
use longboat_store::StoreError;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long until an unreachable member is tried again: doubled at each failure, up to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// After so many failures a run no longer waits for a member; its mail stays owed.
pub(super) const HOPEFUL_ATTEMPTS: u32 = 5;

/// A member that could not be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outage {
    /// Why.
    pub(super) cause: Cause,
    /// How often it was tried.
    pub(super) attempts: u32,
    /// When it is tried next.
    pub(super) retry_at: Instant,
}

/// Why a member could not be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    /// In words.
    pub(super) text: String,
    /// Trying again alone will not help: its log cannot be understood.
    pub(super) lasting: bool,
}

impl Cause {
    pub(super) fn passing(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasting: false }
    }
}

impl From<LoadError> for Cause {
    fn from(error: LoadError) -> Self {
        let lasting = match &error {
            LoadError::Format { .. } | LoadError::Corrupt { .. } | LoadError::Missing { .. } => {
                true
            }
            LoadError::Store { source, .. } => matches!(source, StoreError::Damaged { .. }),
        };
        Self { text: error.line(), lasting }
    }
}

impl Outage {
    /// Says whether a run need not wait for this member.
    pub(super) fn hopeless(&self) -> bool {
        self.cause.lasting || self.attempts >= HOPEFUL_ATTEMPTS
    }
}

impl TeamActor {
    /// Notes that a member could not be brought back. Its mail stays queued, in order; it is tried
    /// again later, and on every change that could help.
    pub(super) fn unreachable(&mut self, member: MemberName, cause: Cause) {
        let before = self.outages.remove(&member);
        let attempts = before.as_ref().map_or(0, |outage| outage.attempts) + 1;
        let doubled = BACKOFF.0.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        let wait = doubled.min(BACKOFF.1);
        self.defer(&member, &cause.text);
        let text = cause.text.clone();
        self.notify(Notice::Unreachable { member: member.clone(), cause: text.clone(), wait });
        self.refuse_stalled(&member, &text);
        if before.is_none_or(|outage| outage.cause != cause) {
            let change = ActivityChange::Unreachable { cause: text };
            self.append_activity(member.clone(), change);
        }
        if cause.lasting {
            self.tell_owed(&member, &cause.text);
        }
        let retry_at = Instant::now() + wait;
        self.outages.insert(member, Outage { cause, attempts, retry_at });
    }

    fn refuse_stalled(&mut self, member: &MemberName, cause: &str) {
        for (name, input) in std::mem::take(&mut self.stalled) {
            match input {
                Input::Prompt { reply, .. } if name == *member => {
                    let fault = TeamFault::Unreachable { name, cause: cause.to_owned() };
                    self.answer(reply, Err(fault));
                }
                Input::Answer { reply, .. } if name == *member => {
                    let fault = TeamFault::Unreachable { name, cause: cause.to_owned() };
                    self.answer(reply, Err(fault.into()));
                }
                input => self.stalled.push((name, input)),
            }
        }
    }

    /// Tells the Lead and the senders that a member does not come back by itself, and which of their
    /// messages are still owed to it. They are told once for the same messages.
    // P20: nothing is dropped silently.
    pub(super) fn tell_owed(&mut self, member: &MemberName, cause: &str) {
        let mailbox = self.writer.team().mailbox();
        let owed: Vec<(MessageId, MemberName)> =
            mailbox.owed_to(member).map(|owed| (owed.id.clone(), owed.from.clone())).collect();
        let Some((last, _)) = owed.last() else { return };
        if !self.told.insert((member.clone(), last.clone())) {
            return;
        }
        let ids: Vec<&str> = owed.iter().map(|(id, _)| id.as_str()).collect();
        let text = format!(
            "{member} cannot read its mail: {cause}. Still owed to it: {}. They stay queued, so do not \
             send them again; give the work to another member, or tell the user.",
            ids.join(", ")
        );
        let mut concerned: BTreeSet<MemberName> = owed.into_iter().map(|(_, from)| from).collect();
        let parent = self.writer.team().roster().parent_of(member).cloned();
        concerned.extend(parent);
        for name in concerned {
            self.tell(&name, member, &text);
        }
    }

    /// Puts a notice of the runtime into the inbox of a member that is in memory.
    fn tell(&mut self, name: &MemberName, about: &MemberName, text: &str) {
        let Some(session) = self.session_of(name).filter(|s| self.residents.contains_key(s)) else {
            return;
        };
        let head = self.writer.session(&session).map_or(0, |state| state.head().0);
        // The place in the log makes it unique.
        let Ok(id) = ItemId::new(format!("notice/{about}/{head}")) else { return };
        let item = InboxItem { id, source: Source::Runtime, text: text.into() };
        let inserted = Event::InboxInserted { lane: Lane::NextStep, item: Arc::new(item) };
        self.writer.append(&session, None, inserted);
        self.advance(&session);
    }
}
