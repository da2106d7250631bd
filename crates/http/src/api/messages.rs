//! The mailbox: every message of a team and its way, a page at a time. A message is found by its
//! number, whatever the history's length: an index keeps where in the Lead's log each was queued.

use super::extract::{Json, Path, Query, lead};
use super::when::rfc3339;
use crate::app::App;
use crate::problem::Problem;
use axum::extract::State;
use longboat_core::id::{EventKey, ItemId, MemberName, MessageId, Seq, SessionId, TeamId};
use longboat_core::log::{Event, Record};
use longboat_core::time::Timestamp;
use longboat_engine::{TeamView, decode_stored};
use longboat_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use utoipa::{IntoParams, ToSchema};

/// Messages in one page.
const PAGE: usize = 100;
/// Messages in one page when no number is said.
const PAGE_DEFAULT: usize = 50;
/// Records read at once.
const READ: usize = 200;
/// Teams whose index is kept.
const INDEXED_TEAMS: usize = 64;

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// The first one's number, from 1. The last page if not given.
    from: Option<u64>,
    /// How many at most: 1 to 100.
    limit: Option<usize>,
}

/// A page of a team's mailbox.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessagePage {
    /// The messages, in queued order.
    pub(crate) messages: Vec<Message>,
    /// How many messages were ever queued.
    pub(crate) total: u64,
    /// Where the next page begins; null at the end.
    pub(crate) next: Option<u64>,
}

/// A message and its way.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    /// Its id: `m` and its number.
    pub(crate) id: String,
    /// The true sender.
    pub(crate) from: String,
    /// The target.
    pub(crate) to: String,
    /// How far it came.
    pub(crate) state: MessageState,
    /// When it was queued (RFC 3339).
    pub(crate) queued: String,
    /// When the target's inbox durably held it (RFC 3339).
    pub(crate) accepted: Option<String>,
    /// When a step boundary of the target claimed it (RFC 3339).
    pub(crate) read: Option<String>,
    /// Milliseconds from queued to accepted.
    pub(crate) accepted_after_ms: Option<u64>,
    /// Milliseconds from accepted to read.
    pub(crate) read_after_ms: Option<u64>,
    /// Why it is still owed, or was discarded.
    pub(crate) cause: Option<String>,
    /// Exactly what was sent.
    pub(crate) text: String,
}

/// How far a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageState {
    /// Queued; the target's inbox does not hold it.
    Owed,
    /// In the target's inbox.
    Unread,
    /// In the target's conversation.
    Read,
    /// Taken out of the target's inbox without being read.
    Discarded,
}

