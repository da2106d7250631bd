//! What watchers are told. A notice is a hint; the log is the truth, and a watcher that was too slow
//! reads what it missed from the store.

use crate::load::decode_stored;
use longboat_core::id::{MemberName, Seq, SessionId};
use longboat_core::log::Record;
use longboat_store::{Store, StoreError};
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
    /// A member's conversation became too long; a summary of its beginning is being made.
    SummingUp {
        /// Whose.
        member: MemberName,
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

/// Follows a team. Every durable record of every session of the team comes exactly once and in its
/// log's order, however slow the reader is; the other notices may be skipped.
#[derive(Debug)]
pub struct Follower {
    notices: broadcast::Receiver<Notice>,
    store: Arc<dyn Store>,
    lead: SessionId,
    seen: BTreeMap<SessionId, Seq>,
    missed: VecDeque<Notice>,
}

/// Where a follower begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// With the first record of the team.
    Start,
    /// With the next record.
    Now,
}

impl Follower {
    pub(crate) async fn new(
        notices: broadcast::Receiver<Notice>,
        store: Arc<dyn Store>,
        lead: SessionId,
        since: Since,
    ) -> Result<Self, StoreError> {
        let (seen, missed) = (BTreeMap::new(), VecDeque::new());
        let mut follower = Self { notices, store, lead, seen, missed };
        match since {
            Since::Start => follower.catch_up().await?,
            Since::Now => follower.seen = follower.heads().await?,
        }
        Ok(follower)
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
                    let expected = self.seen.get(&session).copied().unwrap_or_default();
                    if record.seq > expected {
                        self.catch_up().await.ok();
                    } else if self.is_news(&session, record.seq) {
                        return Some(Notice::Committed { session, record });
                    }
                }
                Ok(notice) => return Some(notice),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    // A store that cannot be read now is read at the next lag; nothing is skipped
                    // meanwhile, since what is seen does not move on.
                    self.catch_up().await.ok();
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    fn is_news(&mut self, session: &SessionId, seq: Seq) -> bool {
        let next = self.seen.entry(session.clone()).or_default();
        if seq < *next {
            return false;
        }
        *next = seq.next();
        true
    }

    /// The team's sessions, and how many records each has.
    async fn heads(&self) -> Result<BTreeMap<SessionId, Seq>, StoreError> {
        let prefix = format!("{}.", self.lead);
        let all = self.store.sessions().await?.into_iter();
        let ours = all
            .filter(|head| head.session == self.lead || head.session.as_str().starts_with(&prefix));
        Ok(ours.map(|head| (head.session, head.head)).collect())
    }

    /// Reads from the store what has not been seen.
    async fn catch_up(&mut self) -> Result<(), StoreError> {
        for (session, head) in self.heads().await? {
            let mut from = self.seen.get(&session).copied().unwrap_or_default();
            while from < head {
                let page = self.store.read(&session, from, CATCH_UP_PAGE).await?;
                if page.is_empty() {
                    break;
                }
                for stored in page {
                    from = stored.seq.next();
                    let Ok(record) = decode_stored(stored) else { continue };
                    if self.is_news(&session, record.seq) {
                        let (session, record) = (session.clone(), Arc::new(record));
                        self.missed.push_back(Notice::Committed { session, record });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Records read at once when a follower catches up.
const CATCH_UP_PAGE: usize = 1_000;
