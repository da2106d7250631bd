//! The stream of what happens in a team. Every durable record comes exactly once, with an id from
//! which a broken stream goes on; what is only of the moment comes without one and may be skipped.

use super::extract::{Path, Query, lead};
use super::position::{from_id, to_id};
use crate::app::App;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use futures::Stream;
use longboat_core::id::{EventKey, MemberName, Seq, SessionId};
use longboat_core::log::{Record, encode};
use longboat_core::time::Timestamp;
use longboat_engine::{Delta, Follower, Notice, Position, Since};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::{IntoParams, ToSchema};

/// How often a silent stream says that it lives: less than what lies between usually waits.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Where a stream begins.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The id of the last event known, or `now`; from the beginning if not given. The header
    /// `Last-Event-ID` goes before it.
    since: Option<String>,
}

/// A durable record, as the `data` of an event `record`; `run --json` and `export` print the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamRecord<'a> {
    /// The log it is in.
    #[schema(value_type = String)]
    session: &'a SessionId,
    /// Whose log that is.
    #[schema(value_type = String)]
    member: &'a MemberName,
    /// Its place there: dense, from 0.
    #[schema(value_type = u64)]
    seq: Seq,
    /// When it was decided, in milliseconds since 1970.
    #[schema(value_type = u64)]
    time: Timestamp,
    /// What happened, such as `turn/started`.
    #[serde(rename = "type")]
    kind: &'a str,
    /// Its key, unique in its log, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    key: Option<&'a EventKey>,
    /// The payload of its type.
    #[schema(value_type = Object)]
    data: &'a RawValue,
}

/// What is only of the moment: the `data` of the other events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Moment {
    /// `team`: it came into memory, or left it.
    Team {
        /// Says whether it is in memory.
        open: bool,
    },
    /// `delta`: a reply is coming in.
    Delta {
        /// Whose.
        member: String,
        /// What it is a piece of: `text`, `reasoning`, or `call` for the name of a tool.
        kind: &'static str,
        /// The piece.
        text: String,
    },
    /// `retrying` and `unreachable`: a request failed or a member cannot be brought back, and it is
    /// tried again.
    Waiting {
        /// Whose.
        member: String,
        /// Why.
        cause: String,
        /// Milliseconds until then.
        wait_ms: u64,
    },
    /// `recovering`: the store failed; the team is being read anew.
    Recovering {
        /// What the store said.
        cause: String,
    },
}

/// What happens in a team, as server-sent events: `record` for each durable record of each of its
/// logs, exactly once and with an id; `position` at first, with the id at which the stream begins;
/// `team`, `delta`, `retrying`, `unreachable` and `recovering` for what is only of the moment.
#[utoipa::path(get, path = "/sessions/{id}/events", tag = "team",
    params(("id", description = "The Lead's session"), From,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event known")),
    responses(
        (status = 200, content_type = "text/event-stream", body = TeamRecord),
        (status = "default", body = Problem)))]
pub(crate) async fn follow(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, Problem> {
    let lead = lead(&id)?;
    app.sessions().exists(&lead).await?;
    let place = app.stream_place().ok_or_else(|| {
        let detail = "as many streams of events are open as may be; close one";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail).retry_after(5)
    })?;
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let position = begin(&app, &lead, last.or(from.since.as_deref())).await?;
    let feed = Feed::new(app, lead, position, place);
    let events = futures::stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((Ok(event), feed))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)))
}

/// The position an id names, when the team's logs reach so far.
async fn begin(app: &App, lead: &SessionId, since: Option<&str>) -> Result<Position, Problem> {
    let heads = heads(app, lead).await?;
    let Some(since) = since else { return Ok(Position::new()) };
    if since == "now" {
        return Ok(heads);
    }
    let position = from_id(lead, since).ok_or_else(|| {
        let detail = "that is no id of an event; ask without one to begin at the beginning";
        Problem::new(StatusCode::BAD_REQUEST, "invalid_position", detail)
    })?;
    let reached = |(session, seq): (&SessionId, &Seq)| {
        *seq <= heads.get(session).copied().unwrap_or_default()
    };
    if !position.iter().all(reached) {
        let detail = "no log of this team reaches so far; ask without an id to begin anew";
        return Err(Problem::new(StatusCode::CONFLICT, "unknown_position", detail));
    }
    Ok(position)
}

async fn heads(app: &App, lead: &SessionId) -> Result<Position, Problem> {
    let prefix = format!("{lead}.");
    let all = app.sessions().store().sessions().await?.into_iter();
    let ours =
        all.filter(|head| head.session == *lead || head.session.as_str().starts_with(&prefix));
    Ok(ours.map(|head| (head.session, head.head)).collect())
}

/// One reader of a team. It asks for the next event only when the reader has taken the one before,
/// and holds a page of records at most; who is slow is told the rest from the store.
struct Feed {
    app: App,
    lead: SessionId,
    source: Source,
    changes: watch::Receiver<u64>,
    pending: VecDeque<Sent>,
    /// One of the places for streams, given back at the end.
    _place: OwnedSemaphorePermit,
}

