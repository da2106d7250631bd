//! The closed vocabulary of a log. A new event breaks every match that must know it.

use crate::content::{Reply, ToolOutcome, ToolSpec, Usage};
use crate::id::{CallId, ItemId, MemberName, MessageId, SessionId, StepNo, TeamId, TurnNo};
use crate::permission::{Answer, Decider, Grant};
use crate::team::Task;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that happened to a session.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are described with the variants")]
pub enum Event {
    /// The first record of every log: who this session is, for ever.
    SessionCreated { session: SessionId, kind: SessionKind, cwd: String, role: Option<String> },
    /// What every later model request begins with, until the next such record.
    SessionConfigured { model: String, system: Arc<str>, tools: Arc<[ToolSpec]> },
    /// Input became durably pending. Keyed by the item: it enters at most once.
    InboxInserted { lane: Lane, item: Arc<InboxItem> },
    /// Pending items became part of the conversation, at this step's boundary.
    InboxClaimed { step: StepNo, items: Vec<ItemId> },
    /// A summary took the place of all but the newest messages of the conversation.
    ContextCompacted { summary: Arc<str>, kept: u64, by: Summarizer, usage: Usage },
    /// Pending items left without being read.
    InboxDiscarded { items: Vec<ItemId>, reason: String },
    /// A turn began.
    TurnStarted { turn: TurnNo, trigger: Trigger },
    /// A turn ended.
    TurnEnded { turn: TurnNo, outcome: TurnOutcome },
    /// A model request is about to be made.
    StepStarted { turn: TurnNo, step: StepNo },
    /// The step is over: its reply and the results of its calls are all recorded, or it was cut.
    StepEnded { step: StepNo, outcome: StepOutcome },
    /// The model's whole reply.
    AssistantMessage { step: StepNo, reply: Arc<Reply> },
    /// A tool call is about to run.
    ToolStarted { step: StepNo, index: u32, call: CallId },
    /// A tool call waits for a person's permission; it has had no effect.
    PermissionAsked { step: StepNo, index: u32, call: CallId },
    /// It is known whether the call may run.
    PermissionAnswered { step: StepNo, index: u32, call: CallId, answer: Answer, by: Decider },
    /// A tool call has its result.
    ToolResult { step: StepNo, index: u32, call: CallId, outcome: Arc<ToolOutcome> },
    /// The roster changed.
    TeamMember { team: TeamId, member: MemberName, change: MemberChange },
    /// A member began or ended a turn, or came or went.
    TeamActivity { team: TeamId, member: MemberName, change: ActivityChange },
    /// The task board changed: the whole task as it is now.
    TeamTask { team: TeamId, by: MemberName, task: Arc<Task> },
    /// A message is owed to its target.
    TeamMessageQueued {
        team: TeamId,
        message: MessageId,
        from: MemberName,
        to: MemberName,
        text: Arc<str>,
    },
    /// The target's log durably holds the message.
    TeamMessageDelivered { team: TeamId, message: MessageId, to: MemberName },
    /// A person lets the team make such calls without being asked again.
    TeamPermission { team: TeamId, grant: Grant },
    /// An event of a kind this build does not know, whose writer marked it as safe to pass over.
    Ignored { kind: String },
}

/// Who a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SessionKind {
    /// The Lead of its own team.
    Root,
    /// An agent outside a team: its children are ordinary agents.
    RootAgent,
    /// An ordinary child of an agent outside a team.
    Child {
        /// The root of the tree it belongs to, whose log keeps the tree's roster and mail.
        root: TeamId,
        /// Who made it.
        parent: SessionId,
        /// Its name, unique in the tree.
        name: MemberName,
    },
    /// A named child of a Lead.
    Teammate {
        /// The team.
        team: TeamId,
        /// The name on its roster.
        name: MemberName,
    },
    /// A new root that begins with another session's records.
    Fork {
        /// The session it was copied from.
        from: SessionId,
        /// How many of its records were copied.
        records: u64,
        /// What its children are.
        #[serde(default, skip_serializing_if = "Scope::is_team")]
        scope: Scope,
    },
}

/// What an agent's children are, for the life of its root session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Teammates on one roster: everybody writes to everybody, and only the Lead spawns.
    #[default]
    Team,
    /// Ordinary children: an agent speaks with its direct parent and its direct children, and with
    /// nobody else.
    Subagents,
}

impl Scope {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's skip_serializing_if wants this shape"
    )]
    fn is_team(&self) -> bool {
        *self == Self::Team
    }
}

impl SessionKind {
    /// What the children of such a session are.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Self::Root | Self::Teammate { .. } => Scope::Team,
            Self::RootAgent | Self::Child { .. } => Scope::Subagents,
            Self::Fork { scope, .. } => *scope,
        }
    }

    /// What such an agent calls the agent `name` of its tree.
    #[must_use]
    pub fn calls(&self, name: &MemberName) -> String {
        match self {
            Self::Child { root, parent, .. } => {
                let meant = if name.is_lead() {
                    Ok(root.lead().clone())
                } else {
                    root.lead().teammate(name)
                };
                if meant.as_ref() == Ok(parent) { "parent".to_owned() } else { name.to_string() }
            }
            Self::Root | Self::RootAgent | Self::Teammate { .. } | Self::Fork { .. } => {
                name.to_string()
            }
        }
    }

    /// The root session and the name that a child was made with; `None` for a root.
    #[must_use]
    pub fn child_of(&self) -> Option<(&TeamId, &MemberName)> {
        match self {
            Self::Teammate { team, name } => Some((team, name)),
            Self::Child { root, name, .. } => Some((root, name)),
            Self::Root | Self::RootAgent | Self::Fork { .. } => None,
        }
    }
}

