//! The reference implementation of the port: what the words of [`Store`] mean, in the shortest
//! form. Simulations and the contract suite use it. It is never a product default, and forgets
//! everything when its last clone is dropped.

use crate::limits;
use crate::{Append, Appended, NewRecord, Placed, SessionHead, Store, StoreError, StoredRecord};
use async_trait::async_trait;
use longboat_core::id::{EventKey, Seq, SessionId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps logs in memory: for simulation and the contract suite only. Clones are the same store, as
/// two openings of one file are.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    logs: Arc<Mutex<BTreeMap<SessionId, Log>>>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<StoredRecord>,
    keys: HashMap<EventKey, Seq>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<SessionId, Log>> {
        // A panic elsewhere cannot leave the map half changed: `append` decides everything first.
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, appends: Vec<Append>) -> Result<Vec<Appended>, StoreError> {
        limits::check(&appends)?;
        let mut logs = self.logs();
        for append in &appends {
            let actual = logs.get(&append.session).map_or(Seq(0), Log::head);
            if let Some(expected) = append.expected_head.filter(|expected| *expected != actual) {
                return Err(StoreError::HeadMoved {
                    session: append.session.clone(),
                    expected,
                    actual,
                });
            }
        }
        // Nothing is refused from here on.
        let append = |Append { session, records, .. }| {
            let log = logs.entry(session).or_default();
            let seqs = records.into_iter().map(|record| log.append(record)).collect();
            Appended { seqs, head: log.head() }
        };
        Ok(appends.into_iter().map(append).collect())
    }

    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let logs = self.logs();
        let records = logs.get(session).map_or(&[][..], |log| &log.records);
        let from = usize::try_from(from.0).unwrap_or(usize::MAX);
        Ok(records.iter().skip(from).take(limit).cloned().collect())
    }

    async fn find(
        &self,
        session: &SessionId,
        key: &EventKey,
    ) -> Result<Option<StoredRecord>, StoreError> {
        let logs = self.logs();
        Ok(logs.get(session).and_then(|log| log.record(*log.keys.get(key)?)).cloned())
    }

    async fn head(&self, session: &SessionId) -> Result<Option<SessionHead>, StoreError> {
        Ok(self.logs().get(session).and_then(|log| log.session_head(session)))
    }

    async fn sessions(&self) -> Result<Vec<SessionHead>, StoreError> {
        let logs = self.logs();
        let mut heads: Vec<_> =
            logs.iter().filter_map(|(session, log)| log.session_head(session)).collect();
        // The sort is stable and the map is ordered by id.
        heads.sort_by_key(|head| Reverse(head.updated));
        Ok(heads)
    }
}

impl Log {
    fn head(&self) -> Seq {
        Seq(self.records.len() as u64)
    }

    fn record(&self, seq: Seq) -> Option<&StoredRecord> {
        self.records.get(usize::try_from(seq.0).ok()?)
    }

    fn append(&mut self, record: NewRecord) -> Placed {
        let NewRecord { at, kind, key, data } = record;
        let seq = self.head();
        if let Some(key) = &key {
            if let Some(existing) = self.keys.get(key) {
                return Placed::Existing(*existing);
            }
            self.keys.insert(key.clone(), seq);
        }
        self.records.push(StoredRecord { seq, at, kind, key, data });
        Placed::New(seq)
    }

    fn session_head(&self, session: &SessionId) -> Option<SessionHead> {
        let (first, last) = (self.records.first()?, self.records.last()?);
        Some(SessionHead {
            session: session.clone(),
            head: self.head(),
            created: first.at,
            updated: last.at,
        })
    }
}
