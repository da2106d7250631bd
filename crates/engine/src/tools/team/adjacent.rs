//! Outside a team: ordinary children, and the one `send_message` between an agent and its direct
//! parent or direct children. They share their work with the team's tools and differ in what the
//! model is told; who may reach whom is decided by the rules of the roster.

use super::{TeamTool, interrupt_agent, list_agents, send_message, spawn_teammate, wait_agent};
use crate::ports::{Effect, ToolScope};
use crate::team::TeamHandle;
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

/// A tool that does what one of the team's does, for an agent outside a team.
macro_rules! adjacent {
    ($tool:ident, $name:literal, $description:literal, $like:ty $(, $arguments:ty)?) => {
        #[derive(Debug)]
        pub(super) struct $tool;

        #[async_trait]
        impl TeamTool for $tool {
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = $description;
            const EFFECT: Effect = <$like>::EFFECT;
            type Arguments = adjacent!(@arguments $like $(, $arguments)?);

            async fn run(
                team: &TeamHandle,
                scope: ToolScope,
                arguments: Self::Arguments,
            ) -> ToolOutcome {
                <$like>::run(team, scope, arguments.into()).await
            }
        }
    };
    (@arguments $like:ty) => { <$like as TeamTool>::Arguments };
    (@arguments $like:ty, $arguments:ty) => { $arguments };
}

/// Whom a message goes to, and what it says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sending {
    /// Who is to read it: "parent", or the name of an agent that you made.
    target: String,
    /// What it is to know or do.
    message: String,
}

impl From<Sending> for send_message::Arguments {
    fn from(sending: Sending) -> Self {
        Self { target: sending.target, message: sending.message }
    }
}

adjacent!(
    SpawnAgent,
    "spawn_agent",
    "Create a named agent that works for you in the same checkout, beside you. It starts at once with the prompt and knows nothing else unless context is \"fork\". It stays: use send_message for everything that follows, and wait_agent to wait for it.",
    spawn_teammate::SpawnTeammate,
    spawn_teammate::ChildArguments
);
adjacent!(
    SendMessage,
    "send_message",
    "Send a message to your parent or to an agent that you made. It is always delivered: a running agent reads it at its next step, an idle one starts a turn, an inactive one is brought back. The result is \"accepted\" (its inbox holds the message) or \"queued\" (durable, delivery is retried for you); neither says that the work was done. Never send the same message again.",
    send_message::SendMessage,
    Sending
);
adjacent!(
    ListAgents,
    "list_agents",
    "List the agents that you made: status (running, idle, inactive, provisioning, failed; inactive is not a failure), how each one's last turn ended with the beginning of its final text, and mail it has not read. Pass the revision to wait_agent to miss no change.",
    list_agents::ListAgents
);
adjacent!(
    WaitAgent,
    "wait_agent",
    "Wait until something changes among the agents that you made. The wait also ends when a message for you arrives (you read it right after) and at once when none of them is running. Returns them as list_agents does, and a revision to pass as since in the next wait.",
    wait_agent::WaitAgent
);
adjacent!(
    InterruptAgent,
    "interrupt_agent",
    "Cancel the current turn of an agent that you made. Its unread mail stays and starts its next turn at once, so to redirect an agent send the message first and then interrupt.",
    interrupt_agent::InterruptAgent
);
