//! `send_message`: the one way members talk.

use super::{TeamTool, caller, json};
use crate::ports::{Effect, ToolScope};
use crate::team::{Acceptance, TeamHandle};
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::MessageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct SendMessage;

/// A target and a text: there is no delivery mode.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The name of the member who is to read it: "lead" or a teammate's name.
    pub(super) target: String,
    /// What it is to know or do.
    pub(super) message: String,
}

#[derive(Serialize)]
struct Sent<'a> {
    message_id: &'a MessageId,
    to: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[async_trait]
impl TeamTool for SendMessage {
    const NAME: &'static str = "send_message";
    const DESCRIPTION: &'static str = "Send a message to another member of the team. It is always delivered: a running member reads it at its next step, an idle one starts a turn, an inactive one is brought back. The result is \"accepted\" (its inbox holds the message) or \"queued\" (durable, delivery is retried for you); neither says that the work was done. Never send the same message again.";
    const EFFECT: Effect = Effect::Ordered;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let Arguments { target, message } = arguments;
        match team.send(caller(&scope), target, message).await {
            Ok((queued, acceptance)) => {
                let (status, note) = match acceptance {
                    Acceptance::Accepted => ("accepted", None),
                    Acceptance::Deferred { cause } => ("queued", Some(cause)),
                };
                json(&Sent { message_id: &queued.message, to: &queued.to, status, note })
            }
            Err(error) => ToolOutcome::error(error.to_string()),
        }
    }
}

pub(super) fn recalled(message: &MessageId, to: &str) -> ToolOutcome {
    let note =
        "the call was cut off after the message was queued; it is delivered without another send";
    json(&Sent { message_id: message, to, status: "queued", note: Some(note.to_owned()) })
}
