//! The teams of this process: which are open, and opening one when it is needed. However many ask
//! at once, a team is in memory once.

use crate::problem::Problem;
use axum::http::StatusCode;
use longboat_core::id::SessionId;
use longboat_core::time::Timestamp;
use longboat_engine::{LoadError, TeamError, TeamHandle, Teams};
use longboat_store::Store;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OnceCell, watch};

/// Teams in memory at once. Each may have a roster of drivers.
const OPEN_TEAMS: usize = 64;

/// Which teams a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Whichever is asked for.
    All,
    /// Those that it opened itself: it ends with them.
    OwnRun,
}

/// The teams of a process.
#[derive(Debug)]
pub struct Sessions {
    teams: Teams,
    store: Arc<dyn Store>,
    scope: Scope,
    numbers: AtomicU64,
    open: Mutex<HashMap<SessionId, Arc<Place>>>,
    changed: watch::Sender<u64>,
}

/// Where a team is, or comes to be.
#[derive(Debug, Default)]
struct Place {
    /// Tells this coming into memory from others of the same team.
    number: u64,
    team: OnceCell<TeamHandle>,
    /// What was here before: it must have ended before the team is read again.
    before: Option<TeamHandle>,
}

impl Sessions {
    pub(crate) fn new(teams: Teams, store: Arc<dyn Store>, scope: Scope) -> Self {
        let (open, changed) = (Mutex::default(), watch::Sender::default());
        Self { teams, store, scope, numbers: AtomicU64::new(1), open, changed }
    }

    /// The store of all sessions.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.teams.now()
    }

    /// A name nobody has used, for what a person says.
    #[must_use]
    pub fn new_id(&self) -> String {
        self.teams.ids().prompt()
    }

    /// Makes a team.
    ///
    /// # Errors
    /// What hinders it.
    pub async fn create(&self, workspace: &str, model: &str) -> Result<TeamHandle, Problem> {
        self.may_open_more()?;
        let team = self.teams.create(workspace.to_owned(), model.to_owned()).await?;
        self.adopt(team.clone());
        Ok(team)
    }

    /// Takes a team that somebody else of this process opened.
    pub fn adopt(&self, team: TeamHandle) {
        let lead = team.team().lead().clone();
        let number = self.next_number();
        let place = Place { number, team: OnceCell::new_with(Some(team)), before: None };
        self.places().insert(lead, Arc::new(place));
        self.tell();
    }

    /// The team of a Lead's session, when it is in memory.
    #[must_use]
    pub fn opened(&self, lead: &SessionId) -> Option<TeamHandle> {
        self.places().get(lead).and_then(|place| place.team.get().cloned())
    }

    /// A team in memory, and a number that tells its coming there from others.
    pub(crate) fn opened_at(&self, lead: &SessionId) -> Option<(u64, TeamHandle)> {
        let places = self.places();
        let place = places.get(lead)?;
        Some((place.number, place.team.get()?.clone()))
    }

    /// Tells of every team that is opened or closed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The team of a Lead's session; reads it back from its log when it is not in memory.
    ///
    /// # Errors
    /// What hinders it.
    pub async fn open(&self, lead: &SessionId) -> Result<TeamHandle, Problem> {
        if let Some(team) = self.opened(lead) {
            return Ok(team);
        }
        // Looked up first, so that asking for what is not there takes no place.
        self.exists(lead).await?;
        let place = self.place(lead)?;
        let opening = place.team.get_or_try_init(|| async {
            if let Some(before) = &place.before {
                before.close().await;
            }
            self.teams.resume(lead).await
        });
        let team = opening.await?.clone();
        self.tell();
        Ok(team)
    }

    /// Takes a team out of memory. Open turns stay open; opening it again goes on with them.
    pub async fn close(&self, lead: &SessionId) -> bool {
        // The place is held until the team has ended, so that it is not given up meanwhile.
        let Some((team, _place)) = self.set_aside(lead, None) else { return false };
        self.tell();
        team.close().await;
        // Again, for what it wrote when it closed.
        self.tell();
        true
    }

    /// Opens a team anew that closed itself, as one does whose budget is used up.
    ///
    /// # Errors
    /// As [`Sessions::open`].
    pub async fn reopen(&self, closed: &TeamHandle) -> Result<TeamHandle, Problem> {
        let lead = closed.team().lead();
        drop(self.set_aside(lead, Some(closed)));
        self.open(lead).await
    }

    /// Closes all teams.
    pub async fn close_all(&self) {
        let open: Vec<SessionId> = self.places().keys().cloned().collect();
        for lead in open {
            self.close(&lead).await;
        }
    }

    /// Says so when there is no such session.
    ///
    /// # Errors
    /// That, or a store that cannot be read.
    pub async fn exists(&self, lead: &SessionId) -> Result<(), Problem> {
        match self.store.head(lead).await? {
            Some(_) => Ok(()),
            None => Err(TeamError::Load(LoadError::Missing { session: lead.clone() }).into()),
        }
    }

    /// Puts an empty place where an open team is, so that nobody reads its log before it has ended.
    fn set_aside(
        &self,
        lead: &SessionId,
        only: Option<&TeamHandle>,
    ) -> Option<(TeamHandle, Arc<Place>)> {
        let mut places = self.places();
        let team = places.get(lead)?.team.get()?.clone();
        if only.is_some_and(|only| !only.is_same(&team)) {
            return None;
        }
        let before = Some(team.clone());
        let place = Place { number: self.next_number(), team: OnceCell::new(), before };
        let place = Arc::new(place);
        places.insert(lead.clone(), Arc::clone(&place));
        Some((team, place))
    }

    fn place(&self, lead: &SessionId) -> Result<Arc<Place>, Problem> {
        if let Some(place) = self.places().get(lead) {
            return Ok(Arc::clone(place));
        }
        self.may_open_more()?;
        let place = Place { number: self.next_number(), ..Place::default() };
        Ok(Arc::clone(self.places().entry(lead.clone()).or_insert_with(|| Arc::new(place))))
    }

    /// Says so when no more teams may be opened here.
    fn may_open_more(&self) -> Result<(), Problem> {
        if self.scope == Scope::OwnRun {
            let detail = "the process that holds the store only runs its own session; stop it, or ask it for that session";
            return Err(Problem::new(StatusCode::CONFLICT, "other_session", detail));
        }
        let mut places = self.places();
        if places.len() >= OPEN_TEAMS {
            // What was closed, or could not be opened, needs no place when nobody is at it.
            places.retain(|_, place| place.team.initialized() || Arc::strong_count(place) > 1);
        }
        if places.len() >= OPEN_TEAMS {
            let detail = format!("{OPEN_TEAMS} teams are open, which is the limit; close one");
            return Err(Problem::new(StatusCode::CONFLICT, "too_many_open", detail));
        }
        Ok(())
    }

    fn places(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Place>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn tell(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }
}
