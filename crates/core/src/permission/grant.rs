//! What people answer, and what of it stays.

use super::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This call runs.
    Once,
    /// This call and all like it run, in the whole team, from now on.
    Always,
    /// This call is refused.
    No,
}

impl Answer {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::No => "no",
        }
    }
}

/// Who answered a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A person.
    Human,
    /// The rules: they were others when the question came up again.
    Rules,
}

impl Decider {
    /// The words for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Human => "a person",
            Self::Rules => "the rules",
        }
    }
}

/// Calls that a person lets a team make without being asked again: the very same command, or every
/// call of a tool that runs none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl Grant {
    /// What a call and all like it need.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let command = request.subject.as_ref().filter(|subject| subject.is_command());
        let command = command.map(|subject| subject.text().to_owned());
        Self { tool: request.tool.clone(), command }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            None => f.write_str(&self.tool),
            Some(command) => write!(f, "{}({command})", self.tool),
        }
    }
}

/// All that was granted to a team.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// Adds one.
    pub(crate) fn add(&mut self, grant: Grant) {
        self.0.insert(grant);
    }

    /// Says whether a call was granted.
    #[must_use]
    pub fn cover(&self, request: &Request) -> bool {
        !self.0.is_empty() && self.0.contains(&Grant::of(request))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}
