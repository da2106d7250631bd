//! `wait_agent`: wait for the next change, with a bound.

use super::list_agents::Agents;
use super::{TeamTool, json};
use crate::ports::{Effect, ToolScope};
use crate::team::{TeamHandle, WaitEnd};
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::Revision;
use longboat_core::limits::{WAIT_DEFAULT_MS, WAIT_MAX_MS, WAIT_MIN_MS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct WaitAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// How long to wait at most, in milliseconds: 10000 to 3600000, 30000 if not given.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// The revision that list_agents, team_task_list or wait_agent returned: a change after it ends
    /// the wait at once.
    #[serde(default)]
    since: Option<u64>,
}

#[derive(Serialize)]
struct Waited {
    ended_by: &'static str,
    #[serde(flatten)]
    agents: Agents,
}

#[async_trait]
impl TeamTool for WaitAgent {
    const NAME: &'static str = "wait_agent";
    const DESCRIPTION: &'static str = "Wait until something changes in the team: a member's status, the roster, the mailbox or a task. The wait also ends when a message for you arrives (you read it right after) and at once when no other member is running. Returns the members as list_agents does, and a revision to pass as since in the next wait.";
    const EFFECT: Effect = Effect::ReadOnly;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let timeout_ms = arguments.timeout_ms.unwrap_or(WAIT_DEFAULT_MS);
        if !(WAIT_MIN_MS..=WAIT_MAX_MS).contains(&timeout_ms) {
            return ToolOutcome::error(format!(
                "timeout_ms is {timeout_ms}; it must be {WAIT_MIN_MS} to {WAIT_MAX_MS}"
            ));
        }
        let wait = team.wait(scope.session, arguments.since.map(Revision));
        let timeout = Duration::from_millis(timeout_ms);
        let ended_by = match tokio::time::timeout(timeout, wait).await {
            Ok(Ok(WaitEnd::Changed { .. })) => "change",
            Ok(Ok(WaitEnd::Mail { .. })) => "message",
            Ok(Ok(WaitEnd::NobodyRunning { .. })) => "nobody_running",
            Ok(Err(fault)) => return ToolOutcome::error(fault.to_string()),
            Err(_) => "timeout",
        };
        match team.look_as(Some(scope.member)).await {
            Ok(view) => json(&Waited { ended_by, agents: Agents::from(view) }),
            Err(fault) => ToolOutcome::error(fault.to_string()),
        }
    }
}
