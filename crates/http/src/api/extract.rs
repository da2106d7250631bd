//! What a request brings, with refusals in the API's own form.

use crate::problem::Problem;
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use longboat_core::id::{MemberName, SessionId};

/// A JSON body, in and out.
#[derive(Debug, FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: serde::Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// The query.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

/// The named parts of the path.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// The Lead's session that a path names.
pub(crate) fn lead(text: &str) -> Result<SessionId, Problem> {
    let unknown = || {
        let detail = format!("there is no session {:?}", short(text));
        Problem::new(StatusCode::NOT_FOUND, "unknown_session", detail)
    };
    let session = SessionId::new(text).map_err(|_| unknown())?;
    if let Some((lead, _)) = text.split_once('.') {
        let detail = format!("{session} is a teammate's session; ask for its lead's, {lead}");
        return Err(Problem::new(StatusCode::CONFLICT, "not_a_lead", detail));
    }
    Ok(session)
}

/// The member that a path names.
pub(crate) fn member(text: &str) -> Result<MemberName, Problem> {
    MemberName::new(text).map_err(|_| {
        let detail = format!("there is no member {:?} in this team", short(text));
        Problem::new(StatusCode::NOT_FOUND, "unknown_member", detail)
    })
}

/// As much of a stranger's text as is worth repeating.
fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
