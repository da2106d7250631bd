//! Names and numbers of things. Each is a type of its own, checked where it enters.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Says why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {what}: {rule}")]
pub struct InvalidId {
    /// Which kind of id was expected.
    pub what: &'static str,
    /// The text that was given, cut at 80 characters.
    pub text: String,
    /// The rule it breaks.
    pub rule: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks a text and takes it.
            ///
            /// # Errors
            /// [`InvalidId`] when the text breaks the rule of this kind of id.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) {
                    Ok(Self(text))
                } else {
                    let text = text.chars().take(80).collect();
                    Err(InvalidId { what: $what, text, rule: $rule })
                }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

fn chars_within(text: &str, most: usize, allowed: fn(char) -> bool) -> bool {
    !text.is_empty() && text.len() <= most && text.chars().all(allowed)
}

fn kebab(text: &str) -> bool {
    chars_within(text, 64, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && !text.contains("--")
}

text_id!(
    /// Names one agent's log, for ever. A teammate's is its Lead's, a dot, and its own name.
    SessionId,
    "session id",
    "1 to 160 of a-z, 0-9, '-' and '.'",
    |t| chars_within(t, 160, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
);

text_id!(
    /// A member's name in its team; the Lead's is `lead`.
    MemberName,
    "member name",
    "lowercase kebab-case, at most 64 characters, starting with a letter",
    kebab
);

text_id!(
    /// A message's name in its team: `m1`, `m2`, … in queued order.
    MessageId,
    "message id",
    "'m' and a number",
    |t| numbered(t, 'm').is_some()
);

text_id!(
    /// A task's name in its team: `t1`, `t2`, … in created order.
    TaskId,
    "task id",
    "'t' and a number",
    |t| numbered(t, 't').is_some()
);

text_id!(
    /// Ties a tool result to its call. Made by the provider, or by us where it gave none.
    CallId,
    "call id",
    "1 to 256 bytes without control characters",
    |t| !t.is_empty() && t.len() <= 256 && !t.chars().any(char::is_control)
);

text_id!(
    /// Names one item of an inbox, uniquely within its session and for ever.
    ItemId,
    "inbox item id",
    "1 to 256 bytes without control characters",
    |t| !t.is_empty() && t.len() <= 256 && !t.chars().any(char::is_control)
);

text_id!(
    /// Makes an append idempotent within one session: a key is recorded at most once.
    EventKey,
    "event key",
    "1 to 512 bytes without control characters",
    |t| !t.is_empty() && t.len() <= 512 && !t.chars().any(char::is_control)
);

fn numbered(text: &str, letter: char) -> Option<u64> {
    let digits = text.strip_prefix(letter)?;
    if digits.starts_with('0') || digits.starts_with('+') {
        return None;
    }
    digits.parse().ok()
}

impl MemberName {
    /// The Lead's name, in every team.
    #[must_use]
    pub fn lead() -> Self {
        Self("lead".to_owned())
    }

    /// Says whether this is the Lead's name.
    #[must_use]
    pub fn is_lead(&self) -> bool {
        self.0 == "lead"
    }

    /// The name under which what a person does is recorded. No member has it.
    #[must_use]
    pub fn human() -> Self {
        Self("human".to_owned())
    }

    /// Says whether this is a person's name.
    #[must_use]
    pub fn is_human(&self) -> bool {
        self.0 == "human"
    }
}

impl MessageId {
    /// The `n`th message of a team, counted from 1.
    #[must_use]
    pub fn nth(n: u64) -> Self {
        Self(format!("m{n}"))
    }

    /// The number in the id.
    #[must_use]
    pub fn number(&self) -> u64 {
        numbered(&self.0, 'm').unwrap_or(0)
    }
}

impl TaskId {
    /// The `n`th task of a team, counted from 1.
    #[must_use]
    pub fn nth(n: u64) -> Self {
        Self(format!("t{n}"))
    }

    /// The number in the id.
    #[must_use]
    pub fn number(&self) -> u64 {
        numbered(&self.0, 't').unwrap_or(0)
    }
}

impl SessionId {
    /// The session of the teammate `name` of the Lead whose session this is. Names are never
    /// reused, so neither are these.
    ///
    /// # Errors
    /// [`InvalidId`] when the Lead's own id leaves no room for the name.
    pub fn teammate(&self, name: &MemberName) -> Result<Self, InvalidId> {
        Self::new(format!("{}.{}", self.0, name.0))
    }
}

/// A team's identity: the session id of its Lead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamId(SessionId);

impl TeamId {
    /// The team that a root session leads.
    #[must_use]
    pub fn of(lead: SessionId) -> Self {
        Self(lead)
    }

    /// The Lead's session.
    #[must_use]
    pub fn lead(&self) -> &SessionId {
        &self.0
    }
}

impl fmt::Display for TeamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A record's place in its session's log: dense, from 0.
    Seq
);
number!(
    /// A version: of a task, counted from 1; of a team, the place in the Lead's log up to which
    /// what a waiter can see has changed.
    Revision
);
number!(
    /// A turn's number in its session, counted from 1.
    TurnNo
);
number!(
    /// A step's number in its session, counted from 1 over all turns.
    StepNo
);

/// Where an effect came from: one tool call of one session. The engine makes it before the effect,
/// so that a repeated effect finds the first one by this key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The session whose model made the call.
    pub session: SessionId,
    /// The step whose reply holds the call.
    pub step: StepNo,
    /// The call's place in that reply, from 0.
    pub index: u32,
}

impl Origin {
    /// The key under which the effect of this call is recorded in the Lead's log.
    #[must_use]
    pub fn key(&self) -> EventKey {
        EventKey(format!("call/{}/{}/{}", self.session, self.step, self.index))
    }
}

impl CallId {
    /// An id of our own making, for a call whose provider gave none or one that was used before.
    #[must_use]
    pub fn made(step: StepNo, n: u64) -> Self {
        Self(format!("call_{step}_{n}"))
    }
}

impl EventKey {
    /// The key of an inbox item: it enters an inbox at most once.
    #[must_use]
    pub fn inbox(item: &ItemId) -> Self {
        Self(format!("inbox/{item}"))
    }

    /// The key of a message's acknowledgement.
    #[must_use]
    pub fn delivered(message: &MessageId) -> Self {
        Self(format!("delivered/{message}"))
    }
}

impl ItemId {
    /// The inbox item that carries a team message. It names the team, so a fork, which inherits
    /// old items and then numbers its own messages from 1, never meets its own ids again.
    #[must_use]
    pub fn message(team: &TeamId, message: &MessageId) -> Self {
        Self(format!("{team}/{message}"))
    }

    /// The inbox item that carries a teammate's first prompt.
    #[must_use]
    pub fn first_prompt(child: &SessionId) -> Self {
        Self(format!("{child}/first"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_names_are_kebab_case_and_bounded() {
        for good in ["a", "implementer", "code-reviewer-2"] {
            assert!(MemberName::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "Lead", "a_b", "-a", "a-", "a--b", "2a", "ä", "a b", long.as_str()] {
            assert!(MemberName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbered_ids_have_one_spelling() {
        assert_eq!(MessageId::new("m12").map(|id| id.number()), Ok(12));
        for bad in ["m", "m0", "m01", "12", "t1", "m+1", "m-1", "m99999999999999999999"] {
            assert!(MessageId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_id_that_breaks_its_rule_is_refused_when_read_back() {
        let read: Result<MemberName, _> = serde_json::from_str("\"Not A Name\"");
        assert!(read.is_err());
    }
}
