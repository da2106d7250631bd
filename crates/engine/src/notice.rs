//! What watchers are told. A notice is a hint; the log is the truth, and a watcher that was too slow
//! reads what it missed from the store.

use crate::load::decode_stored;
use longboat_core::id::{MemberName, Seq, SessionId};
use longboat_core::log::Record;
use longboat_store::Store;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Something a person watching a team wants to know.
#[derive(Debug, Clone)]
pub enum Notice {
    /// A record is durable.
    Committed {
        /// The log it is in.
        session: SessionId,
        /// The record.
        record: Arc<Record>,
    },
    /// A reply is coming in.
    Streaming {
        /// Whose.
        member: MemberName,
        /// What came.
        delta: Delta,
    },
    /// A model request failed and will be made again.
    Retrying {
        /// Whose.
        member: MemberName,
        /// Why it failed.
        reason: String,
        /// How long until the next attempt.
        wait: Duration,
    },
    /// A member cannot be reached; its mail waits.
    Unreachable {
        /// Who.
        member: MemberName,
        /// Why.
        cause: String,
        /// How long until the next attempt.
        wait: Duration,
    },
    /// The store failed; the team is being read anew.
    Recovering {
        /// What the store said.
        cause: String,
    },
}

/// A piece of a reply that is coming in.
#[derive(Debug, Clone)]
pub enum Delta {
    /// Of its text.
    Text(String),
    /// Of its reasoning.
    Reasoning(String),
    /// The name of a tool it calls.
    Call(String),
}

/// How many notices a slow watcher may be behind before it has to read the store.
pub(crate) const NOTICE_BACKLOG: usize = 4_096;

/// Follows a team. Every durable record of every session it has heard of comes exactly once and in
/// order, however slow the reader is; the other notices may be skipped.
#[derive(Debug)]
pub struct Follower {
    notices: broadcast::Receiver<Notice>,
    store: Arc<dyn Store>,
    seen: BTreeMap<SessionId, Seq>,
    missed: VecDeque<Notice>,
}

impl Follower {
    pub(crate) fn new(notices: broadcast::Receiver<Notice>, store: Arc<dyn Store>) -> Self {
        Self { notices, store, seen: BTreeMap::new(), missed: VecDeque::new() }
    }

    /// The next notice; `None` when the team is gone.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            if let Some(notice) = self.missed.pop_front() {
                return Some(notice);
            }
            match self.notices.recv().await {
                Ok(Notice::Committed { session, record }) => {
                    if self.is_news(&session, record.seq) {
                        return Some(Notice::Committed { session, record });
                    }
                }
                Ok(notice) => return Some(notice),
                Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up().await,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    fn is_news(&mut self, session: &SessionId, seq: Seq) -> bool {
        let next = self.seen.entry(session.clone()).or_insert(seq);
        if seq < *next {
            return false;
        }
        *next = seq.next();
        true
    }

    /// Reads from the store what the channel no longer has.
    async fn catch_up(&mut self) {
        let sessions: Vec<(SessionId, Seq)> =
            self.seen.iter().map(|(session, seq)| (session.clone(), *seq)).collect();
        for (session, from) in sessions {
            let Ok(records) = self.store.read(&session, from, NOTICE_BACKLOG * 4).await else {
                continue;
            };
            for stored in records {
                let Ok(record) = decode_stored(stored) else { break };
                if self.is_news(&session, record.seq) {
                    let session = session.clone();
                    self.missed.push_back(Notice::Committed { session, record: Arc::new(record) });
                }
            }
        }
    }
}
