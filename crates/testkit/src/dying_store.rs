//! A store that dies, or fails, at a commit of the test's choice.

use async_trait::async_trait;
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_store::{Append, Appended, SessionHead, Store, StoreError, StoredRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// What happens at the chosen commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// The process dies; the commit is not written.
    Before,
    /// The process dies; the commit is written, and nobody was told.
    After,
    /// The commit fails and is not written; the store works again at the next call.
    FailsUnwritten,
    /// The commit is written but reported as failed; the store works again at the next call.
    FailsWritten,
    /// This and the next two commits fail, as on a full disk; then there is room again.
    DiskFull,
}

/// A store of the test's, in front of a real one.
#[derive(Debug)]
pub struct DyingStore {
    inner: Arc<dyn Store>,
    at: u64,
    death: Death,
    commits: AtomicU64,
    dead: AtomicBool,
    died: Notify,
}

impl DyingStore {
    /// Dies at the `at`th commit, counted from 1.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, at: u64, death: Death) -> Self {
        let (commits, dead) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { inner, at, death, commits, dead, died: Notify::new() }
    }

    /// Waits until the store is dead, if it ever is.
    pub async fn died(&self) {
        while !self.dead.load(Ordering::SeqCst) {
            self.died.notified().await;
        }
    }

    /// How many commits there were.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    async fn die<T>(&self) -> T {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_waiters();
        self.died.notify_one();
        // A dead process answers nobody.
        std::future::pending().await
    }
}

fn full() -> StoreError {
    let cause = "database or disk is full".to_owned();
    StoreError::Io { doing: "committing", cause, retryable: true }
}

#[async_trait]
impl Store for DyingStore {
    async fn commit(&self, appends: Vec<Append>) -> Result<Vec<Appended>, StoreError> {
        if self.dead.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        let n = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        // A commit takes time: whoever asks meanwhile must not be lost.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        let failing = self.death == Death::DiskFull && (self.at..self.at + 3).contains(&n);
        if failing {
            return Err(full());
        }
        if n != self.at {
            return self.inner.commit(appends).await;
        }
        match self.death {
            Death::Before => self.die().await,
            Death::After => {
                self.inner.commit(appends).await?;
                self.die().await
            }
            Death::FailsUnwritten => Err(full()),
            Death::FailsWritten => {
                self.inner.commit(appends).await?;
                Err(full())
            }
            Death::DiskFull => self.inner.commit(appends).await,
        }
    }

    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.inner.read(session, from, limit).await
    }

    async fn find(
        &self,
        session: &SessionId,
        key: &EventKey,
    ) -> Result<Option<StoredRecord>, StoreError> {
        self.inner.find(session, key).await
    }

    async fn head(&self, session: &SessionId) -> Result<Option<SessionHead>, StoreError> {
        self.inner.head(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionHead>, StoreError> {
        self.inner.sessions().await
    }
}
