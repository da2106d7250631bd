//! The single writer of a team's logs: decide, append, apply, and after the commit publish.
//!
//! Records are applied to memory as they are decided and committed together. Nobody sees memory
//! before the commit returned: replies wait for it. When a commit fails, what is durable is not
//! known; then the whole writer is thrown away and made anew from the store.

use crate::ports::Clock;
use longboat_core::id::{EventKey, Seq, SessionId, TeamId};
use longboat_core::log::{Corrupt, Event, Record, encode};
use longboat_core::session::SessionState;
use longboat_core::team::TeamState;
use longboat_core::time::Timestamp;
use longboat_store::{Append, NewRecord, Placed, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Says why a batch is not durable, as far as is known.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The store refused or failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A decision does not fit the log it was made from: a fault of this program.
    #[error("a decision does not fit the log of {session}: {corrupt}")]
    Decision {
        /// The log.
        session: SessionId,
        /// Where and why.
        corrupt: Corrupt,
    },
}

/// The logs of one team that are in memory, and what is to be appended to them.
#[derive(Debug)]
pub(crate) struct LogWriter {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lead: SessionId,
    team: TeamState,
    sessions: BTreeMap<SessionId, SessionState>,
    batch: Vec<Append>,
    written: Vec<(SessionId, Arc<Record>)>,
    broken: Option<WriteError>,
}

impl LogWriter {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        lead: SessionState,
        team: TeamState,
    ) -> Self {
        let mut writer = Self::unwritten(store, clock, lead.id().clone());
        writer.team = team;
        writer.admit(lead);
        writer
    }

    /// A writer for a Lead that has no records yet.
    pub(crate) fn unwritten(store: Arc<dyn Store>, clock: Arc<dyn Clock>, lead: SessionId) -> Self {
        Self {
            store,
            clock,
            team: TeamState::new(TeamId::of(lead.clone())),
            lead,
            sessions: BTreeMap::new(),
            batch: Vec::new(),
            written: Vec::new(),
            broken: None,
        }
    }

    pub(crate) fn team(&self) -> &TeamState {
        &self.team
    }

    pub(crate) fn lead(&self) -> &SessionId {
        &self.lead
    }

    /// A session that is in memory.
    pub(crate) fn session(&self, session: &SessionId) -> Option<&SessionState> {
        self.sessions.get(session)
    }

    /// Takes a session into memory.
    pub(crate) fn admit(&mut self, state: SessionState) {
        self.sessions.insert(state.id().clone(), state);
    }

    /// Lets a session go out of memory.
    pub(crate) fn release(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }

    /// Decides one record of a session in memory.
    pub(crate) fn append(&mut self, session: &SessionId, key: Option<EventKey>, event: Event) {
        let at = self.clock.now();
        self.append_at(session, at, key, event);
    }

    /// Decides one record that keeps a time of its own, as a copied one does. The first record of a
    /// session that is not in memory makes it.
    pub(crate) fn append_at(
        &mut self,
        session: &SessionId,
        at: Timestamp,
        key: Option<EventKey>,
        event: Event,
    ) {
        if self.broken.is_some() {
            return;
        }
        let seq = self.sessions.get(session).map_or(Seq(0), SessionState::head);
        let record = Record { seq, at, key, event };
        if let Err(corrupt) = self.apply(session, &record) {
            self.broken = Some(WriteError::Decision { session: session.clone(), corrupt });
            return;
        }
        self.add_to_batch(session, record);
    }

    fn apply(&mut self, session: &SessionId, record: &Record) -> Result<(), Corrupt> {
        match self.sessions.get_mut(session) {
            Some(state) => state.apply(record)?,
            None => {
                self.sessions.insert(session.clone(), SessionState::begin(record)?);
            }
        }
        if *session == self.lead { self.team.apply(record) } else { Ok(()) }
    }

    fn add_to_batch(&mut self, session: &SessionId, record: Record) {
        let data = match encode(&record.event) {
            Ok(data) => data,
            Err(error) => {
                let corrupt = Corrupt { seq: record.seq, what: error.to_string() };
                self.broken = Some(WriteError::Decision { session: session.clone(), corrupt });
                return;
            }
        };
        let stored = NewRecord {
            at: record.at,
            kind: record.event.kind().to_owned(),
            key: record.key.clone(),
            data,
        };
        match self.batch.iter_mut().find(|append| append.session == *session) {
            Some(append) => append.records.push(stored),
            None => self.batch.push(Append {
                session: session.clone(),
                expected_head: Some(record.seq),
                records: vec![stored],
            }),
        }
        self.written.push((session.clone(), Arc::new(record)));
    }

    /// Makes everything decided since the last commit durable, at once and all or nothing. Returns
    /// the records in the order of their decision.
    // P2: nobody is told of a record before this returned.
    pub(crate) async fn commit(&mut self) -> Result<Vec<(SessionId, Arc<Record>)>, WriteError> {
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        if self.batch.is_empty() {
            return Ok(Vec::new());
        }
        let appended = self.store.commit(std::mem::take(&mut self.batch)).await?;
        let repeated = appended.iter().find_map(|append| {
            append.seqs.iter().find_map(|placed| match placed {
                Placed::Existing(seq) => Some(*seq),
                Placed::New(_) => None,
            })
        });
        if let Some(seq) = repeated {
            let corrupt = Corrupt { seq, what: "a key was recorded twice".to_owned() };
            return Err(WriteError::Decision { session: self.lead.clone(), corrupt });
        }
        Ok(std::mem::take(&mut self.written))
    }
}
