//! What is durably pending for a session: two lists, in the order of their records.

use crate::id::{ItemId, Seq};
use crate::log::{InboxItem, Lane};
use std::collections::VecDeque;
use std::sync::Arc;

/// The pending input of one session.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    next_step: VecDeque<Pending>,
    next_turn: VecDeque<Pending>,
}

#[derive(Debug, Clone)]
struct Pending {
    seq: Seq,
    item: Arc<InboxItem>,
}

impl Inbox {
    /// Says whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next_step.is_empty() && self.next_turn.is_empty()
    }

    /// Says whether something waits for the nearest step boundary.
    #[must_use]
    pub fn has_next_step(&self) -> bool {
        !self.next_step.is_empty()
    }

    /// Says whether something waits for a turn of its own.
    #[must_use]
    pub fn has_next_turn(&self) -> bool {
        !self.next_turn.is_empty()
    }

    /// How many items are pending, prompts included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.next_step.len() + self.next_turn.len()
    }

    /// What a step boundary claims: all of `next-step`, and one of `next-turn` where a turn begins;
    /// in the order in which they came.
    #[must_use]
    pub fn claimable(&self, first_step: bool) -> Vec<ItemId> {
        let prompts = self.next_turn.iter().take(usize::from(first_step));
        let mut claim: Vec<&Pending> = self.next_step.iter().chain(prompts).collect();
        claim.sort_by_key(|pending| pending.seq);
        claim.into_iter().map(|pending| pending.item.id.clone()).collect()
    }

    /// Everything pending, in the order in which it came.
    #[must_use]
    pub fn items(&self) -> Vec<Arc<InboxItem>> {
        let mut all: Vec<&Pending> = self.next_step.iter().chain(&self.next_turn).collect();
        all.sort_by_key(|pending| pending.seq);
        all.into_iter().map(|pending| Arc::clone(&pending.item)).collect()
    }

    pub(super) fn insert(&mut self, seq: Seq, lane: Lane, item: Arc<InboxItem>) {
        let pending = Pending { seq, item };
        match lane {
            Lane::NextStep => self.next_step.push_back(pending),
            Lane::NextTurn => self.next_turn.push_back(pending),
        }
    }

    /// Takes an item out; `None` when it is not pending.
    pub(super) fn take(&mut self, id: &ItemId) -> Option<Arc<InboxItem>> {
        for lane in [&mut self.next_step, &mut self.next_turn] {
            if let Some(place) = lane.iter().position(|pending| pending.item.id == *id) {
                return lane.remove(place).map(|pending| pending.item);
            }
        }
        None
    }
}
