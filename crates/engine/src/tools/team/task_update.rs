//! `team_task_update`: change a task, by compare-and-set.

use super::{TeamTool, caller, tasks};
use crate::ports::{Effect, ToolScope};
use crate::team::TeamHandle;
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::{MemberName, Revision};
use longboat_core::team::{TaskAction, TaskCommand};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug)]
pub(super) struct TaskUpdate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The task's id, such as "t3".
    task_id: String,
    /// The revision you last saw. If the task has changed since, nothing happens and you are told.
    expected_revision: u64,
    /// What to do.
    action: Action,
    /// edit: the new subject.
    #[serde(default)]
    subject: Option<String>,
    /// edit: the new description.
    #[serde(default)]
    description: Option<String>,
    /// edit: the new write scopes, all of them.
    #[serde(default)]
    write_scopes: Option<Vec<String>>,
    /// set_dependencies: the ids of all tasks that must be completed first.
    #[serde(default)]
    blocked_by: Option<Vec<String>>,
    /// reassign: the member who is to have it.
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Claim,
    Release,
    Edit,
    SetDependencies,
    Complete,
    Reopen,
    Reassign,
    Delete,
}

#[async_trait]
impl TeamTool for TaskUpdate {
    const NAME: &'static str = "team_task_update";
    const DESCRIPTION: &'static str = "Change a task: claim a ready one, complete, release, reopen or delete yours, edit its texts, set_dependencies, or (lead only) reassign it. The owner and lead may change a task; while nobody has it, its creator and lead may. Pass the revision you last saw.";
    const EFFECT: Effect = Effect::Ordered;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        match command(arguments) {
            Ok(command) => tasks::change(team, caller(&scope), command).await,
            Err(outcome) => outcome,
        }
    }
}

fn command(arguments: Arguments) -> Result<TaskCommand, ToolOutcome> {
    let task = tasks::id(arguments.task_id.clone())?;
    let expected_revision = Revision(arguments.expected_revision);
    Ok(TaskCommand::Update { task, expected_revision, action: action(arguments)? })
}

/// Reads the action with what belongs to it, and refuses what belongs to another.
fn action(arguments: Arguments) -> Result<TaskAction, ToolOutcome> {
    let Arguments { action, subject, description, write_scopes, blocked_by, owner, .. } = arguments;
    let edits = subject.is_some() || description.is_some() || write_scopes.is_some();
    let refuse = |text: &str| Err(ToolOutcome::error(text));
    if edits && action != Action::Edit {
        return refuse("subject, description and write_scopes belong to the action edit");
    }
    if blocked_by.is_some() && action != Action::SetDependencies {
        return refuse("blocked_by belongs to the action set_dependencies");
    }
    if owner.is_some() && action != Action::Reassign {
        return refuse("owner belongs to the action reassign");
    }
    match (action, blocked_by, owner) {
        (Action::Claim, ..) => Ok(TaskAction::Claim),
        (Action::Release, ..) => Ok(TaskAction::Release),
        (Action::Complete, ..) => Ok(TaskAction::Complete),
        (Action::Reopen, ..) => Ok(TaskAction::Reopen),
        (Action::Delete, ..) => Ok(TaskAction::Delete),
        (Action::Edit, ..) if edits => Ok(TaskAction::Edit { subject, description, write_scopes }),
        (Action::Edit, ..) => refuse("edit needs subject, description or write_scopes"),
        (Action::SetDependencies, Some(ids), _) => {
            Ok(TaskAction::SetDependencies { blocked_by: tasks::ids(ids)? })
        }
        (Action::SetDependencies, None, _) => refuse("set_dependencies needs blocked_by"),
        (Action::Reassign, _, Some(owner)) => match MemberName::new(owner) {
            Ok(owner) => Ok(TaskAction::Reassign { owner }),
            Err(invalid) => refuse(&invalid.to_string()),
        },
        (Action::Reassign, _, None) => refuse("reassign needs owner"),
    }
}
