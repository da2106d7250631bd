//! Calls that wait for a person's permission, and the person's answer.

use super::extract::{Json, Path, lead};
use crate::app::App;
use crate::problem::{Problem, RefusalCode};
use axum::extract::State;
use axum::http::StatusCode;
use longboat_core::permission::{Answer, QuestionId};
use longboat_engine::{AnswerRefused, OpenQuestion};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Bytes of a call's arguments that are shown; the whole of them is in the transcript.
const ARGUMENT_BYTES: usize = 16 * 1024;

/// A call that waits for permission.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Question {
    /// Its name: the member, the step and the place in it.
    pub(crate) id: String,
    /// The tool that is called.
    pub(crate) tool: String,
    /// What it is called with, as the model wrote it.
    pub(crate) arguments: String,
}

/// A person's answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// Whether the call may run.
    answer: Permitted,
}

/// Whether a call may run.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Permitted {
    /// This call runs.
    Once,
    /// This call and all like it run, in the whole team, from now on.
    Always,
    /// This call is refused.
    No,
}

/// An answer that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The question.
    id: String,
    /// The answer.
    answer: Permitted,
}

/// Answers a call that waits for permission. The answer is durable when this returns. A team that is
/// not in memory is brought back for it.
#[utoipa::path(post, path = "/sessions/{id}/questions/{question}", tag = "person",
    params(("id", description = "The Lead's session"), ("question", description = "The question's id, such as scout.3.0")),
    request_body = Given,
    responses((status = 200, body = Answered), (status = "default", body = Problem)))]
pub(crate) async fn answer(
    State(app): State<App>,
    Path((id, question)): Path<(String, String)>,
    Json(given): Json<Given>,
) -> Result<Json<Answered>, Problem> {
    let question: QuestionId =
        question.parse().map_err(|error| Problem::invalid(format!("{error}")))?;
    let team = app.sessions().open(&lead(&id)?).await?;
    let id = question.to_string();
    team.answer(question, given.answer.into()).await?;
    Ok(Json(Answered { id, answer: given.answer }))
}

impl Question {
    pub(super) fn of(open: &OpenQuestion) -> Self {
        let most = ARGUMENT_BYTES.min(open.arguments.len());
        let end = (0..=most).rev().find(|end| open.arguments.is_char_boundary(*end)).unwrap_or(0);
        let arguments = open.arguments.get(..end).unwrap_or_default().to_owned();
        Self { id: open.question.to_string(), tool: open.tool.clone(), arguments }
    }
}

impl From<Permitted> for Answer {
    fn from(permitted: Permitted) -> Self {
        match permitted {
            Permitted::Once => Self::Once,
            Permitted::Always => Self::Always,
            Permitted::No => Self::No,
        }
    }
}

impl RefusalCode for AnswerRefused {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotOpen { .. } => (StatusCode::CONFLICT, "question_not_open"),
        }
    }
}