/// Where a feed's events come from.
enum Source {
    /// A team in memory, at this coming of it there.
    Live(Follower, u64),
    /// What is stored.
    Stored(Follower),
    /// Nowhere: all that is stored was told, and nobody writes.
    Nobody(Position),
}

impl Feed {
    fn new(app: App, lead: SessionId, position: Position, place: OwnedSemaphorePermit) -> Self {
        let changes = app.sessions().changes();
        let first = Sent::default().event("position").id(to_id(&lead, &position)).data("{}");
        let store = Arc::clone(app.sessions().store());
        let source = Source::Stored(Follower::stored(store, lead.clone(), position));
        Self { app, lead, source, changes, pending: VecDeque::from([first]), _place: place }
    }

    async fn next(&mut self) -> Option<Sent> {
        let ending = self.app.ending().clone();
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = ending.cancelled() => return None,
                () = self.step() => {}
            }
        }
    }

    /// Goes on by one notice or one change of the source.
    async fn step(&mut self) {
        match &mut self.source {
            Source::Live(follower, number) => tokio::select! {
                biased;
                notice = follower.next() => match notice {
                    Some(notice) => {
                        let event = event(&self.lead, &notice, follower.position());
                        self.pending.extend(event);
                    }
                    None => self.leave(),
                },
                _ = self.changes.changed() => {
                    let here = self.app.sessions().opened_at(&self.lead).map(|(number, _)| number);
                    if here != Some(*number) {
                        self.leave();
                    }
                }
            },
            Source::Stored(follower) => match follower.next_known().await {
                Some(notice) => {
                    let event = event(&self.lead, &notice, follower.position());
                    self.pending.extend(event);
                }
                None => {
                    let position = follower.position().clone();
                    self.enter(position).await;
                }
            },
            Source::Nobody(position) => {
                let position = position.clone();
                // The sender is a part of the app, which this holds.
                drop(self.changes.changed().await);
                let store = Arc::clone(self.app.sessions().store());
                let stored = Follower::stored(store, self.lead.clone(), position);
                self.source = Source::Stored(stored);
            }
        }
    }

    /// Follows the team where it is in memory.
    async fn enter(&mut self, position: Position) {
        let Some((number, team)) = self.app.sessions().opened_at(&self.lead) else {
            self.source = Source::Nobody(position);
            return;
        };
        match team.follow(Since::After(position.clone())).await {
            Ok(follower) => {
                self.source = Source::Live(follower, number);
                self.pending.extend(moment("team", &Moment::Team { open: true }));
            }
            // A store that cannot be read may be when something changes.
            Err(_) => self.source = Source::Nobody(position),
        }
    }

    /// Leaves a team that left memory, for what it wrote last.
    fn leave(&mut self) {
        if let Source::Live(follower, _) = &self.source {
            let position = follower.position().clone();
            let store = Arc::clone(self.app.sessions().store());
            self.source = Source::Stored(Follower::stored(store, self.lead.clone(), position));
            self.pending.extend(moment("team", &Moment::Team { open: false }));
        }
    }
}

/// A notice as an event; `None` when it cannot be put into words.
fn event(lead: &SessionId, notice: &Notice, now: &Position) -> Option<Sent> {
    let ms = |wait: &Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    match notice {
        Notice::Committed { session, record } => {
            let data = record_json(lead, session, record)?;
            Some(Sent::default().event("record").id(to_id(lead, now)).data(data))
        }
        Notice::Streaming { member, delta } => {
            let (kind, text) = match delta {
                Delta::Text(text) => ("text", text),
                Delta::Reasoning(text) => ("reasoning", text),
                Delta::Call(name) => ("call", name),
            };
            let (member, text) = (member.to_string(), text.clone());
            moment("delta", &Moment::Delta { member, kind, text })
        }
        Notice::Retrying { member, reason, wait } => {
            let (member, cause) = (member.to_string(), reason.clone());
            moment("retrying", &Moment::Waiting { member, cause, wait_ms: ms(wait) })
        }
        Notice::Unreachable { member, cause, wait } => {
            let (member, cause) = (member.to_string(), cause.clone());
            moment("unreachable", &Moment::Waiting { member, cause, wait_ms: ms(wait) })
        }
        Notice::Recovering { cause } => {
            moment("recovering", &Moment::Recovering { cause: cause.clone() })
        }
    }
}

fn moment(name: &str, moment: &Moment) -> Option<Sent> {
    let data = serde_json::to_string(moment).ok()?;
    Some(Sent::default().event(name).data(data))
}

fn record_json(lead: &SessionId, session: &SessionId, record: &Record) -> Option<String> {
    let name = session.as_str().strip_prefix(lead.as_str())?.strip_prefix('.');
    let member = match name {
        Some(name) => MemberName::new(name).ok()?,
        None => MemberName::lead(),
    };
    let data = RawValue::from_string(encode(&record.event).ok()?).ok()?;
    let sent = TeamRecord {
        session,
        member: &member,
        seq: record.seq,
        time: record.at,
        kind: record.event.kind(),
        key: record.key.as_ref(),
        data: &data,
    };
    serde_json::to_string(&sent).ok()
}
