//! What was asked a moment ago under a name of the asker's own. A store is looked through before
//! something is asked; two who look at once both find nothing, and the second is told here.

use longboat_core::id::EventKey;
use std::collections::{BTreeSet, VecDeque};

/// Keys that are remembered: more than can be on their way between a look and a decision.
const REMEMBERED: usize = 4_096;

/// The last keys that were appended for outsiders and people.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    keys: BTreeSet<EventKey>,
    order: VecDeque<EventKey>,
}

impl Repeats {
    /// Says whether this was appended a moment ago.
    pub(super) fn has(&self, key: &EventKey) -> bool {
        self.keys.contains(key)
    }

    /// Remembers what is being appended.
    pub(super) fn note(&mut self, key: &EventKey) {
        if self.keys.insert(key.clone()) {
            self.order.push_back(key.clone());
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }
}
