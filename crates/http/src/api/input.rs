//! What a person says to a member, and the end of a member's turn. No field names a sender: it is
//! the person.

use super::extract::{Json, Path, lead, member};
use crate::app::App;
use crate::problem::{Problem, RefusalCode};
use axum::extract::State;
use axum::http::StatusCode;
use longboat_core::id::{EventKey, ItemId, MemberName, SessionId};
use longboat_core::limits::PROMPT_BYTES;
use longboat_core::log::{Event, Lane};
use longboat_core::team::InterruptRefused;
use longboat_engine::{Interrupted, decode_stored};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Characters of a caller's own name for what it asks.
const ID_CHARS: usize = 64;

/// What a person says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    /// The words.
    text: String,
    /// The caller's own name for them: 1 to 64 of letters, digits, `-` and `_`. Said again under the
    /// same name, nothing happens twice. One is made if none is given.
    id: Option<String>,
}

/// What was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Taken {
    /// The name under which it was taken, and can be said again.
    id: String,
}

/// What an interrupt found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InterruptResult {
    /// Says whether an open turn was cancelled.
    cancelled: bool,
    /// Messages and prompts that were pending: they start the next turn at once.
    pending: usize,
}

/// Queues a person's words for a member: a turn of their own. They are durable when this returns.
#[utoipa::path(post, path = "/sessions/{id}/members/{member}/prompt", tag = "person",
    params(("id", description = "The Lead's session"), ("member", description = "The member's name")),
    request_body = Words,
    responses((status = 202, body = Taken), (status = "default", body = Problem)))]
pub(crate) async fn prompt(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    Json(words): Json<Words>,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    take(&app, &lead(&id)?, &member(&name)?, Lane::NextTurn, words).await
}

/// Steers a member: it reads the words at its nearest step boundary, or starts a turn with them.
#[utoipa::path(post, path = "/sessions/{id}/members/{member}/steer", tag = "person",
    params(("id", description = "The Lead's session"), ("member", description = "The member's name")),
    request_body = Words,
    responses((status = 202, body = Taken), (status = "default", body = Problem)))]
pub(crate) async fn steer(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    Json(words): Json<Words>,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    take(&app, &lead(&id)?, &member(&name)?, Lane::NextStep, words).await
}

/// Cancels a member's open turn, and nothing else: what is pending starts its next turn at once.
#[utoipa::path(post, path = "/sessions/{id}/members/{member}/interrupt", tag = "person",
    params(("id", description = "The Lead's session"), ("member", description = "The member's name")),
    responses((status = 200, body = InterruptResult), (status = "default", body = Problem)))]
pub(crate) async fn interrupt(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<InterruptResult>, Problem> {
    let (lead, name) = (lead(&id)?, member(&name)?);
    let Some(team) = app.sessions().opened(&lead) else {
        // Nobody of a team that is not in memory has a turn under way.
        let (view, _) = super::team::view(&app, &lead).await?;
        known(&view, &name)?;
        return Ok(Json(InterruptResult { cancelled: false, pending: 0 }));
    };
    let result = match team.interrupt(name.as_str()).await? {
        Interrupted::Cancelled { pending } => InterruptResult { cancelled: true, pending },
        Interrupted::NotRunning => InterruptResult { cancelled: false, pending: 0 },
    };
    Ok(Json(result))
}

/// The member of a name, when the team has it.
pub(super) fn known(
    view: &longboat_engine::TeamView,
    name: &MemberName,
) -> Result<SessionId, Problem> {
    let found = view.members.iter().find(|member| member.name == *name);
    found
        .map(|member| member.session.clone())
        .ok_or_else(|| longboat_engine::TeamFault::UnknownMember { name: name.to_string() }.into())
}

async fn take(
    app: &App,
    lead: &SessionId,
    name: &MemberName,
    lane: Lane,
    words: Words,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    let Words { text, id } = words;
    let id = own_name(app, id)?;
    check_text(&text)?;
    let item = item(&id)?;
    let team = app.sessions().open(lead).await?;
    let (view, _) = super::team::view(app, lead).await?;
    let session = known(&view, name)?;
    team.prompt(name, lane, item.clone(), text.clone()).await?;
    // Whatever came first under this name is what was taken.
    if said(app, &session, &item).await?.is_some_and(|said| said != text) {
        let detail = format!("{id:?} names other words that were said to {name}; choose another");
        return Err(Problem::new(StatusCode::CONFLICT, "id_used", detail));
    }
    Ok((StatusCode::ACCEPTED, Json(Taken { id })))
}

/// The words that were taken under an item's id.
async fn said(app: &App, session: &SessionId, item: &ItemId) -> Result<Option<String>, Problem> {
    let found = app.sessions().store().find(session, &EventKey::inbox(item)).await?;
    let event = found.and_then(|stored| decode_stored(stored).ok()).map(|record| record.event);
    Ok(match event {
        Some(Event::InboxInserted { item, .. }) => Some(item.text.to_string()),
        _ => None,
    })
}

/// Refuses words that are none, or too many, before anything is made for them.
pub(super) fn check_text(text: &str) -> Result<(), Problem> {
    let (bytes, limit) = (text.len(), PROMPT_BYTES);
    if text.trim().is_empty() || bytes > limit {
        return Err(longboat_engine::TeamFault::PromptLength { bytes, limit }.into());
    }
    Ok(())
}

/// The caller's own name for what it asks, checked, or a new one.
pub(super) fn own_name(app: &App, given: Option<String>) -> Result<String, Problem> {
    let Some(id) = given else { return Ok(app.sessions().new_id()) };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.is_empty() || id.len() > ID_CHARS || !id.chars().all(fits) {
        let detail = format!("id has to be 1 to {ID_CHARS} of letters, digits, '-' and '_'");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_id", detail));
    }
    Ok(id)
}

/// The inbox item of a person's words.
pub(super) fn item(id: &str) -> Result<ItemId, Problem> {
    ItemId::new(format!("prompt/{id}")).map_err(|invalid| Problem::invalid(invalid.to_string()))
}

impl RefusalCode for InterruptRefused {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::UnknownTarget { .. } => (StatusCode::NOT_FOUND, "unknown_member"),
            _ => (StatusCode::CONFLICT, self.code()),
        }
    }
}
