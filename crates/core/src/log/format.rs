//! Names of events on disk, and the way between an event and its bytes. Called by whoever writes or
//! reads a store; a store itself never looks inside.

use super::Event;
use super::event::{
    ActivityChange, InboxItem, Lane, MemberChange, SessionKind, StepOutcome, Summarizer, Trigger,
    TurnOutcome,
};
use crate::content::{Reply, ToolOutcome, ToolSpec, Usage};
use crate::id::{CallId, ItemId, MemberName, MessageId, SessionId, StepNo, TeamId, TurnNo};
use crate::permission::{Answer, Decider, Grant};
use crate::team::Task;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Says why stored bytes are not an event.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The kind is unknown and not marked as ignorable: a newer build wrote it.
    #[error("unknown event type {kind:?}; a newer longboat wrote it, so read it with that one")]
    UnknownType {
        /// The kind as stored.
        kind: String,
    },
    /// The payload does not fit its kind.
    #[error("the payload of a {kind:?} event is not valid")]
    Payload {
        /// The kind as stored.
        kind: String,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
}

/// Declares the payload of every kind once: its name on disk, and its fields, which are those of the
/// event's variant. From it come the encoder, the decoder and the list of kinds.
macro_rules! vocabulary {
    ($($kind:literal => $variant:ident { $($(#[$attr:meta])* $field:ident : $type:ty),* $(,)? }),* $(,)?) => {
        mod payload {
            use super::*;
            $(
                #[derive(Serialize, Deserialize)]
                #[serde(deny_unknown_fields)]
                pub(super) struct $variant { $($(#[$attr])* pub(super) $field: $type),* }
            )*
        }

        impl Event {
            /// Its stable name on disk.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                    Self::Ignored { kind } => kind,
                }
            }
        }

        /// Turns an event into its payload, as compact JSON.
        ///
        /// # Errors
        /// Never for events made by this crate; the type says what serde's says.
        pub fn encode(event: &Event) -> Result<String, serde_json::Error> {
            match event.clone() {
                $(Event::$variant { $($field),* } => {
                    serde_json::to_string(&payload::$variant { $($field),* })
                })*
                Event::Ignored { .. } => Ok("{\"ignorable\":true}".to_owned()),
            }
        }

        /// Turns a stored kind and payload into an event, and checks every field.
        ///
        /// # Errors
        /// [`FormatError`] for a kind or a payload that is not valid.
        pub fn decode(kind: &str, data: &str) -> Result<Event, FormatError> {
            match kind {
                $($kind => {
                    let payload::$variant { $($field),* } = serde_json::from_str(data)
                        .map_err(|source| FormatError::Payload { kind: kind.to_owned(), source })?;
                    Ok(Event::$variant { $($field),* })
                })*
                _ => decode_unknown(kind, data),
            }
        }
    };
}

vocabulary! {
    "session/created" => SessionCreated {
        session: SessionId,
        kind: SessionKind,
        cwd: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    "session/configured" => SessionConfigured { model: String, system: Arc<str>, tools: Arc<[ToolSpec]> },
    "inbox/inserted" => InboxInserted { lane: Lane, item: Arc<InboxItem> },
    "inbox/claimed" => InboxClaimed { step: StepNo, items: Vec<ItemId> },
    "inbox/discarded" => InboxDiscarded { items: Vec<ItemId>, reason: String },
    "context/compacted" => ContextCompacted {
        summary: Arc<str>,
        kept: u64,
        by: Summarizer,
        usage: Usage,
    },
    "turn/started" => TurnStarted { turn: TurnNo, trigger: Trigger },
    "turn/ended" => TurnEnded { turn: TurnNo, outcome: TurnOutcome },
    "step/started" => StepStarted { turn: TurnNo, step: StepNo },
    "step/ended" => StepEnded { step: StepNo, outcome: StepOutcome },
    "assistant/message" => AssistantMessage { step: StepNo, reply: Arc<Reply> },
    "tool/started" => ToolStarted { step: StepNo, index: u32, call: CallId },
    "permission/asked" => PermissionAsked { step: StepNo, index: u32, call: CallId },
    "permission/answered" => PermissionAnswered {
        step: StepNo,
        index: u32,
        call: CallId,
        answer: Answer,
        by: Decider,
    },
    "tool/result" => ToolResult { step: StepNo, index: u32, call: CallId, outcome: Arc<ToolOutcome> },
    "team/member" => TeamMember { team: TeamId, member: MemberName, change: MemberChange },
    "team/activity" => TeamActivity { team: TeamId, member: MemberName, change: ActivityChange },
    "team/task" => TeamTask { team: TeamId, by: MemberName, task: Arc<Task> },
    "team/message/queued" => TeamMessageQueued {
        team: TeamId,
        message: MessageId,
        from: MemberName,
        to: MemberName,
        text: Arc<str>,
    },
    "team/message/delivered" => TeamMessageDelivered {
        team: TeamId,
        message: MessageId,
        to: MemberName,
    },
    "team/permission" => TeamPermission { team: TeamId, grant: Grant },
}

fn decode_unknown(kind: &str, data: &str) -> Result<Event, FormatError> {
    #[derive(Deserialize)]
    struct Marked {
        ignorable: bool,
    }
    match serde_json::from_str::<Marked>(data) {
        Ok(Marked { ignorable: true }) => Ok(Event::Ignored { kind: kind.to_owned() }),
        Ok(_) | Err(_) => Err(FormatError::UnknownType { kind: kind.to_owned() }),
    }
}
