//! Sending and delivering: queue, admit, acknowledge, and wake.

use super::actor::{Effect, TeamActor};
use super::handle::{By, CallError, Caller, TeamFault};
use super::input::{Acceptance, Input, Queued, ReplyTo};
use super::residency::is_member;
use longboat_core::id::{EventKey, ItemId, MemberName, SessionId};
use longboat_core::limits::PROMPT_BYTES;
use longboat_core::log::{Event, InboxItem, Lane, Scope, Sender, Source};
use longboat_core::team::{OwedMessage, SendRefused, Standing, decide_send};
use std::sync::Arc;
use tokio::sync::oneshot;

impl TeamActor {
    /// Queues a message, and admits it in the same commit when its target can take it.
    pub(super) fn send(
        &mut self,
        caller: &Caller,
        target: &str,
        text: String,
        reply: ReplyTo<Result<Queued, CallError<SendRefused>>>,
    ) {
        if self.closing {
            self.answer(reply, Err(TeamFault::Closed.into()));
            return;
        }
        if self.is_repeated(caller) {
            self.answer(reply, Err(TeamFault::Repeated.into()));
            return;
        }
        let team = self.writer.team();
        let parts = (self.writer.lead(), team.roster(), team.mailbox());
        let unread = |name: &MemberName| self.unread(name);
        let limits = &self.parts.settings.limits;
        let decided = decide_send(parts, limits, &caller.name, target, &text, &unread);
        let (message, to) = match decided {
            Ok(decided) => decided,
            Err(refused) => {
                self.answer(reply, Err(CallError::Refused(refused)));
                return;
            }
        };
        let (team, lead) = (self.team(), self.writer.lead().clone());
        let queued = Event::TeamMessageQueued {
            team,
            message: message.clone(),
            from: caller.name.clone(),
            to: to.clone(),
            text: text.into(),
        };
        // P2: queued stands in the Lead's log before, or together with, any delivery.
        self.writer.append(&lead, Some(caller.key()), queued);
        let kind = self.session_of(&caller.name);
        let kind = kind.and_then(|session| self.writer.session(&session)).map(|s| s.kind());
        let called = kind.map_or_else(|| to.to_string(), |kind| kind.calls(&to));
        self.remember(caller, Effect::Message(message.clone(), called.clone()));
        self.deliver_owed(&to);
        let owed = self.writer.team().mailbox().owed_to(&to).any(|owed| owed.id == message);
        let acceptance = if owed {
            let (sender, receiver) = oneshot::channel();
            self.accepting.insert(message.clone(), sender);
            self.rouse(&to);
            Err(receiver)
        } else {
            Ok(())
        };
        self.answer(reply, Ok(Queued { message, to: called, acceptance }));
    }

    /// Admits everything owed to a member that is in memory, oldest first, and wakes it.
    pub(super) fn deliver_owed(&mut self, to: &MemberName) {
        let Some(target) = self.session_of(to) else { return };
        if self.closing || !self.admissible(&target, to) {
            return;
        }
        let owed: Vec<OwedMessage> = self.writer.team().mailbox().owed_to(to).cloned().collect();
        for message in owed {
            self.admit(&target, message);
        }
        self.advance(&target);
    }

    // P10: mail goes from this Lead's mailbox to the Lead itself or to its direct child, and the
    // sender is the one on record. Nothing a model or an outsider can call reaches this.
    fn admissible(&self, target: &SessionId, to: &MemberName) -> bool {
        if !self.residents.contains_key(target) {
            return false;
        }
        match self.writer.session(target).map(|state| state.kind()) {
            Some(kind) if kind.child_of().is_some() => is_member(kind, self.writer.lead(), to),
            Some(_) => to.is_lead(),
            None => false,
        }
    }

    fn admit(&mut self, target: &SessionId, message: OwedMessage) {
        let (team, lead) = (self.team(), self.writer.lead().clone());
        let Some(session) = self.session_of(&message.from) else { return };
        let id = ItemId::message(&team, &message.id);
        let known = self.residents.get_mut(target).is_some_and(|r| r.already.remove(&message.id));
        if !known {
            let source = self.source(&message, session);
            let key = EventKey::inbox(&id);
            let item = Arc::new(InboxItem { id, source, text: message.text });
            // P6: under the message's key it enters the target's log at most once.
            let inserted = Event::InboxInserted { lane: Lane::NextStep, item };
            self.writer.append(target, Some(key), inserted);
        }
        // P5: the acknowledgement stands after, or together with, the insertion.
        let key = EventKey::delivered(&message.id);
        let delivered =
            Event::TeamMessageDelivered { team, message: message.id.clone(), to: message.to };
        self.writer.append(&lead, Some(key), delivered);
        if let Some(waiting) = self.accepting.remove(&message.id) {
            self.after_commit(move |fault| {
                if fault.is_none() {
                    drop(waiting.send(Acceptance::Accepted));
                }
            });
        }
    }

