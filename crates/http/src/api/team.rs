//! A team: its members, what they do, and what they cost.

use super::extract::{Json, Path, lead};
use super::questions::Question;
use crate::app::App;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::StatusCode;
use longboat_core::content::Usage;
use longboat_core::id::{MemberName, SessionId};
use longboat_core::log::{Lane, TurnOutcome};
use longboat_core::price::Cost;
use longboat_core::team::EndedTurn;
use longboat_engine::{MemberView, Status, TeamView, load_lead};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A team at one moment.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Team {
    /// Its id: its Lead's session.
    pub(crate) id: String,
    /// Counted up by every change of roster, mailbox, tasks and status.
    pub(crate) revision: u64,
    /// Says whether it is in memory. Whoever is not, does nothing.
    pub(crate) open: bool,
    /// Why it takes nothing any more until it is resumed, as when a budget is used up.
    pub(crate) suspended: Option<String>,
    /// The Lead, then the teammates in the order in which they were named.
    pub(crate) members: Vec<Member>,
}

/// A member at one moment.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Member {
    /// Its name in the team.
    pub(crate) name: String,
    /// Its session.
    pub(crate) session: String,
    /// What it is for.
    pub(crate) description: String,
    /// The reusable definition it was made from.
    pub(crate) role: Option<String>,
    /// Its git worktree; null for a member that works in the shared checkout.
    pub(crate) worktree: Option<Worktree>,
    /// What it does now.
    pub(crate) status: MemberStatus,
    /// Why it could not be made, or cannot be reached.
    pub(crate) cause: Option<String>,
    /// How its last turn ended.
    pub(crate) last_turn: Option<LastTurn>,
    /// Its calls that wait for a person's permission.
    pub(crate) questions: Vec<Question>,
    /// Items in its inbox that it has not read.
    pub(crate) unread: usize,
    /// Messages that are queued for it and not in its inbox.
    pub(crate) owed: usize,
    /// The tokens of its requests; null when it was not in memory yet.
    pub(crate) usage: Option<Tokens>,
    /// What they cost, in US dollars; null when that is not known.
    pub(crate) cost_usd: Option<f64>,
}

/// A member's own git worktree. Nothing of it is merged or removed for you.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Worktree {
    /// Its root directory.
    pub(crate) path: String,
    /// The branch that is checked out in it.
    pub(crate) branch: String,
    /// The commit it began from.
    pub(crate) base: String,
}

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemberStatus {
    /// A turn is open.
    Running,
    /// It is in memory and waits for input.
    Idle,
    /// Its log is kept; mail brings it back.
    Inactive,
    /// It is being made.
    Provisioning,
    /// It could not be made.
    Failed,
}

/// How a turn ended.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LastTurn {
    /// Its number in the member's session.
    pub(crate) turn: u64,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Who interrupted it, or why it failed.
    pub(crate) cause: Option<String>,
    /// The beginning of its final text.
    pub(crate) excerpt: String,
}

/// How a turn ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The model stopped and nothing more was pending.
    Completed,
    /// Somebody cancelled it.
    Interrupted,
    /// It could not go on.
    Failed,
}

/// Tokens of model requests.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// All input, cached input included.
    pub(crate) input: u64,
    /// Input that was read from the provider's cache.
    pub(crate) cached: u64,
    /// Input that was written to the provider's cache.
    pub(crate) cache_write: u64,
    /// All output, reasoning included.
    pub(crate) output: u64,
    /// Output that was reasoning.
    pub(crate) reasoning: u64,
}

/// A new run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    /// What is to be done.
    prompt: String,
    /// The model, PROVIDER/MODEL; the configured one if not given.
    model: Option<String>,
}

/// Says whether a team was in memory, and now is not.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Closed {
    /// It was, and now is not.
    closed: bool,
}

