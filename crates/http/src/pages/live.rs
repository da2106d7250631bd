//! How a page follows what happens: a stream of what differs from what it shows. It is made from how
//! things are, not from what happened, so a reader that is slow or was away misses nothing that still
//! holds, and what waits for it does not grow.

use super::steps::{self, Wanted};
use super::watched::Watched;
use super::{Part, look_at, member_of, moment, rows};
use crate::app::App;
use crate::problem::Problem;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use futures::Stream;
use longboat_core::id::MemberName;
use longboat_core::time::Timestamp;
use longboat_web::pages::{
    Amount, Conversation, GROUPS, Presence, sessions_regions, team_regions, transcript_regions,
};
use longboat_web::region::{Change, Item, Region, Sent};
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// The least time between two updates of one page: nobody reads faster.
const PACE: Duration = Duration::from_millis(200);
/// The same for the list of sessions, where each look reads the store.
const LIST_PACE: Duration = Duration::from_secs(2);
/// How often a silent stream says that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

type Updates<S> = Result<Sse<S>, Problem>;

/// What a page follows.
enum View {
    Sessions { skip: usize },
    Team { watched: Arc<Watched>, version: Option<u64>, here: Presence },
    Member(Box<MemberView>),
}

/// A page with the newest steps of a member.
struct MemberView {
    watched: Arc<Watched>,
    version: Option<u64>,
    here: Presence,
    name: MemberName,
    /// Steps that ended: they never change again.
    ended: VecDeque<(usize, Item)>,
}

/// A page that is followed.
struct Reader {
    app: App,
    view: View,
    sent: Sent,
    last: Instant,
    next_look: Instant,
    /// One of the places for streams, given back at the end.
    _place: OwnedSemaphorePermit,
}

/// What is sent.
#[derive(Serialize)]
struct Update {
    /// The time here, against which a page tells how long ago things were.
    now: Timestamp,
    changes: Vec<Change>,
}

pub(super) async fn sessions(
    State(app): State<App>,
    Query(part): Query<Part>,
) -> Updates<impl Stream<Item = Result<Event, Infallible>>> {
    follow(app, View::Sessions { skip: part.skip })
}

pub(super) async fn team(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Updates<impl Stream<Item = Result<Event, Infallible>>> {
    let watched = look_at(&app, &id).await?;
    follow(app, View::Team { watched, version: None, here: Presence::default() })
}

pub(super) async fn member(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
) -> Updates<impl Stream<Item = Result<Event, Infallible>>> {
    let watched = look_at(&app, &id).await?;
    let name = member_of(&watched, &name)?;
    let here = Presence::default();
    let view = MemberView { watched, version: None, here, name, ended: VecDeque::new() };
    follow(app, View::Member(Box::new(view)))
}

fn follow(app: App, view: View) -> Updates<impl Stream<Item = Result<Event, Infallible>>> {
    let place = app.stream_place().ok_or_else(|| {
        let detail = "as many pages and streams are open as may be; close one";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail).retry_after(5)
    })?;
    let (last, next_look) = (Instant::now(), Instant::now());
    let reader = Reader { app, view, sent: Sent::default(), last, next_look, _place: place };
    let updates = futures::stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(updates))
}

impl Reader {
    /// The next update, when something differs; or a sign of life.
    async fn next(&mut self) -> Option<Event> {
        let ending = self.app.ending().clone();
        loop {
            tokio::select! {
                biased;
                () = ending.cancelled() => return None,
                () = tokio::time::sleep_until(self.next_look) => {}
            }
            // A store that cannot be read now may be at the next look.
            let regions = self.view.look(&self.app).await.unwrap_or_default();
            self.next_look = Instant::now() + self.view.pace();
            let changes = regions.map(|regions| self.sent.changes(regions)).unwrap_or_default();
            if !changes.is_empty() {
                self.last = Instant::now();
                let update = Update { now: self.app.sessions().now(), changes };
                let json = serde_json::to_string(&update).unwrap_or_default();
                return Some(Event::default().event("update").data(json));
            }
            if self.last.elapsed() > ALIVE_EVERY {
                self.last = Instant::now();
                return Some(Event::default().event("alive").data("{}"));
            }
        }
    }
}

impl View {
    fn pace(&self) -> Duration {
        match self {
            Self::Sessions { .. } => LIST_PACE,
            Self::Team { .. } | Self::Member(_) => PACE,
        }
    }

    /// How things are; `None` when nothing has happened since.
    async fn look(&mut self, app: &App) -> Result<Option<Vec<Region>>, Problem> {
        match self {
            Self::Sessions { skip } => {
                let (rows, total) = rows(app, *skip).await?;
                Ok(Some(sessions_regions(&rows, (*skip, total), &moment(app))))
            }
            Self::Team { watched, version, here } => {
                if !news(watched, app, version, here).await {
                    return Ok(None);
                }
                Ok(Some(watched.with(|team| team_regions(team, here, &moment(app)))))
            }
            Self::Member(view) => view.look(app).await,
        }
    }
}

/// Says whether something has happened since a version, which is the newest then.
async fn news(
    watched: &Watched,
    app: &App,
    version: &mut Option<u64>,
    here: &mut Presence,
) -> bool {
    let now = watched.catch_up(app.sessions()).await;
    if version.replace(now) == Some(now) {
        return false;
    }
    *here = watched.presence(app).await;
    true
}

impl MemberView {
    async fn look(&mut self, app: &App) -> Result<Option<Vec<Region>>, Problem> {
        let Self { watched, version, here, name, ended } = self;
        if !news(watched, app, version, here).await {
            return Ok(None);
        }
        let moment = moment(app);
        let wanted = Wanted { name, here, amount: Amount::Beginning, moment: &moment };
        let range = watched.with(|team| steps::page(team, name, None));
        let open = watched.with(|team| team.watch(name).map_or(0, |watch| watch.ended()));
        ended.retain(|(number, _)| range.contains(number));
        for number in range.clone().filter(|number| *number < open) {
            if ended.iter().any(|(have, _)| *have == number) {
                continue;
            }
            if let Some(item) = steps::one(app, watched, &wanted, number).await? {
                ended.push_back((number, item));
            }
        }
        let mut items: Vec<Item> = ended.iter().map(|(_, item)| item.clone()).collect();
        items.extend(steps::one(app, watched, &wanted, open).await?);
        debug_assert!(items.len() <= GROUPS, "a page of steps");
        Ok(Some(watched.with(|watch| {
            let first = range.start;
            let shown = Conversation { watch, name, here, steps: &items, first, moment: &moment };
            transcript_regions(&shown)
        })))
    }
}