    // P10a: outside a team a message says what its sender is to its reader, and never that it is a
    // team's.
    fn source(&self, message: &OwedMessage, session: SessionId) -> Source {
        let (team, id, sent_at) = (self.team(), message.id.clone(), message.at);
        let sender = Sender { name: message.from.clone(), session };
        let roster = self.writer.team().roster();
        match roster.scope() {
            Scope::Team => Source::Team { team, message: id, sender, sent_at },
            Scope::Subagents => {
                let relation = roster.relation(&message.from, &message.to);
                Source::Agent { root: team, message: id, sender, relation, sent_at }
            }
        }
    }

    /// Tells the senders that wait for a member's acceptance that they wait in vain.
    pub(super) fn defer(&mut self, to: &MemberName, cause: &str) {
        let owed: Vec<_> =
            self.writer.team().mailbox().owed_to(to).map(|owed| owed.id.clone()).collect();
        for message in owed {
            if let Some(waiting) = self.accepting.remove(&message) {
                drop(waiting.send(Acceptance::Deferred { cause: cause.to_owned() }));
            }
        }
    }

    /// Puts a person's words into an inbox.
    pub(super) fn prompt(
        &mut self,
        target: &SessionId,
        lane: Lane,
        id: ItemId,
        text: String,
        reply: ReplyTo<Result<(), TeamFault>>,
    ) {
        if let Err(fault) = self.may_prompt(target, &text) {
            self.answer(reply, Err(fault));
            return;
        }
        if !self.residents.contains_key(target) {
            // It is heard as soon as its reader is back, or told why it is not.
            if let Some(name) = self.name_of(target) {
                let target = target.clone();
                self.stalled
                    .push((name.clone(), Input::Prompt { target, lane, item: id, text, reply }));
                self.rouse(&name);
            }
            return;
        }
        let key = EventKey::inbox(&id);
        if self.repeats.has(&key) {
            self.answer(reply, Err(TeamFault::Repeated));
            return;
        }
        let item = Arc::new(InboxItem { id, source: Source::Human, text: text.into() });
        self.repeats.note(&key);
        self.writer.append(target, Some(key), Event::InboxInserted { lane, item });
        self.answer(reply, Ok(()));
        self.advance(target);
    }

    fn may_prompt(&mut self, target: &SessionId, text: &str) -> Result<(), TeamFault> {
        if self.closing {
            return Err(TeamFault::Closed);
        }
        let (bytes, limit) = (text.len(), PROMPT_BYTES);
        if text.trim().is_empty() || bytes > limit {
            return Err(TeamFault::PromptLength { bytes, limit });
        }
        let Some(name) = self.name_of(target) else {
            return Err(TeamFault::UnknownMember { name: target.to_string() });
        };
        if let Some(member) = self.writer.team().roster().get(&name)
            && let Standing::Failed { reason } = &member.standing
        {
            return Err(TeamFault::Unreachable { name, cause: reason.clone() });
        }
        // P11: also of what waits for it to be brought back there is only so much.
        let waiting = self.stalled.iter().filter(|(stalled, _)| *stalled == name).count();
        let pending = self.unread(&name) + waiting;
        let limit = self.parts.settings.limits.pending_per_target;
        if pending >= limit {
            return Err(TeamFault::InboxFull { name, pending, limit });
        }
        Ok(())
    }

    /// Says whether the very same was done already and cannot have been found when it was looked for.
    pub(super) fn is_repeated(&self, caller: &Caller) -> bool {
        matches!(&caller.by, By::Outside(key) if self.repeats.has(key))
    }

    /// How many items a member in memory has not read.
    pub(super) fn unread(&self, name: &MemberName) -> usize {
        let session = self.session_of(name);
        let state = session.and_then(|session| self.writer.session(&session));
        state.map_or(0, |state| state.inbox().len())
    }
}
