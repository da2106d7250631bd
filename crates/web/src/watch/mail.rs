//! Every message of a team and its way: queued in the Lead's log, accepted into the target's inbox,
//! read at one of the target's step boundaries.

use crate::text::cut;
use longboat_core::id::{ItemId, MemberName, MessageId, Seq, TeamId};
use longboat_core::log::{Event, Record, Source};
use longboat_core::time::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// Characters of a message's text that are kept; the whole of a longer one is read from the log.
const TEXT_CHARS: usize = 600;

/// The messages of a team.
#[derive(Debug, Clone, Default)]
pub struct MailWatch {
    ways: BTreeMap<u64, Way>,
    /// Items of inboxes that are not read, and which message each is.
    held: HashMap<ItemId, u64>,
    owed: usize,
    unread: usize,
}

/// One message and its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Its id.
    pub id: MessageId,
    /// The true sender.
    pub from: MemberName,
    /// The target.
    pub to: MemberName,
    /// How far it came.
    pub state: WayState,
    /// When it was queued.
    pub queued: Timestamp,
    /// When the target's inbox durably held it.
    pub accepted: Option<Timestamp>,
    /// When a step boundary of the target claimed it.
    pub read: Option<Timestamp>,
    /// The beginning of its text.
    pub text: String,
    /// Says whether the text goes on.
    pub cut: bool,
    /// Where the whole of it lies in the Lead's log.
    pub at: Option<Seq>,
}

/// How far a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayState {
    /// Queued; the target's log does not hold it.
    Owed,
    /// In the target's inbox.
    Unread,
    /// In the target's conversation.
    Read,
    /// Taken out of the target's inbox without being read.
    Discarded,
}

impl MailWatch {
    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// Says whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// How many are owed, and how many are accepted and not read.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        (self.owed, self.unread)
    }

    /// One message.
    #[must_use]
    pub fn get(&self, id: &MessageId) -> Option<&Way> {
        self.ways.get(&id.number())
    }

    /// Messages from the newest on, those before a number if one is given.
    pub fn newest(&self, before: Option<u64>) -> impl Iterator<Item = &Way> {
        self.ways.range(..before.unwrap_or(u64::MAX)).rev().map(|(_, way)| way)
    }

    pub(super) fn record(&mut self, team: &TeamId, whose: &MemberName, record: &Record) {
        match &record.event {
            Event::TeamMessageQueued { team: of, message, from, to, text } if of == team => {
                let way = self.way(message, (from, to), record.at, text);
                way.at = Some(record.seq);
            }
            Event::InboxInserted { item, .. } => {
                if let Source::Team { team: of, message, sender, sent_at } = &item.source
                    && of == team
                {
                    let way = self.way(message, (&sender.name, whose), *sent_at, &item.text);
                    // A member that began with the Lead's history has the Lead's old mail in its log.
                    if way.to == *whose && way.state == WayState::Owed {
                        way.accepted = Some(record.at);
                        self.held.insert(item.id.clone(), message.number());
                        self.change(message.number(), WayState::Unread);
                    }
                }
            }
            Event::InboxClaimed { items, .. } => {
                for number in self.taken(whose, items) {
                    if let Some(way) = self.ways.get_mut(&number) {
                        way.read = Some(record.at);
                    }
                    self.change(number, WayState::Read);
                }
            }
            Event::InboxDiscarded { items, .. } => {
                for number in self.taken(whose, items) {
                    self.change(number, WayState::Discarded);
                }
            }
            _ => {}
        }
    }

    /// The message, which is new when nothing of it is known.
    fn way(
        &mut self,
        message: &MessageId,
        (from, to): (&MemberName, &MemberName),
        queued: Timestamp,
        text: &str,
    ) -> &mut Way {
        let owed = &mut self.owed;
        self.ways.entry(message.number()).or_insert_with(|| {
            *owed += 1;
            let (kept, more) = cut(text, TEXT_CHARS);
            Way {
                id: message.clone(),
                from: from.clone(),
                to: to.clone(),
                state: WayState::Owed,
                queued,
                accepted: None,
                read: None,
                text: kept.to_owned(),
                cut: more,
                at: None,
            }
        })
    }

    /// The messages of the items that leave a member's inbox.
    fn taken(&mut self, whose: &MemberName, items: &[ItemId]) -> Vec<u64> {
        let mut numbers = Vec::new();
        for item in items {
            let Some(number) = self.held.get(item).copied() else { continue };
            if self.ways.get(&number).is_some_and(|way| way.to == *whose) {
                self.held.remove(item);
                numbers.push(number);
            }
        }
        numbers
    }

    fn change(&mut self, number: u64, to: WayState) {
        let Some(way) = self.ways.get_mut(&number) else { return };
        let from = std::mem::replace(&mut way.state, to);
        if let Some(count) = self.counted(from) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.counted(to) {
            *count += 1;
        }
    }

    fn counted(&mut self, state: WayState) -> Option<&mut usize> {
        match state {
            WayState::Owed => Some(&mut self.owed),
            WayState::Unread => Some(&mut self.unread),
            WayState::Read | WayState::Discarded => None,
        }
    }
}
