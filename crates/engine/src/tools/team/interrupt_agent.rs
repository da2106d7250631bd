//! `interrupt_agent`: cancel a teammate's current turn, and nothing else.

use super::{TeamTool, json};
use crate::ports::{Effect, ToolScope};
use crate::team::{Interrupted, TeamHandle};
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct InterruptAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The teammate's name.
    target: String,
}

#[derive(Serialize)]
struct Cancelled {
    status: &'static str,
    pending: usize,
}

#[async_trait]
impl TeamTool for InterruptAgent {
    const NAME: &'static str = "interrupt_agent";
    const DESCRIPTION: &'static str = "Cancel a teammate's current turn. Its tasks and its unread mail stay; mail that is pending starts its next turn at once, so to redirect a teammate send the message first and then interrupt.";
    const EFFECT: Effect = Effect::Ordered;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        match team.interrupt_as(Some(scope.member), arguments.target).await {
            Ok(Interrupted::Cancelled { pending }) => {
                json(&Cancelled { status: "interrupted", pending })
            }
            Ok(Interrupted::NotRunning) => json(&Cancelled { status: "not_running", pending: 0 }),
            Err(error) => ToolOutcome::error(error.to_string()),
        }
    }
}
