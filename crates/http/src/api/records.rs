//! A member's transcript, as the records of its log, a page at a time.

use super::extract::{Json, Path, Query, lead, member};
use super::input::known;
use crate::app::App;
use crate::problem::Problem;
use axum::extract::State;
use longboat_core::id::{Seq, SessionId};
use longboat_store::{Store, StoredRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

/// Records in one page.
const PAGE: usize = 500;
/// Records in one page when no number is said.
const PAGE_DEFAULT: usize = 100;
/// Bytes of payloads after which a page ends: what one answer may hold in memory.
const PAGE_BYTES: usize = 4 * 1_048_576;
/// Records read at once.
const READ: usize = 32;

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// The first one's place, from 0.
    #[serde(default)]
    from: u64,
    /// How many at most: 1 to 500. A page with much text may have fewer.
    limit: Option<usize>,
}

/// A page of a member's log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordPage {
    /// The records, in order.
    pub(crate) records: Vec<LogRecord>,
    /// Where the next page begins; null at the end of the log.
    pub(crate) next: Option<u64>,
}

/// A record of a log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogRecord {
    /// Its place: dense, from 0.
    pub(crate) seq: u64,
    /// When it was decided, in milliseconds since 1970.
    pub(crate) time: u64,
    /// What happened, such as `turn/started`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Its key, unique in its log, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The payload of its type.
    #[schema(value_type = Object)]
    pub(crate) data: Box<RawValue>,
}

/// A page of a member's log.
#[utoipa::path(get, path = "/sessions/{id}/members/{member}/records", tag = "team",
    params(("id", description = "The Lead's session"), ("member", description = "The member's name"), Wanted),
    responses((status = 200, body = RecordPage), (status = "default", body = Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<RecordPage>, Problem> {
    let (lead, name) = (lead(&id)?, member(&name)?);
    let session = if name.is_lead() {
        app.sessions().exists(&lead).await?;
        lead
    } else {
        known(&super::team::view(&app, &lead).await?.0, &name)?
    };
    let limit = wanted.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE);
    Ok(Json(page(&**app.sessions().store(), &session, Seq(wanted.from), limit).await?))
}

/// Reads a page of a log.
///
/// # Errors
/// When the log cannot be read.
pub(crate) async fn page(
    store: &dyn Store,
    session: &SessionId,
    mut from: Seq,
    limit: usize,
) -> Result<RecordPage, Problem> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    loop {
        let wanted = READ.min(limit - records.len());
        let read = store.read(session, from, wanted).await?;
        let ended = read.len() < wanted;
        for stored in read {
            from = stored.seq.next();
            bytes += stored.data.len();
            records.push(LogRecord::of(stored)?);
        }
        if ended {
            return Ok(RecordPage { records, next: None });
        }
        if records.len() >= limit || bytes >= PAGE_BYTES {
            return Ok(RecordPage { records, next: Some(from.0) });
        }
    }
}

impl LogRecord {
    fn of(stored: StoredRecord) -> Result<Self, Problem> {
        let StoredRecord { seq, at, kind, key, data } = stored;
        let damaged = |error: serde_json::Error| {
            let detail = format!("the record at seq {seq} is no JSON: {error}");
            Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "session_damaged", detail)
        };
        let data = RawValue::from_string(data).map_err(damaged)?;
        let key = key.map(|key| key.to_string());
        Ok(Self { seq: seq.0, time: at.0, kind, key, data })
    }
}
