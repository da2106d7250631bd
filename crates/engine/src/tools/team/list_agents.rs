//! `list_agents`: the members, what they do, and how their last turns ended.

use super::{TeamTool, json};
use crate::ports::{Effect, ToolScope};
use crate::team::{MemberView, Status, TeamHandle, TeamView};
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::{MemberName, Revision};
use longboat_core::log::{TurnOutcome, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct ListAgents;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

/// The team as a model sees it.
#[derive(Serialize)]
pub(super) struct Agents {
    revision: Revision,
    agents: Vec<Agent>,
}

#[derive(Serialize)]
struct Agent {
    name: MemberName,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<Branch>,
    /// Why it failed or cannot be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// What it waits for, when a person has to permit a call of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_turn: Option<LastTurn>,
    #[serde(skip_serializing_if = "is_zero")]
    unread: usize,
    #[serde(skip_serializing_if = "is_zero")]
    owed: usize,
}

/// A member's own worktree, and how its work comes into the shared checkout.
#[derive(Serialize)]
pub(super) struct Branch {
    path: String,
    branch: String,
    base: String,
    merge: String,
}

impl From<Worktree> for Branch {
    fn from(worktree: Worktree) -> Self {
        let Worktree { path, branch, base } = worktree;
        let merge = format!("git merge {branch}, in the shared checkout");
        Self { path, branch, base, merge }
    }
}

#[derive(Serialize)]
struct LastTurn {
    ended: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    final_text: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if wants this shape"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl From<TeamView> for Agents {
    fn from(view: TeamView) -> Self {
        let agents = view.members.into_iter().map(Agent::from).collect();
        Self { revision: view.revision, agents }
    }
}

impl From<MemberView> for Agent {
    fn from(member: MemberView) -> Self {
        let status = member.status.word();
        let cause = match member.status {
            Status::Failed { reason } => Some(reason),
            Status::Running | Status::Idle | Status::Inactive | Status::Provisioning => {
                member.unreachable
            }
        };
        let last_turn = member.last.map(|last| {
            let (ended, reason) = match last.outcome {
                TurnOutcome::Completed => ("completed", None),
                TurnOutcome::Interrupted { by } => ("interrupted", Some(format!("by {by}"))),
                TurnOutcome::Failed { reason } => ("failed", Some(reason)),
            };
            LastTurn { ended, reason, final_text: last.excerpt }
        });
        Self {
            name: member.name,
            status,
            description: member.description,
            role: member.role,
            worktree: member.worktree.map(Branch::from),
            cause,
            waits_for: (!member.questions.is_empty()).then_some("a person's permission"),
            last_turn,
            unread: member.unread,
            owed: member.owed,
        }
    }
}

#[async_trait]
impl TeamTool for ListAgents {
    const NAME: &'static str = "list_agents";
    const DESCRIPTION: &'static str = "List the members of the team: status (running, idle, inactive, provisioning, failed; inactive is not a failure), how each one's last turn ended with the beginning of its final text, mail it has not read, and the git worktree of whoever has one, with how to merge it. Pass the revision to wait_agent to miss no change.";
    const EFFECT: Effect = Effect::ReadOnly;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, _: Arguments) -> ToolOutcome {
        match team.look_as(Some(scope.member)).await {
            Ok(view) => json(&Agents::from(view)),
            Err(fault) => ToolOutcome::error(fault.to_string()),
        }
    }
}