/// Starts a run: a new session, with its first prompt.
#[utoipa::path(post, path = "/sessions", tag = "sessions", request_body = NewRun,
    responses((status = 201, body = Team), (status = "default", body = Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Json(run): Json<NewRun>,
) -> Result<(StatusCode, Json<Team>), Problem> {
    super::input::check_text(&run.prompt)?;
    let model =
        run.model.as_deref().or(app.default_model()).ok_or_else(|| {
            Problem::invalid("no model is configured; give one as PROVIDER/MODEL")
        })?;
    let team = app.sessions().create(app.workspace(), model).await?;
    let item = super::input::item(&app.sessions().new_id())?;
    team.prompt(&MemberName::lead(), Lane::NextTurn, item, run.prompt).await?;
    let view = team.look().await?;
    Ok((StatusCode::CREATED, Json(Team::of(&view, true))))
}

/// A team: its members and what they do.
#[utoipa::path(get, path = "/sessions/{id}", tag = "team", params(("id", description = "The Lead's session")),
    responses((status = 200, body = Team), (status = "default", body = Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Team>, Problem> {
    Ok(Json(team(&app, &lead(&id)?).await?))
}

/// Takes a team into memory: what a crash cut is closed, what is owed is delivered, and whoever had
/// work goes on with it.
#[utoipa::path(post, path = "/sessions/{id}/resume", tag = "sessions", params(("id", description = "The Lead's session")),
    responses((status = 200, body = Team), (status = "default", body = Problem)))]
pub(crate) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Team>, Problem> {
    let mut team = app.sessions().open(&lead(&id)?).await?;
    let mut view = team.look().await?;
    if view.suspended.is_some() {
        team = app.sessions().reopen(&team).await?;
        view = team.look().await?;
    }
    Ok(Json(Team::of(&view, true)))
}

/// Takes a team out of memory. Open turns stay open, and a resume goes on with them.
#[utoipa::path(post, path = "/sessions/{id}/close", tag = "sessions", params(("id", description = "The Lead's session")),
    responses((status = 200, body = Closed), (status = "default", body = Problem)))]
pub(crate) async fn close(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Closed>, Problem> {
    let lead = lead(&id)?;
    app.sessions().exists(&lead).await?;
    Ok(Json(Closed { closed: app.sessions().close(&lead).await }))
}

/// A team as it is, in memory or not.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) async fn team(app: &App, lead: &SessionId) -> Result<Team, Problem> {
    let (view, open) = view(app, lead).await?;
    Ok(Team::of(&view, open))
}

/// What the engine says of a team, and whether it is in memory.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) async fn view(app: &App, lead: &SessionId) -> Result<(TeamView, bool), Problem> {
    if let Some(team) = app.sessions().opened(lead)
        && let Ok(view) = team.look().await
    {
        return Ok((view, true));
    }
    let (_, team) = load_lead(&**app.sessions().store(), lead).await?;
    Ok((TeamView::stored(&team), false))
}

impl Team {
    pub(crate) fn of(view: &TeamView, open: bool) -> Self {
        Self {
            id: view.team.to_string(),
            revision: view.revision.0,
            open,
            suspended: view.suspended.clone(),
            members: view.members.iter().map(Member::of).collect(),
        }
    }
}

impl Member {
    fn of(view: &MemberView) -> Self {
        let (status, failed) = match &view.status {
            Status::Running => (MemberStatus::Running, None),
            Status::Idle => (MemberStatus::Idle, None),
            Status::Inactive => (MemberStatus::Inactive, None),
            Status::Provisioning => (MemberStatus::Provisioning, None),
            Status::Failed { reason } => (MemberStatus::Failed, Some(reason.clone())),
        };
        Self {
            name: view.name.to_string(),
            session: view.session.to_string(),
            description: view.description.clone(),
            role: view.role.clone(),
            worktree: view.worktree.as_ref().map(|worktree| Worktree {
                path: worktree.path.clone(),
                branch: worktree.branch.clone(),
                base: worktree.base.clone(),
            }),
            status,
            cause: failed.or_else(|| view.unreachable.clone()),
            last_turn: view.last.as_ref().map(LastTurn::of),
            questions: view.questions.iter().map(Question::of).collect(),
            unread: view.unread,
            owed: view.owed,
            usage: view.usage.map(Tokens::of),
            cost_usd: view.cost.map(Cost::in_dollars),
        }
    }
}

impl LastTurn {
    fn of(ended: &EndedTurn) -> Self {
        let (outcome, cause) = match &ended.outcome {
            TurnOutcome::Completed => (Outcome::Completed, None),
            TurnOutcome::Interrupted { by } => (Outcome::Interrupted, Some(by.clone())),
            TurnOutcome::Failed { reason } => (Outcome::Failed, Some(reason.clone())),
        };
        Self { turn: ended.turn.0, outcome, cause, excerpt: ended.excerpt.clone() }
    }
}

impl Tokens {
    fn of(usage: Usage) -> Self {
        let Usage { input, cached, cache_write, output, reasoning } = usage;
        Self { input, cached, cache_write, output, reasoning }
    }
}
