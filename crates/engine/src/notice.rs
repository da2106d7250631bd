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
/// Records read at once when a follower catches up: what a follower holds in memory.
const CATCH_UP_PAGE: usize = 64;
/// How long a store that cannot be read is left alone.
const STORE_REST: Duration = Duration::from_millis(500);

/// How many records of each session of a team are known: everything before is, nothing after.
pub type Position = BTreeMap<SessionId, Seq>;

/// Follows a team. Every durable record of every session of the team comes exactly once and in its
/// log's order, however slow the reader is; the other notices may be skipped. It holds a page of
/// records at most.
#[derive(Debug)]
pub struct Follower {
    /// `None` when only what is stored is wanted.
    notices: Option<broadcast::Receiver<Notice>>,
    store: Arc<dyn Store>,
    lead: SessionId,
    seen: Position,
    missed: VecDeque<Notice>,
    /// Says that the store may hold more than was seen, though no notice will say so.
    behind: bool,
    /// The logs that are being read, and how far.
    reading: VecDeque<(SessionId, Seq)>,
}

/// Where a follower begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// With the first record of the team.
    Start,
    /// With the next record.
    Now,
    /// With what comes after a position. A session that it does not name is unknown so far.
    After(Position),
}

impl Follower {
    pub(crate) async fn new(
        notices: broadcast::Receiver<Notice>,
        store: Arc<dyn Store>,
        lead: SessionId,
        since: Since,
    ) -> Result<Self, StoreError> {
        let mut follower = Self::stored(store, lead, Position::new());
        follower.notices = Some(notices);
        let heads = follower.heads().await?;
        match since {
            Since::Start => {}
            Since::Now => (follower.seen, follower.behind) = (heads, false),
            Since::After(position) => follower.seen = position,
        }
        Ok(follower)
    }

    /// Tells what a store holds of a team after a position, and ends there.
    #[must_use]
    pub fn stored(store: Arc<dyn Store>, lead: SessionId, after: Position) -> Self {
        Self {
            notices: None,
            store,
            lead,
            seen: after,
            missed: VecDeque::new(),
            behind: true,
            reading: VecDeque::new(),
        }
    }

    /// How far it has come: a follower that begins after this goes on where this one is.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.seen
    }

    /// The next notice; `None` when the team is gone, or all that is stored was told.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            if let Some(known) = self.next_stored().await {
                return Some(known);
            }
            match self.notices.as_mut()?.recv().await {
                Ok(notice) => {
                    if let Some(notice) = self.heard(notice) {
                        return Some(notice);
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// The next notice that is there already; `None` when everything was told that is durable now.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next_known(&mut self) -> Option<Notice> {
        loop {
            if let Some(known) = self.next_stored().await {
                return Some(known);
            }
            match self.notices.as_mut()?.try_recv() {
                Ok(notice) => {
                    if let Some(notice) = self.heard(notice) {
                        return Some(notice);
                    }
                }
                Err(broadcast::error::TryRecvError::Lagged(_)) => self.behind = true,
                Err(_) => return None,
            }
        }
    }

    /// Takes a notice that came; `None` when it is no news, or has to be read from the store first.
    fn heard(&mut self, notice: Notice) -> Option<Notice> {
        let Notice::Committed { session, record } = notice else { return Some(notice) };
        let expected = self.seen.get(&session).copied().unwrap_or_default();
        if record.seq > expected {
            self.behind = true;
            return None;
        }
        let notice = Notice::Committed { session: session.clone(), record: Arc::clone(&record) };
        self.is_news(&session, record.seq).then_some(notice)
    }

    fn is_news(&mut self, session: &SessionId, seq: Seq) -> bool {
        let next = self.seen.entry(session.clone()).or_default();
        if seq < *next {
            return false;
        }
        *next = seq.next();
        true
    }

    /// The next record that has to be read; `None` when nothing is known to be missing.
    async fn next_stored(&mut self) -> Option<Notice> {
        loop {
            if let Some(notice) = self.missed.pop_front() {
                if let Notice::Committed { session, record } = &notice {
                    // Only now: what was read and not told yet is not part of the position.
                    self.seen.insert(session.clone(), record.seq.next());
                }
                return Some(notice);
            }
            if !self.behind && self.reading.is_empty() {
                return None;
            }
            match self.catch_up().await {
                Ok(()) => {}
                // Nobody writes there any more, and nobody can read it.
                Err(StoreError::Closed) => (self.behind, _) = (false, self.reading.clear()),
                // What is damaged is not told, and no other log waits for it.
                Err(StoreError::Damaged { .. }) => drop(self.reading.pop_front()),
                Err(error) => {
                    tracing::warn!(%error, "a follower cannot read the store");
                    tokio::time::sleep(STORE_REST).await;
                }
            }
        }
    }

    /// Reads a page of what has not been seen.
    async fn catch_up(&mut self) -> Result<(), StoreError> {
        if self.reading.is_empty() {
            let heads = self.heads().await?;
            self.behind = false;
            let seen = |session: &SessionId| self.seen.get(session).copied().unwrap_or_default();
            self.reading = heads.into_iter().filter(|(s, head)| seen(s) < *head).collect();
        }
        let Some((session, head)) = self.reading.front().cloned() else { return Ok(()) };
        let from = self.seen.get(&session).copied().unwrap_or_default();
        if from >= head {
            self.reading.pop_front();
            return Ok(());
        }
        let page = self.store.read(&session, from, CATCH_UP_PAGE).await?;
        let Some(last) = page.last().map(|stored| stored.seq) else {
            self.reading.pop_front();
            return Ok(());
        };
        for stored in page {
            // A record of a newer build is not told; whoever must not pass over it reads the log.
            let Ok(record) = decode_stored(stored) else { continue };
            let (session, record) = (session.clone(), Arc::new(record));
            self.missed.push_back(Notice::Committed { session, record });
        }
        if self.missed.is_empty() {
            self.seen.insert(session, last.next());
        }
        Ok(())
    }

    /// The team's sessions, and how many records each has.
    async fn heads(&self) -> Result<Position, StoreError> {
        let prefix = format!("{}.", self.lead);
        let all = self.store.sessions().await?.into_iter();
        let ours = all
            .filter(|head| head.session == self.lead || head.session.as_str().starts_with(&prefix));
        Ok(ours.map(|head| (head.session, head.head)).collect())
    }
}
