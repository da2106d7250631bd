//! `team_task_create`: a new task on the board.

use super::{TeamTool, caller, tasks};
use crate::ports::{Effect, ToolScope};
use crate::team::TeamHandle;
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::team::TaskCommand;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug)]
pub(super) struct TaskCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// One line: what is to be done.
    subject: String,
    /// What is to be done, and how one sees that it is done.
    description: String,
    /// Ids of tasks that must be completed first.
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Paths or globs this task means to write. They warn others of overlap and lock nothing.
    #[serde(default)]
    write_scopes: Vec<String>,
}

#[async_trait]
impl TeamTool for TaskCreate {
    const NAME: &'static str = "team_task_create";
    const DESCRIPTION: &'static str = "Put a task on the team's board. Nobody has it until somebody claims it or lead assigns it. Returns the task with its id and revision.";
    const EFFECT: Effect = Effect::Ordered;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let Arguments { subject, description, blocked_by, write_scopes } = arguments;
        let blocked_by = match tasks::ids(blocked_by) {
            Ok(blocked_by) => blocked_by,
            Err(outcome) => return outcome,
        };
        let command = TaskCommand::Create { subject, description, blocked_by, write_scopes };
        tasks::change(team, caller(&scope), command).await
    }
}
