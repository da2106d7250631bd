//! The task board: a person sees it, and changes it with the Lead's authority.

use super::extract::{Json, Path, lead};
use super::input::own_name;
use crate::app::App;
use crate::problem::{Problem, RefusalCode};
use axum::extract::State;
use axum::http::StatusCode;
use longboat_core::id::{MemberName, Revision, TaskId};
use longboat_core::team::{self, TaskAction, TaskBoard, TaskCommand, TaskRefused};
use longboat_engine::TaskChanged;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All tasks of a team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Board {
    /// The team's revision.
    pub(crate) revision: u64,
    /// The tasks that are not deleted, in created order. At most 256 as configured by default.
    pub(crate) tasks: Vec<Task>,
}

/// A task, whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Task {
    /// Its id, never reused.
    pub(crate) id: String,
    /// Counted from 1; every change names the one it was made from.
    pub(crate) revision: u64,
    /// One line.
    pub(crate) subject: String,
    /// What is to be done, and when it is done.
    pub(crate) description: String,
    /// Where it stands.
    pub(crate) status: TaskStatus,
    /// Who has it, or had it when it was completed.
    pub(crate) owner: Option<String>,
    /// Says whether it can be claimed now.
    pub(crate) ready: bool,
    /// Tasks that must be completed first.
    pub(crate) blocked_by: Vec<String>,
    /// Paths its owner means to write.
    pub(crate) write_scopes: Vec<String>,
    /// Who made it: a member, or `human`.
    pub(crate) created_by: String,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    /// Nobody has it.
    Open,
    /// Somebody works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It is a tombstone.
    Deleted,
}

/// A task as it is after a change.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Changed {
    /// The name under which the change was made, and can be asked for again.
    pub(crate) id: String,
    /// The task.
    pub(crate) task: Task,
    /// What whoever made the change should know.
    pub(crate) warnings: Vec<String>,
}

/// A new task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTask {
    /// The caller's own name for this change: 1 to 64 of letters, digits, `-` and `_`. Asked again
    /// under the same name, nothing happens twice.
    id: Option<String>,
    /// One line.
    subject: String,
    /// What is to be done, and when it is done.
    #[serde(default)]
    description: String,
    /// Tasks that must be completed first.
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Paths its owner will write.
    #[serde(default)]
    write_scopes: Vec<String>,
}

/// A change of a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskChange {
    /// The caller's own name for this change: 1 to 64 of letters, digits, `-` and `_`. Asked again
    /// under the same name, nothing happens twice.
    id: Option<String>,
    /// The revision the caller saw. If the task has changed since, nothing happens.
    expected_revision: u64,
    /// What to do.
    action: Action,
    /// `edit`: the new subject.
    subject: Option<String>,
    /// `edit`: the new description.
    description: Option<String>,
    /// `edit`: all new write scopes.
    write_scopes: Option<Vec<String>>,
    /// `set_dependencies`: all tasks that must be completed first.
    blocked_by: Option<Vec<String>>,
    /// `reassign`: the member who is to have it.
    owner: Option<String>,
}

/// What to do with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// Take it for oneself.
    Claim,
    /// Take it from whoever has it: nobody has it then.
    Release,
    /// Change its texts.
    Edit,
    /// Change what comes first.
    SetDependencies,
    /// Say that it is done.
    Complete,
    /// Say that it is not done after all.
    Reopen,
    /// Give it to a member.
    Reassign,
    /// Take it off the board, for good.
    Delete,
}

