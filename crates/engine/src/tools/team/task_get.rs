//! `team_task_get`: one task, whole.

use super::{TeamTool, json, tasks};
use crate::ports::{Effect, ToolScope};
use crate::team::TeamHandle;
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::team::TaskRefused;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct TaskGet;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The task's id, such as "t3".
    task_id: String,
}

#[derive(Serialize)]
struct Got<'a> {
    task: tasks::Shown<'a>,
}

#[async_trait]
impl TeamTool for TaskGet {
    const NAME: &'static str = "team_task_get";
    const DESCRIPTION: &'static str =
        "Read one task of the board, whole, with its description and its current revision.";
    const EFFECT: Effect = Effect::ReadOnly;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let id = match tasks::id(arguments.task_id) {
            Ok(id) => id,
            Err(outcome) => return outcome,
        };
        let view = match team.look_as(Some(scope.member)).await {
            Ok(view) => view,
            Err(fault) => return ToolOutcome::error(fault.to_string()),
        };
        match view.board.get(&id) {
            Some(task) => json(&Got { task: tasks::whole(task, &view.board) }),
            None => ToolOutcome::error(TaskRefused::UnknownTask { task: id }.to_string()),
        }
    }
}