/// The mailbox of a team.
#[utoipa::path(get, path = "/sessions/{id}/messages", tag = "team",
    params(("id", description = "The Lead's session"), Wanted),
    responses((status = 200, body = MessagePage), (status = "default", body = Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<MessagePage>, Problem> {
    let limit = wanted.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE);
    Ok(Json(page(&app, &lead(&id)?, wanted.from, limit).await?))
}

/// Reads a page of a team's mailbox: from a message's number on, or the last one.
///
/// # Errors
/// When there is no such team, or a log cannot be read.
pub(crate) async fn page(
    app: &App,
    lead: &SessionId,
    from: Option<u64>,
    limit: usize,
) -> Result<MessagePage, Problem> {
    let (view, open) = super::team::view(app, lead).await?;
    let store = &**app.sessions().store();
    let total = app.mail().count(store, lead).await?;
    let most = limit as u64;
    let from = from.unwrap_or(total.saturating_sub(most - 1)).max(1);
    let end = from.saturating_add(most).min(total + 1);
    let mut messages = Vec::new();
    for number in from..end {
        let Some(seq) = app.mail().place(lead, number) else { break };
        messages.extend(message(store, &view, open, seq).await?);
    }
    Ok(MessagePage { messages, total, next: (end <= total).then_some(end) })
}

async fn message(
    store: &dyn Store,
    view: &TeamView,
    open: bool,
    seq: Seq,
) -> Result<Option<Message>, Problem> {
    let team = &view.team;
    let queued = store.read(team.lead(), seq, 1).await?.into_iter().next();
    let Some(queued) = queued.and_then(|stored| decode_stored(stored).ok()) else {
        return Ok(None);
    };
    let Event::TeamMessageQueued { message, from, to, text, .. } = &queued.event else {
        return Ok(None);
    };
    let way = way(store, view, message, to).await?;
    let accepted = way.accepted.map(|record| record.at);
    let (state, read, discarded) = match way.left {
        Some(Left::Read(at)) => (MessageState::Read, Some(at), None),
        Some(Left::Discarded(reason)) => (MessageState::Discarded, None, Some(reason)),
        None if accepted.is_some() => (MessageState::Unread, None, None),
        None => (MessageState::Owed, None, None),
    };
    let owed = (state == MessageState::Owed).then(|| cause(view, open, to));
    Ok(Some(Message {
        id: message.to_string(),
        from: from.to_string(),
        to: to.to_string(),
        state,
        queued: rfc3339(queued.at),
        accepted: accepted.map(rfc3339),
        read: read.map(rfc3339),
        accepted_after_ms: accepted.map(|at| at.millis_since(queued.at)),
        read_after_ms: read.zip(accepted).map(|(read, at)| read.millis_since(at)),
        cause: discarded.or(owed),
        text: text.to_string(),
    }))
}

/// Why a message is still owed.
fn cause(view: &TeamView, open: bool, to: &MemberName) -> String {
    let member = view.members.iter().find(|member| member.name == *to);
    match member.and_then(|member| member.unreachable.clone()) {
        Some(cause) => cause,
        None if open => format!("{to} is being brought back"),
        None => "the team is not in memory; it is delivered when the team is resumed".to_owned(),
    }
}

#[derive(Default)]
struct Way {
    accepted: Option<Record>,
    left: Option<Left>,
}

/// How a message left an inbox.
enum Left {
    Read(Timestamp),
    Discarded(String),
}

/// What the target's log says of a message: found by its key, and then by looking on from there.
async fn way(
    store: &dyn Store,
    view: &TeamView,
    message: &MessageId,
    to: &MemberName,
) -> Result<Way, Problem> {
    let Some(target) = view.members.iter().find(|member| member.name == *to) else {
        return Ok(Way::default());
    };
    let item = ItemId::message(&view.team, message);
    let found = store.find(&target.session, &EventKey::inbox(&item)).await?;
    let Some(accepted) = found.and_then(|stored| decode_stored(stored).ok()) else {
        return Ok(Way::default());
    };
    let left = left(store, &target.session, accepted.seq.next(), &item).await?;
    Ok(Way { accepted: Some(accepted), left })
}

async fn left(
    store: &dyn Store,
    session: &SessionId,
    mut from: Seq,
    item: &ItemId,
) -> Result<Option<Left>, Problem> {
    loop {
        let page = store.read(session, from, READ).await?;
        let ended = page.len() < READ;
        for stored in page {
            from = stored.seq.next();
            // Only these two kinds end the way; the others are not looked into.
            if !["inbox/claimed", "inbox/discarded"].contains(&stored.kind.as_str()) {
                continue;
            }
            let Ok(record) = decode_stored(stored) else { continue };
            match record.event {
                Event::InboxClaimed { items, .. } if items.contains(item) => {
                    return Ok(Some(Left::Read(record.at)));
                }
                Event::InboxDiscarded { items, reason } if items.contains(item) => {
                    return Ok(Some(Left::Discarded(reason)));
                }
                _ => {}
            }
        }
        if ended {
            return Ok(None);
        }
    }
}

/// Where in the Leads' logs messages were queued.
#[derive(Debug, Default)]
pub(crate) struct MailIndex(Mutex<BTreeMap<SessionId, Places>>);

/// The places of a team's messages, by their numbers from 1, and how far its log was read.
#[derive(Debug, Clone, Default)]
struct Places {
    read: Seq,
    queued: Vec<Seq>,
}

impl MailIndex {
    /// How many messages a team has: reads what came to the Lead's log since it was last asked.
    async fn count(&self, store: &dyn Store, lead: &SessionId) -> Result<u64, Problem> {
        let team = TeamId::of(lead.clone());
        loop {
            let (from, known) = self.known(lead);
            let page = store.read(lead, from, READ).await?;
            let Some(last) = page.last().map(|stored| stored.seq) else { return Ok(known) };
            let ours = page.into_iter().filter(|stored| stored.kind == "team/message/queued");
            let records = ours.filter_map(|stored| decode_stored(stored).ok());
            let queued = records.filter(|record| record.event.team() == Some(&team));
            self.learn(lead, from, last.next(), queued.map(|record| record.seq).collect());
        }
    }

    fn place(&self, lead: &SessionId, number: u64) -> Option<Seq> {
        let teams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        teams.get(lead)?.queued.get(place).copied()
    }

    fn known(&self, lead: &SessionId) -> (Seq, u64) {
        let mut teams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if teams.len() >= INDEXED_TEAMS && !teams.contains_key(lead) {
            // It is read again when it is asked for.
            teams.pop_first();
        }
        let places = teams.entry(lead.clone()).or_default();
        (places.read, places.queued.len() as u64)
    }

    fn learn(&self, lead: &SessionId, from: Seq, to: Seq, queued: Vec<Seq>) {
        let mut teams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(places) = teams.get_mut(lead) else { return };
        // Somebody else may have read the same meanwhile.
        if places.read == from {
            places.read = to;
            places.queued.extend(queued);
        }
    }
}
