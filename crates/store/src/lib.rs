//! Keeping logs: the [`Store`] port, its promises, and its backends.
//!
//! A store keeps one log per session. It never looks into an event's payload and makes no time, no
//! id and no randomness of its own.

#[cfg(feature = "contract")]
pub mod contract;
pub mod limits;
mod memory;
mod sqlite;

pub use memory::MemoryStore;
pub use sqlite::{Holder, OpenError, SqliteStore, WriteCounts};

use async_trait::async_trait;
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_core::time::Timestamp;

/// An event on its way into a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// When it was decided.
    pub at: Timestamp,
    /// Its stable name, such as `turn/started`.
    pub kind: String,
    /// Unique within the session; a second append under the same key changes nothing, within one
    /// commit as well.
    pub key: Option<EventKey>,
    /// The payload: JSON text, kept byte for byte.
    pub data: String,
}

/// An event as it lies in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its place: dense, from 0.
    pub seq: Seq,
    /// As appended.
    pub at: Timestamp,
    /// As appended.
    pub kind: String,
    /// As appended.
    pub key: Option<EventKey>,
    /// As appended, byte for byte.
    pub data: String,
}

/// What one commit adds to one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The log.
    pub session: SessionId,
    /// The head the caller believes in: the number of records the log has before this append, 0 for
    /// a session that does not exist. `None` appends wherever the head is.
    pub expected_head: Option<Seq>,
    /// In order. At least one.
    pub records: Vec<NewRecord>,
}

/// What became of one append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// One place per record: the new one, or for a key that was already there the recorded one.
    pub seqs: Vec<Placed>,
    /// The number of records the log has now.
    pub head: Seq,
}

/// Where a record of an append lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It was appended here.
    New(Seq),
    /// Its key was already here; nothing was appended for it.
    Existing(Seq),
}

/// A session as a store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHead {
    /// Its id.
    pub session: SessionId,
    /// The number of records.
    pub head: Seq,
    /// The time of the first record.
    pub created: Timestamp,
    /// The time of the last record.
    pub updated: Timestamp,
}

/// Says why a store did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The log's head is not the expected one. Nothing of the commit was written.
    #[error("session {session} has {actual} records, not the expected {expected}")]
    HeadMoved {
        /// The log.
        session: SessionId,
        /// What the caller believed.
        expected: Seq,
        /// What is so.
        actual: Seq,
    },
    /// The commit is malformed: empty, one session twice, over one of [`limits`]. Nothing was
    /// written.
    #[error("the commit is not valid: {reason}")]
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// The world failed: disk, file, database. Whether the commit is durable is not known; read the
    /// log before going on.
    #[error("{doing} failed: {cause}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        cause: String,
        /// Says whether trying again may help without anyone changing anything.
        retryable: bool,
    },
    /// Stored bytes are not what was written.
    #[error("session {session} is damaged at seq {seq}: {what}")]
    Damaged {
        /// The log.
        session: SessionId,
        /// The first record that cannot be trusted.
        seq: Seq,
        /// What is wrong.
        what: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Keeps the logs of all sessions.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Appends to one or several logs: all or nothing.
    ///
    /// # Durability
    /// On disk when this returns `Ok`. Commits that are under way at once may share one sync; each
    /// still succeeds or fails on its own.
    ///
    /// # Cancel safety
    /// Dropping the future does not undo the commit.
    ///
    /// # Errors
    /// [`StoreError::HeadMoved`], [`StoreError::Invalid`], [`StoreError::Io`],
    /// [`StoreError::Closed`]; [`StoreError::Damaged`] when a record lies where the next one
    /// belongs.
    async fn commit(&self, appends: Vec<Append>) -> Result<Vec<Appended>, StoreError>;

    /// Reads at most `limit` records from `from` on, in order. Fewer than `limit` means the end.
    /// A session that does not exist has none.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a record is missing or unreadable, [`StoreError::Io`],
    /// [`StoreError::Closed`].
    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, StoreError>;

    /// Finds the record with a key, without scanning.
    ///
    /// # Errors
    /// As [`Store::read`].
    async fn find(
        &self,
        session: &SessionId,
        key: &EventKey,
    ) -> Result<Option<StoredRecord>, StoreError>;

    /// One session, or `None` when it has no records.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Closed`].
    async fn head(&self, session: &SessionId) -> Result<Option<SessionHead>, StoreError>;

    /// All sessions, the last updated first; those updated at the same time by their ids.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Closed`].
    async fn sessions(&self) -> Result<Vec<SessionHead>, StoreError>;
}
