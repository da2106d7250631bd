//! Refusals and failures, as `application/problem+json` (RFC 9457) with a code that does not change.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use longboat_engine::{CallError, LoadError, TeamError, TeamFault};
use longboat_store::StoreError;
use serde::Serialize;

/// Why something was not done.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// A name for the kind of problem: `urn:longboat:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of problem in words.
    title: &'static str,
    /// The status code of the answer.
    status: u16,
    /// A stable name of this very problem, for programs.
    code: &'static str,
    /// What happened, and what to do about it.
    detail: String,
    #[serde(skip)]
    retry_after_s: Option<u64>,
}

impl Problem {
    /// A problem.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:longboat:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            code,
            detail: detail.into(),
            retry_after_s: None,
        }
    }

    /// Says when it may be tried again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Something in the request is not valid.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", detail)
    }

    /// Its stable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What happened, in words.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The status code of its answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status(), [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For whoever shows it to a person instead.
        response.extensions_mut().insert(self);
        response
    }
}

/// Says what could not be done, with its causes on one line.
fn story(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = cause.source();
    }
    line
}

impl From<TeamFault> for Problem {
    fn from(fault: TeamFault) -> Self {
        use StatusCode as S;
        let (status, code) = match &fault {
            TeamFault::Closed => (S::CONFLICT, "team_closed"),
            TeamFault::Store { .. } => (S::SERVICE_UNAVAILABLE, "store_failed"),
            TeamFault::Repeated => (S::CONFLICT, "being_done"),
            TeamFault::CallName { .. } => (S::UNPROCESSABLE_ENTITY, "invalid_id"),
            TeamFault::UnknownMember { .. } => (S::NOT_FOUND, "unknown_member"),
            TeamFault::InboxFull { .. } => (S::CONFLICT, "inbox_full"),
            TeamFault::PromptLength { .. } => (S::UNPROCESSABLE_ENTITY, "prompt_length"),
            TeamFault::Unreachable { .. } => (S::SERVICE_UNAVAILABLE, "member_unreachable"),
        };
        Self::new(status, code, fault.to_string())
    }
}

impl From<TeamError> for Problem {
    fn from(error: TeamError) -> Self {
        use StatusCode as S;
        let (status, code) = match &error {
            TeamError::Load(LoadError::Missing { .. }) => (S::NOT_FOUND, "unknown_session"),
            TeamError::Load(_) => (S::INTERNAL_SERVER_ERROR, "session_damaged"),
            TeamError::Write(_) | TeamError::Store(_) => (S::SERVICE_UNAVAILABLE, "store_failed"),
            TeamError::NotLead { .. } => (S::CONFLICT, "not_a_lead"),
            TeamError::Model(_) => (S::UNPROCESSABLE_ENTITY, "model_unusable"),
            TeamError::NotRunnable { .. } => (S::CONFLICT, "not_runnable"),
        };
        Self::new(status, code, story(&error))
    }
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Store { source, .. } => source.into(),
            error => TeamError::Load(error).into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Damaged { .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "session_damaged",
                format!("{error}; longboat doctor says what to do"),
            ),
            _ => Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_failed", error.to_string()),
        }
    }
}

/// What the rules of the team refuse has a name there already.
pub(crate) trait RefusalCode: std::error::Error {
    /// The status and the stable name.
    fn status_and_code(&self) -> (StatusCode, &'static str);
}

impl<R: RefusalCode> From<CallError<R>> for Problem {
    fn from(error: CallError<R>) -> Self {
        match error {
            CallError::Fault(fault) => fault.into(),
            CallError::Refused(refused) => {
                let (status, code) = refused.status_and_code();
                Self::new(status, code, refused.to_string())
            }
        }
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let code = match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => "body_too_large",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "not_json",
            _ => "invalid_request",
        };
        Self::new(rejection.status(), code, rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), "invalid_request", rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), "invalid_request", rejection.body_text())
    }
}

/// Answers for a path nobody serves.
pub(crate) async fn no_such_place() -> Problem {
    let detail = "nothing is served here; the API is described at /api/v1/openapi.json";
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
}

/// Answers for a method that a path does not have.
pub(crate) async fn no_such_method() -> Problem {
    let detail = "this path is not asked that way; see /api/v1/openapi.json";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}
