//! How the task tools show tasks, and what they share.

use super::json;
use crate::team::{CallError, TaskChanged, TeamHandle};
use longboat_core::content::ToolOutcome;
use longboat_core::id::{MemberName, Revision, TaskId};
use longboat_core::team::{Task, TaskBoard, TaskCommand, TaskRefused, TaskWarning};
use serde::Serialize;

/// A task as a model sees it.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    id: &'a TaskId,
    revision: Revision,
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a MemberName>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_by: &'a [TaskId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    write_scopes: &'a [String],
    created_by: &'a MemberName,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
}

#[derive(Serialize)]
struct Changed<'a> {
    task: Shown<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A task on one line of a list: without its description.
pub(super) fn listed<'a>(task: &'a Task, board: &TaskBoard) -> Shown<'a> {
    Shown { ready: Some(board.is_ready(task)), ..shown(task) }
}

/// A task with everything.
pub(super) fn whole<'a>(task: &'a Task, board: &TaskBoard) -> Shown<'a> {
    Shown { description: Some(&task.description), ..listed(task, board) }
}

fn shown(task: &Task) -> Shown<'_> {
    Shown {
        id: &task.id,
        revision: task.revision,
        subject: &task.subject,
        description: None,
        status: task.state.status().word(),
        owner: task.state.owner(),
        blocked_by: &task.blocked_by,
        write_scopes: &task.write_scopes,
        created_by: &task.created_by,
        ready: None,
    }
}

/// The result of a change.
pub(super) fn changed(task: &Task, warnings: &[TaskWarning]) -> ToolOutcome {
    let warnings = warnings.iter().map(ToString::to_string).collect();
    json(&Changed { task: shown(task), warnings })
}

/// Asks the team for a change, and shows what came of it.
pub(super) async fn change(
    team: &TeamHandle,
    caller: crate::team::Caller,
    command: TaskCommand,
) -> ToolOutcome {
    let result: Result<TaskChanged, CallError<TaskRefused>> =
        team.change_task_as(caller, command).await;
    match result {
        Ok(done) => changed(&done.task, &done.warnings),
        Err(error) => ToolOutcome::error(error.to_string()),
    }
}

/// Reads task ids that a model wrote.
pub(super) fn ids(texts: Vec<String>) -> Result<Vec<TaskId>, ToolOutcome> {
    texts.into_iter().map(id).collect()
}

/// Reads a task id that a model wrote.
pub(super) fn id(text: String) -> Result<TaskId, ToolOutcome> {
    TaskId::new(text).map_err(|invalid| ToolOutcome::error(invalid.to_string()))
}
