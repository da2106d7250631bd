//! What a deployment may set.

use longboat_core::limits::Limits;
use longboat_core::log::Scope;
use longboat_core::permission::Permissions;
use longboat_core::price::{Cost, Prices};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The engine's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bounds of a team.
    pub limits: Limits,
    /// How long a teammate may be idle before it goes out of memory.
    pub release_after: Duration,
    /// Where tool output that is too long goes: a directory per session is made in it.
    pub spill: PathBuf,
    /// Text of the project for every member, such as `AGENTS.md`.
    pub instructions: Option<String>,
    /// Reusable definitions of members, by name.
    pub roles: BTreeMap<String, Role>,
    /// What one run may cost.
    pub budget: Budget,
    /// Which calls members may make.
    pub permissions: Arc<Permissions>,
    /// What the children of a new root session are.
    pub scope: Scope,
    /// What models cost.
    pub prices: Prices,
}

/// What one run, from its start or resume, may cost in all its members. Nothing is bounded where
/// nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Turns.
    pub turns: Option<u64>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Money, of the models that have a price.
    pub cost: Option<Cost>,
    /// Wall time.
    pub time: Option<Duration>,
}

/// A reusable definition of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// When to use it.
    pub description: String,
    /// What such a member is told.
    pub prompt: String,
    /// The model it runs on; the Lead's when `None`.
    pub model: Option<String>,
    /// The tools it has, by name in small letters, or by how their names begin: `docs__*`; all of
    /// them when `None`. The team's own always stay.
    pub tools: Option<Vec<String>>,
    /// Where it works when the spawn does not say; the shared checkout when `None`.
    pub isolation: Option<Isolation>,
}

/// Where a member works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// In the checkout that all members share.
    #[default]
    Shared,
    /// In a git worktree of its own.
    Worktree,
}

impl Settings {
    /// The defaults, with a place for long output.
    #[must_use]
    pub fn new(spill: PathBuf) -> Self {
        Self {
            limits: Limits::default(),
            release_after: Duration::from_secs(600),
            spill,
            instructions: None,
            roles: BTreeMap::new(),
            budget: Budget::default(),
            permissions: Arc::default(),
            scope: Scope::default(),
            prices: Prices::default(),
        }
    }
}
