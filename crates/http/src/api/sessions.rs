//! Sessions: which there are.

use super::extract::{Json, Query};
use super::when::rfc3339;
use crate::app::App;
use crate::problem::Problem;
use crate::sessions::Sessions;
use axum::extract::State;
use longboat_core::id::{Seq, SessionId};
use longboat_core::log::{Event, SessionKind, Source};
use longboat_core::time::Timestamp;
use longboat_engine::decode_stored;
use longboat_store::SessionHead;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Sessions in one page.
const PAGE: usize = 200;
/// Sessions in one page when no number is said.
const PAGE_DEFAULT: usize = 50;
/// Records at the beginning of a log among which its first prompt is looked for.
const FIRST_RECORDS: usize = 8;
/// Characters of a first prompt.
const PROMPT_CHARS: usize = 200;

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// How many to pass over.
    #[serde(default)]
    skip: usize,
    /// How many at most: 1 to 200.
    limit: Option<usize>,
}

/// A page of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionPage {
    /// The Leads' sessions, the last used first.
    pub(crate) sessions: Vec<SessionItem>,
    /// How many Leads' sessions there are.
    pub(crate) total: usize,
}

/// A Lead's session, and so a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SessionItem {
    /// Its id, which is the team's.
    pub(crate) id: String,
    /// The session it was forked from.
    pub(crate) forked_from: Option<String>,
    /// When it was made (RFC 3339).
    pub(crate) created: String,
    /// When a member of the team last wrote (RFC 3339).
    pub(crate) updated: String,
    /// When a member of the team last wrote.
    #[serde(skip)]
    pub(crate) used: Timestamp,
    /// Records of all its logs.
    pub(crate) records: u64,
    /// The beginning of its first prompt.
    pub(crate) first_prompt: String,
    /// The names of its teammates.
    pub(crate) teammates: Vec<String>,
    /// Says whether it is in memory of this process, and so at work or ready for it.
    pub(crate) open: bool,
}

/// The sessions of this workspace, the last used first.
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(Wanted),
    responses((status = 200, body = SessionPage), (status = "default", body = Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<SessionPage>, Problem> {
    let limit = wanted.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE);
    Ok(Json(page(app.sessions(), wanted.skip, limit).await?))
}

/// A page of Leads' sessions, the last used first.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn page(
    sessions: &Sessions,
    skip: usize,
    limit: usize,
) -> Result<SessionPage, Problem> {
    let mut teams: BTreeMap<String, Vec<SessionHead>> = BTreeMap::new();
    for head in sessions.store().sessions().await? {
        let lead = head.session.as_str().split('.').next().unwrap_or_default().to_owned();
        teams.entry(lead).or_default().push(head);
    }
    let mut teams: Vec<_> = teams.into_iter().collect();
    teams.sort_by_cached_key(|(lead, heads)| {
        (Reverse(heads.iter().map(|head| head.updated).max()), lead.clone())
    });
    let total = teams.len();
    let mut items = Vec::new();
    for (lead, heads) in teams.into_iter().skip(skip).take(limit) {
        items.extend(item(sessions, &lead, &heads).await?);
    }
    Ok(SessionPage { sessions: items, total })
}

async fn item(
    sessions: &Sessions,
    lead: &str,
    heads: &[SessionHead],
) -> Result<Option<SessionItem>, Problem> {
    let Ok(session) = SessionId::new(lead) else { return Ok(None) };
    let (first_prompt, forked_from) = beginning(sessions, &session).await?;
    let prefix = format!("{lead}.");
    let names = heads.iter().filter_map(|head| head.session.as_str().strip_prefix(&prefix));
    let used = heads.iter().map(|head| head.updated).max().unwrap_or_default();
    Ok(Some(SessionItem {
        id: lead.to_owned(),
        forked_from,
        created: rfc3339(heads.iter().map(|head| head.created).min().unwrap_or_default()),
        updated: rfc3339(used),
        used,
        records: heads.iter().map(|head| head.head.0).sum(),
        first_prompt,
        teammates: names.map(str::to_owned).collect(),
        open: sessions.opened(&session).is_some(),
    }))
}

/// The beginning of a session's first prompt, and what it was forked from. A log that cannot be read
/// has neither, and is listed all the same.
async fn beginning(
    sessions: &Sessions,
    session: &SessionId,
) -> Result<(String, Option<String>), Problem> {
    let read = sessions.store().read(session, Seq(0), FIRST_RECORDS).await;
    let (mut prompt, mut from) = (String::new(), None);
    let records = match read {
        Ok(records) => records,
        Err(longboat_store::StoreError::Damaged { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    for record in records.into_iter().filter_map(|stored| decode_stored(stored).ok()) {
        match record.event {
            Event::SessionCreated { kind: SessionKind::Fork { from: parent, .. }, .. } => {
                from = Some(parent.to_string());
            }
            Event::InboxInserted { item, .. }
                if prompt.is_empty() && item.source == Source::Human =>
            {
                prompt = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            _ => {}
        }
    }
    Ok((prompt.chars().take(PROMPT_CHARS).collect(), from))
}