/// Which list of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Read at the nearest step boundary.
    NextStep,
    /// A turn of its own.
    NextTurn,
}

/// One pending input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InboxItem {
    /// Unique in the session, for ever.
    pub id: ItemId,
    /// Who it is from.
    pub source: Source,
    /// Exactly what was sent.
    pub text: Arc<str>,
}

/// Who an input is from. Set by the host, never by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A person.
    Human,
    /// The runtime itself, about something the member must know.
    Runtime,
    /// The Lead's prompt that a teammate starts with.
    Spawn {
        /// The team.
        team: TeamId,
    },
    /// A member's message.
    Team {
        /// The team.
        team: TeamId,
        /// The message.
        message: MessageId,
        /// Who sent it.
        sender: Sender,
        /// When it was queued.
        sent_at: Timestamp,
    },
    /// A message of the direct parent or of a direct child, outside a team.
    Agent {
        /// The root of the tree.
        root: TeamId,
        /// The message.
        message: MessageId,
        /// Who sent it.
        sender: Sender,
        /// What the sender is to the reader.
        relation: Relation,
        /// When it was queued.
        sent_at: Timestamp,
    },
}

/// What the source of a message says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mail<'a> {
    /// Whose mailbox it was queued in.
    pub root: &'a TeamId,
    /// The message.
    pub message: &'a MessageId,
    /// Who sent it.
    pub sender: &'a Sender,
    /// When it was queued.
    pub sent_at: Timestamp,
}

impl Source {
    /// The message that an input carries, if it carries one.
    #[must_use]
    pub fn mail(&self) -> Option<Mail<'_>> {
        match self {
            Self::Team { team: root, message, sender, sent_at }
            | Self::Agent { root, message, sender, sent_at, .. } => {
                Some(Mail { root, message, sender, sent_at: *sent_at })
            }
            Self::Human | Self::Runtime | Self::Spawn { .. } => None,
        }
    }
}

/// What an agent is to another one, next to it in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It made the other one.
    Parent,
    /// The other one made it.
    Child,
}

/// The true sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    /// Its name on the roster.
    pub name: MemberName,
    /// Its session.
    pub session: SessionId,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarizer {
    /// The member's own model.
    Model,
    /// The runtime, because the model could not.
    Runtime,
}

/// What began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// An item of `next-turn`.
    Prompt,
    /// An item of `next-step` that found the session idle.
    Steer,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnOutcome {
    /// The model stopped and nothing more was pending.
    Completed,
    /// Somebody cancelled it.
    Interrupted {
        /// Who: a member's name, or `human`.
        by: String,
    },
    /// It could not go on.
    Failed {
        /// Why, for people and models.
        reason: String,
    },
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// Reply and results are whole.
    Whole,
    /// There is no reply: the request failed, was cancelled, or the process died.
    Cut,
}

/// What happened to a roster entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemberChange {
    /// The name is taken; the child is being made.
    Provisioning {
        /// The child's session.
        session: SessionId,
        /// What it is for.
        description: String,
        /// The reusable definition it was made from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// What it starts with.
        context: MemberContext,
        /// Who made it, when that is not the root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<MemberName>,
        /// Where it works, when that is not the shared checkout.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        isolation: Option<Worktree>,
    },
    /// The child's log holds who it is and its first prompt.
    Active,
    /// The child could not be made; the name stays taken.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A git worktree that belongs to one member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worktree {
    /// Its root directory, absolute.
    pub path: String,
    /// The branch that is checked out in it.
    pub branch: String,
    /// The commit it began from.
    pub base: String,
}

/// The history a teammate starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberContext {
    /// None.
    #[default]
    Fresh,
    /// A copy of the Lead's completed turns.
    Fork,
}

/// What happened to a member's running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ActivityChange {
    /// A turn began.
    TurnStarted {
        /// Which.
        turn: TurnNo,
    },
    /// A turn ended.
    TurnEnded {
        /// Which.
        turn: TurnNo,
        /// How.
        outcome: TurnOutcome,
        /// The beginning of its final text; empty when it said nothing.
        excerpt: String,
    },
    /// It was taken out of memory; its log stays.
    Released,
    /// It is in memory again.
    Resumed,
    /// It has mail and cannot be brought into memory; it is tried again.
    Unreachable {
        /// Why, for people and models.
        cause: String,
    },
}

impl Event {
    /// The team an event speaks of; `None` for the session's own events.
    #[must_use]
    pub fn team(&self) -> Option<&TeamId> {
        match self {
            Self::TeamMember { team, .. }
            | Self::TeamActivity { team, .. }
            | Self::TeamTask { team, .. }
            | Self::TeamMessageQueued { team, .. }
            | Self::TeamMessageDelivered { team, .. }
            | Self::TeamPermission { team, .. } => Some(team),
            Self::SessionCreated { .. }
            | Self::SessionConfigured { .. }
            | Self::InboxInserted { .. }
            | Self::InboxClaimed { .. }
            | Self::ContextCompacted { .. }
            | Self::InboxDiscarded { .. }
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. }
            | Self::StepStarted { .. }
            | Self::StepEnded { .. }
            | Self::AssistantMessage { .. }
            | Self::ToolStarted { .. }
            | Self::PermissionAsked { .. }
            | Self::PermissionAnswered { .. }
            | Self::ToolResult { .. }
            | Self::Ignored { .. } => None,
        }
    }
}
