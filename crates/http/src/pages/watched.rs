//! The teams that somebody looks at: what is known of each is kept once, however many look.

use crate::app::App;
use crate::feed::{Feed, Told};
use crate::problem::Problem;
use crate::sessions::Sessions;
use axum::http::StatusCode;
use longboat_core::id::SessionId;
use longboat_engine::Position;
use longboat_web::pages::Presence;
use longboat_web::watch::TeamWatch;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Mutex as AsyncMutex;

/// Teams that are known at once. One that nobody looks at gives way, and is read again later.
const KNOWN_TEAMS: usize = 16;

/// The teams.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<HashMap<SessionId, (u64, Arc<Watched>)>>);

/// A team that somebody looks at.
#[derive(Debug)]
pub(super) struct Watched {
    feed: AsyncMutex<Feed>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    team: TeamWatch,
    open: bool,
    /// Counted up by all that is told.
    version: u64,
}

impl Watches {
    /// A team, known or to be read.
    pub(super) fn of(
        &self,
        sessions: &Sessions,
        lead: &SessionId,
    ) -> Result<Arc<Watched>, Problem> {
        let mut teams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = teams.values().map(|(turn, _)| turn + 1).max().unwrap_or(0);
        if let Some((last, watched)) = teams.get_mut(lead) {
            *last = turn;
            return Ok(Arc::clone(watched));
        }
        if teams.len() >= KNOWN_TEAMS {
            let free = teams.iter().filter(|(_, (_, watched))| Arc::strong_count(watched) == 1);
            let oldest = free.min_by_key(|(_, (turn, _))| *turn).map(|(lead, _)| lead.clone());
            let oldest = oldest.ok_or_else(|| {
                let detail =
                    format!("{KNOWN_TEAMS} teams are looked at, which is the limit; close a page");
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_watched", detail)
            })?;
            teams.remove(&oldest);
        }
        let watched = Arc::new(Watched {
            feed: AsyncMutex::new(Feed::new(sessions, lead.clone(), Position::new())),
            known: Mutex::new(Known {
                team: TeamWatch::new(lead.clone()),
                open: false,
                version: 0,
            }),
        });
        teams.insert(lead.clone(), (turn, Arc::clone(&watched)));
        Ok(watched)
    }
}

impl Watched {
    /// Takes all that has happened; returns a number that differs when something has.
    pub(super) async fn catch_up(&self, sessions: &Sessions) -> u64 {
        let mut feed = self.feed.lock().await;
        while let Some(told) = feed.next_known(sessions).await {
            let mut known = self.known();
            known.version += 1;
            match told {
                Told::Notice(notice) => known.team.notice(&notice, sessions.now()),
                Told::Open(open) => {
                    known.open = open;
                    known.team.moved();
                }
            }
        }
        self.known().version
    }

    /// Reads what is known.
    pub(super) fn with<T>(&self, read: impl FnOnce(&TeamWatch) -> T) -> T {
        read(&self.known().team)
    }

    /// How the team is here.
    pub(super) async fn presence(&self, app: &App) -> Presence {
        let (open, lead) = {
            let known = self.known();
            (known.open, known.team.lead().clone())
        };
        let team = app.sessions().opened(&lead).filter(|_| open);
        let Some(team) = team else { return Presence::default() };
        match team.look().await {
            Ok(view) => Presence { open: true, suspended: view.suspended },
            Err(_) => Presence::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