/// The task board.
#[utoipa::path(get, path = "/sessions/{id}/tasks", tag = "tasks", params(("id", description = "The Lead's session")),
    responses((status = 200, body = Board), (status = "default", body = Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Board>, Problem> {
    let (view, _) = super::team::view(&app, &lead(&id)?).await?;
    let tasks = view.board.live().map(|task| Task::of(task, &view.board)).collect();
    Ok(Json(Board { revision: view.revision.0, tasks }))
}

/// One task.
#[utoipa::path(get, path = "/sessions/{id}/tasks/{task}", tag = "tasks",
    params(("id", description = "The Lead's session"), ("task", description = "The task's id")),
    responses((status = 200, body = Task), (status = "default", body = Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Path((id, task)): Path<(String, String)>,
) -> Result<Json<Task>, Problem> {
    let (lead, task) = (lead(&id)?, task_id(task)?);
    let (view, _) = super::team::view(&app, &lead).await?;
    let found = view.board.get(&task).ok_or(TaskRefused::UnknownTask { task });
    let found = found.map_err(|refused| refusal(&refused))?;
    Ok(Json(Task::of(found, &view.board)))
}

/// Makes a task.
#[utoipa::path(post, path = "/sessions/{id}/tasks", tag = "tasks", request_body = NewTask,
    params(("id", description = "The Lead's session")),
    responses((status = 201, body = Changed), (status = "default", body = Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(new): Json<NewTask>,
) -> Result<(StatusCode, Json<Changed>), Problem> {
    let NewTask { id: name, subject, description, blocked_by, write_scopes } = new;
    let blocked_by = task_ids(blocked_by)?;
    let command = TaskCommand::Create { subject, description, blocked_by, write_scopes };
    Ok((StatusCode::CREATED, Json(change(&app, &id, name, command).await?)))
}

/// Changes a task.
#[utoipa::path(post, path = "/sessions/{id}/tasks/{task}", tag = "tasks", request_body = TaskChange,
    params(("id", description = "The Lead's session"), ("task", description = "The task's id")),
    responses((status = 200, body = Changed), (status = "default", body = Problem)))]
pub(crate) async fn update(
    State(app): State<App>,
    Path((id, task)): Path<(String, String)>,
    Json(wanted): Json<TaskChange>,
) -> Result<Json<Changed>, Problem> {
    let (name, expected_revision) = (wanted.id.clone(), Revision(wanted.expected_revision));
    let (task, action) = (task_id(task)?, wanted.action()?);
    let command = TaskCommand::Update { task, expected_revision, action };
    Ok(Json(change(&app, &id, name, command).await?))
}

async fn change(
    app: &App,
    id: &str,
    name: Option<String>,
    command: TaskCommand,
) -> Result<Changed, Problem> {
    let name = own_name(app, name)?;
    let team = app.sessions().open(&lead(id)?).await?;
    let TaskChanged { task, warnings } = team.change_task(&name, command).await?;
    let view = team.look().await?;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok(Changed { id: name, task: Task::of(&task, &view.board), warnings })
}

impl Task {
    pub(crate) fn of(task: &team::Task, board: &TaskBoard) -> Self {
        let status = match task.state.status() {
            team::TaskStatus::Open => TaskStatus::Open,
            team::TaskStatus::InProgress => TaskStatus::InProgress,
            team::TaskStatus::Completed => TaskStatus::Completed,
            team::TaskStatus::Deleted => TaskStatus::Deleted,
        };
        Self {
            id: task.id.to_string(),
            revision: task.revision.0,
            subject: task.subject.clone(),
            description: task.description.clone(),
            status,
            owner: task.state.owner().map(ToString::to_string),
            ready: board.is_ready(task),
            blocked_by: task.blocked_by.iter().map(ToString::to_string).collect(),
            write_scopes: task.write_scopes.clone(),
            created_by: task.created_by.to_string(),
        }
    }
}

impl TaskChange {
    /// The action with what belongs to it; what belongs to another is refused.
    fn action(self) -> Result<TaskAction, Problem> {
        let Self { action, subject, description, write_scopes, blocked_by, owner, .. } = self;
        let edits = subject.is_some() || description.is_some() || write_scopes.is_some();
        for (given, of) in [
            (edits, Action::Edit),
            (blocked_by.is_some(), Action::SetDependencies),
            (owner.is_some(), Action::Reassign),
        ] {
            if given != (action == of) {
                let detail = "edit takes subject, description and write_scopes; set_dependencies takes blocked_by; reassign takes owner; nothing else takes these";
                return Err(Problem::invalid(detail));
            }
        }
        Ok(match action {
            Action::Claim => TaskAction::Claim,
            Action::Release => TaskAction::Release,
            Action::Edit => TaskAction::Edit { subject, description, write_scopes },
            Action::SetDependencies => {
                let blocked_by = task_ids(blocked_by.unwrap_or_default())?;
                TaskAction::SetDependencies { blocked_by }
            }
            Action::Complete => TaskAction::Complete,
            Action::Reopen => TaskAction::Reopen,
            Action::Reassign => {
                let owner = MemberName::new(owner.unwrap_or_default());
                let owner = owner.map_err(|invalid| Problem::invalid(invalid.to_string()))?;
                TaskAction::Reassign { owner }
            }
            Action::Delete => TaskAction::Delete,
        })
    }
}

fn task_id(text: String) -> Result<TaskId, Problem> {
    TaskId::new(text).map_err(|invalid| Problem::invalid(invalid.to_string()))
}

fn task_ids(texts: Vec<String>) -> Result<Vec<TaskId>, Problem> {
    texts.into_iter().map(task_id).collect()
}

fn refusal(refused: &TaskRefused) -> Problem {
    let (status, code) = refused.status_and_code();
    Problem::new(status, code, refused.to_string())
}

impl RefusalCode for TaskRefused {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        let status = match self {
            Self::UnknownTask { .. } => StatusCode::NOT_FOUND,
            Self::Deleted { .. } => StatusCode::GONE,
            Self::UnknownBlocker { .. }
            | Self::UnknownMember { .. }
            | Self::TextLength { .. }
            | Self::NotOneLine { .. }
            | Self::TooMany { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::CONFLICT,
        };
        (status, self.code())
    }
}
