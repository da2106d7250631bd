//! `team_task_list`: the board, a page at a time.

use super::{TeamTool, json, tasks};
use crate::ports::{Effect, ToolScope};
use crate::team::TeamHandle;
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::{MemberName, Revision, TaskId};
use longboat_core::limits::{TASK_PAGE, TASK_PAGE_DEFAULT};
use longboat_core::team::{TaskFilter, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct TaskList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only tasks with this status.
    #[serde(default)]
    status: Option<Status>,
    /// Only tasks that this member has or had.
    #[serde(default)]
    owner: Option<String>,
    /// true: only tasks that can be claimed now; false: only the others.
    #[serde(default)]
    ready: Option<bool>,
    /// The next_cursor of the page before.
    #[serde(default)]
    cursor: Option<String>,
    /// At most so many tasks: 1 to 100, 50 if not given.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Open,
    InProgress,
    Completed,
}

#[derive(Serialize)]
struct Page<'a> {
    revision: Revision,
    tasks: Vec<tasks::Shown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<TaskId>,
}

#[async_trait]
impl TeamTool for TaskList {
    const NAME: &'static str = "team_task_list";
    const DESCRIPTION: &'static str = "List the tasks of the board, in the order in which they were created, without their descriptions. ready tells which can be claimed. Pass the revision to wait_agent to miss no change.";
    const EFFECT: Effect = Effect::ReadOnly;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let filter = match filter(arguments) {
            Ok(filter) => filter,
            Err(outcome) => return outcome,
        };
        match team.look_as(Some(scope.member)).await {
            Ok(view) => {
                let (page, next_cursor) = view.board.page(&filter);
                let tasks = page.iter().map(|task| tasks::listed(task, &view.board)).collect();
                json(&Page { revision: view.revision, tasks, next_cursor })
            }
            Err(fault) => ToolOutcome::error(fault.to_string()),
        }
    }
}

fn filter(arguments: Arguments) -> Result<TaskFilter, ToolOutcome> {
    let Arguments { status, owner, ready, cursor, limit } = arguments;
    let limit = limit.unwrap_or(TASK_PAGE_DEFAULT);
    if !(1..=TASK_PAGE).contains(&limit) {
        return Err(ToolOutcome::error(format!("limit is {limit}; it must be 1 to {TASK_PAGE}")));
    }
    let status = status.map(|status| match status {
        Status::Open => TaskStatus::Open,
        Status::InProgress => TaskStatus::InProgress,
        Status::Completed => TaskStatus::Completed,
    });
    let owner = owner.map(MemberName::new).transpose();
    let owner = owner.map_err(|invalid| ToolOutcome::error(invalid.to_string()))?;
    let after = cursor.map(tasks::id).transpose()?;
    Ok(TaskFilter { status, owner, ready, after, limit })
}
