//! From stored records back to states: reading a log and folding it.

use longboat_core::id::{Seq, SessionId, TeamId};
use longboat_core::log::{Corrupt, FormatError, Record, decode};
use longboat_core::session::SessionState;
use longboat_core::team::TeamState;
use longboat_store::{Store, StoreError, StoredRecord};

/// Records read at once.
const PAGE: usize = 1_000;

/// Says why a log cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such session.
    #[error("there is no session {session}")]
    Missing {
        /// What was asked for.
        session: SessionId,
    },
    /// The store could not read it.
    #[error("session {session} cannot be read")]
    Store {
        /// Which.
        session: SessionId,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// A record is not of this format.
    #[error("session {session} has a record at seq {seq} that cannot be understood")]
    Format {
        /// Which.
        session: SessionId,
        /// Where.
        seq: Seq,
        /// Why.
        #[source]
        source: FormatError,
    },
    /// The records contradict each other.
    #[error("session {session} is damaged")]
    Corrupt {
        /// Which.
        session: SessionId,
        /// Where and why.
        #[source]
        source: Corrupt,
    },
}

impl LoadError {
    /// Says whether the log itself is at fault, not the way to it.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Format { .. } | Self::Corrupt { .. } => true,
            Self::Store { source, .. } => matches!(source, StoreError::Damaged { .. }),
            Self::Missing { .. } => false,
        }
    }

    /// The whole story on one line.
    #[must_use]
    pub fn line(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}

/// Turns a stored record into a record.
///
/// # Errors
/// [`FormatError`] when its kind or payload is not valid.
pub fn decode_stored(stored: StoredRecord) -> Result<Record, FormatError> {
    let event = decode(&stored.kind, &stored.data)?;
    Ok(Record { seq: stored.seq, at: stored.at, key: stored.key, event })
}

/// Reads all records of a session, in order, and shows each to `each`.
///
/// # Errors
/// [`LoadError`], also the one that `each` returns.
pub async fn read_log(
    store: &dyn Store,
    session: &SessionId,
    each: &mut (dyn FnMut(Record) -> Result<(), Corrupt> + Send),
) -> Result<(), LoadError> {
    let mut from = Seq(0);
    loop {
        let page = store
            .read(session, from, PAGE)
            .await
            .map_err(|source| LoadError::Store { session: session.clone(), source })?;
        let last = page.len() < PAGE;
        for stored in page {
            let seq = stored.seq;
            let record = decode_stored(stored).map_err(|source| LoadError::Format {
                session: session.clone(),
                seq,
                source,
            })?;
            each(record)
                .map_err(|source| LoadError::Corrupt { session: session.clone(), source })?;
            from = seq.next();
        }
        if last {
            return Ok(());
        }
    }
}

/// Reads and folds one session.
///
/// # Errors
/// [`LoadError`].
pub async fn load_session(
    store: &dyn Store,
    session: &SessionId,
) -> Result<SessionState, LoadError> {
    let mut state: Option<SessionState> = None;
    read_log(store, session, &mut |record| fold(&mut state, &record)).await?;
    state.ok_or_else(|| LoadError::Missing { session: session.clone() })
}

/// Reads and folds a Lead's session, with what its log says about the team.
///
/// # Errors
/// [`LoadError`].
pub async fn load_lead(
    store: &dyn Store,
    session: &SessionId,
) -> Result<(SessionState, TeamState), LoadError> {
    let mut state: Option<SessionState> = None;
    let mut team = TeamState::new(TeamId::of(session.clone()));
    read_log(store, session, &mut |record| {
        fold(&mut state, &record)?;
        team.apply(&record)
    })
    .await?;
    match state {
        Some(state) => Ok((state, team)),
        None => Err(LoadError::Missing { session: session.clone() }),
    }
}

fn fold(state: &mut Option<SessionState>, record: &Record) -> Result<(), Corrupt> {
    match state {
        Some(state) => state.apply(record),
        None => {
            *state = Some(SessionState::begin(record)?);
            Ok(())
        }
    }
}
