//! The mailbox: queued minus delivered is what is still owed. Who may write to whom.

use super::framing::frame;
use super::roster::{Roster, Standing};
use crate::id::{MemberName, MessageId, SessionId};
use crate::limits::Limits;
use crate::log::Scope;
use crate::time::Timestamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What the team owes its members. Delivered messages leave it.
#[derive(Debug, Clone, Default)]
pub struct Mailbox {
    queued: u64,
    owed: BTreeMap<MemberName, VecDeque<OwedMessage>>,
}

/// A queued message that its target's log does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedMessage {
    /// Its id.
    pub id: MessageId,
    /// The true sender.
    pub from: MemberName,
    /// The target.
    pub to: MemberName,
    /// Exactly what was sent.
    pub text: Arc<str>,
    /// When it was queued.
    pub at: Timestamp,
}

/// Says why a message is not taken. Nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendRefused {
    /// Nobody has that name.
    #[error("there is no member {target:?}; the members are {}", .known.join(", "))]
    UnknownTarget {
        /// What was asked for.
        target: String,
        /// Who there is.
        known: Vec<String>,
    },
    /// Outside a team, the target is not next to the sender.
    #[error(
        "you can write to {} only; {target:?} is none of them", .reach.join(", ")
    )]
    NotAdjacent {
        /// What was asked for.
        target: String,
        /// Who can be written to.
        reach: Vec<String>,
    },
    /// The sender is the target.
    #[error(
        "you are {name}: a message to yourself would never be news; do the work, or send to another member"
    )]
    ToItself {
        /// The sender.
        name: MemberName,
    },
    /// The target can never read it.
    #[error(
        "{name} could not be provisioned ({reason}) and will never read mail; choose another member"
    )]
    TargetFailed {
        /// The target.
        name: MemberName,
        /// Why it failed.
        reason: String,
    },
    /// The target does not keep up.
    #[error(
        "{name} has {pending} messages it has not read and the limit (pending_per_target) is {limit}; wait for it to read them"
    )]
    MailboxFull {
        /// The target.
        name: MemberName,
        /// How many it has not read.
        pending: usize,
        /// The limit.
        limit: usize,
    },
    /// The message is too long.
    #[error(
        "the message has {bytes} bytes with its frame and the limit (framed_message_bytes) is {limit}; write it to a file and send the path"
    )]
    TooLong {
        /// Its length with its frame.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The message says nothing.
    #[error("the message is empty; say what the target is to know or do")]
    Empty,
}

impl Mailbox {
    /// The id of the next message.
    #[must_use]
    pub fn next_id(&self) -> MessageId {
        MessageId::nth(self.queued + 1)
    }

    /// How many messages were ever queued.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// What is owed to one target, in queued order.
    pub fn owed_to(&self, target: &MemberName) -> impl Iterator<Item = &OwedMessage> {
        self.owed.get(target).into_iter().flatten()
    }

    /// The targets that are owed something.
    pub fn debtors(&self) -> impl Iterator<Item = &MemberName> {
        self.owed.keys()
    }

    pub(super) fn message_queued(&mut self, message: OwedMessage) -> Result<(), String> {
        if message.id != self.next_id() {
            return Err(format!("message {} follows message {}", message.id, self.queued));
        }
        self.queued += 1;
        self.owed.entry(message.to.clone()).or_default().push_back(message);
        Ok(())
    }

    // P7: only the oldest message owed to a target can be delivered.
    pub(super) fn message_delivered(
        &mut self,
        id: &MessageId,
        to: &MemberName,
    ) -> Result<OwedMessage, String> {
        let owed = self.owed.get_mut(to).ok_or_else(|| format!("{to} is owed nothing"))?;
        match owed.pop_front() {
            Some(oldest) if oldest.id == *id => {
                if owed.is_empty() {
                    self.owed.remove(to);
                }
                Ok(oldest)
            }
            Some(oldest) => Err(format!("{id} is delivered to {to} before {}", oldest.id)),
            None => Err(format!("{to} is owed nothing")),
        }
    }
}

/// Decides whether `from` may send `text` to `target`, which is a member's name or session id.
/// `unread` says how many delivered messages a member has not read.
///
/// # Errors
/// [`SendRefused`].
// P1: a target and a text, nothing else. P11: every bound is checked before anything is written.
pub fn decide_send(
    (lead, roster, mailbox): (&SessionId, &Roster, &Mailbox),
    limits: &Limits,
    from: &MemberName,
    target: &str,
    text: &str,
    unread: &dyn Fn(&MemberName) -> usize,
) -> Result<(MessageId, MemberName), SendRefused> {
    let to = match roster.scope() {
        Scope::Team => roster.resolve(lead, target).ok_or_else(|| unknown(roster, target))?,
        // P10a: exactly the direct parent and the direct children.
        Scope::Subagents => {
            let to = roster.adjacent(lead, from, target);
            to.ok_or_else(|| not_adjacent(roster, from, target))?
        }
    };
    if to == *from {
        return Err(SendRefused::ToItself { name: to });
    }
    if let Some(member) = roster.get(&to)
        && let Standing::Failed { reason } = &member.standing
    {
        return Err(SendRefused::TargetFailed { name: to, reason: reason.clone() });
    }
    if text.trim().is_empty() {
        return Err(SendRefused::Empty);
    }
    let message = mailbox.next_id();
    let bytes = frame(&message, roster.label(from, &to), text).len();
    if bytes > limits.framed_message_bytes {
        return Err(SendRefused::TooLong { bytes, limit: limits.framed_message_bytes });
    }
    let pending = mailbox.owed_to(&to).count() + unread(&to);
    if pending >= limits.pending_per_target {
        let limit = limits.pending_per_target;
        return Err(SendRefused::MailboxFull { name: to, pending, limit });
    }
    Ok((message, to))
}

fn not_adjacent(roster: &Roster, from: &MemberName, target: &str) -> SendRefused {
    let parent = roster.parent_of(from).map(|_| "parent".to_owned());
    let children = roster.children_of(from).map(|child| child.name.to_string());
    let mut reach: Vec<String> = parent.into_iter().chain(children).collect();
    if reach.is_empty() {
        reach.push("agents that you have made".to_owned());
    }
    SendRefused::NotAdjacent { target: target.chars().take(80).collect(), reach }
}

fn unknown(roster: &Roster, target: &str) -> SendRefused {
    let teammates = roster.iter().map(|member| member.name.to_string());
    let known = std::iter::once("lead".to_owned()).chain(teammates).collect();
    SendRefused::UnknownTarget { target: target.chars().take(80).collect(), known }
}

impl SendRefused {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTarget { .. } => "unknown_target",
            Self::NotAdjacent { .. } => "not_adjacent",
            Self::ToItself { .. } => "to_itself",
            Self::TargetFailed { .. } => "target_failed",
            Self::MailboxFull { .. } => "mailbox_full",
            Self::TooLong { .. } => "message_too_long",
            Self::Empty => "message_empty",
        }
    }
}
