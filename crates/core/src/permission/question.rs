//! The name of a question.

use crate::id::{MemberName, StepNo};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Names a call that waits for permission: `member.step.place`, such as `scout.3.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionId {
    /// Who wants to make the call.
    pub member: MemberName,
    /// The step whose reply holds it.
    pub step: StepNo,
    /// Its place in that reply, from 0.
    pub index: u32,
}

/// Says that a text names no question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no question; questions are named like scout.3.0")]
pub struct InvalidQuestion {
    text: String,
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.member, self.step, self.index)
    }
}

impl FromStr for QuestionId {
    type Err = InvalidQuestion;

    fn from_str(text: &str) -> Result<Self, InvalidQuestion> {
        let read = || {
            let mut parts = text.splitn(3, '.');
            let member = MemberName::new(parts.next()?).ok()?;
            let step = StepNo(parts.next()?.parse().ok()?);
            let index = parts.next()?.parse().ok()?;
            Some(Self { member, step, index })
        };
        read().ok_or_else(|| InvalidQuestion { text: text.chars().take(80).collect() })
    }
}

impl Serialize for QuestionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QuestionId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}
