//! What the engine needs from outside, besides a store and models. It makes no time and no ids.

use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::id::{MemberName, Origin, SessionId};
use longboat_core::log::Worktree;
use longboat_core::permission::{Reach, Subject};
use longboat_core::time::Timestamp;
use longboat_model::Model;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Tells wall time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Makes ids nobody has made before.
pub trait Ids: Send + Sync + std::fmt::Debug {
    /// For a new root session.
    fn session(&self) -> SessionId;
    /// For a human prompt, when the caller brings none: letters and digits.
    fn prompt(&self) -> String;
    /// A number from 0 to 1, to spread retries of many members.
    fn jitter(&self) -> f64;
}

/// Whether a tool may run beside others of the same reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing: calls run at once.
    ReadOnly,
    /// It changes something: calls run one after the other, in the reply's order.
    Ordered,
}

/// Who calls a tool, and from where. Bound by the host; no argument can change it.
#[derive(Debug, Clone)]
pub struct ToolScope {
    /// The calling session.
    pub session: SessionId,
    /// The caller's name in its team.
    pub member: MemberName,
    /// This very call.
    pub origin: Origin,
    /// The workspace's root, canonical.
    pub cwd: PathBuf,
    /// A directory of the session's own, outside the workspace, for output that is too long.
    pub spill: PathBuf,
    /// Cancelled when the turn is interrupted or the agent stops. A tool ends at once then, and
    /// leaves nothing running; what it returns is no longer read.
    pub cancel: CancellationToken,
}

/// Something a model can do.
#[async_trait]
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// What the model is told of it. The same for the life of the process.
    fn spec(&self) -> ToolSpec;

    /// Whether it may run beside others.
    fn effect(&self) -> Effect;

    /// How far it reaches. A tool that changes something says so unless it knows better.
    fn reach(&self) -> Reach {
        match self.effect() {
            Effect::ReadOnly => Reach::Reads,
            Effect::Ordered => Reach::Changes,
        }
    }

    /// What a call is about, for the rules of a deployment that speak of that.
    fn subject(&self, scope: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        let _nothing = (scope, arguments);
        None
    }

    /// Does it. `arguments` is a JSON object; whether it fits the schema is for the tool to check.
    /// Every failure is an outcome that tells the model what to do next.
    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome;
}

/// Tools for a session, besides the team's own.
pub trait Toolbox: Send + Sync + std::fmt::Debug {
    /// The tools of one activation of one session: whatever they remember (such as which version of
    /// a file was read) lives as long as it.
    fn open(&self, session: &SessionId) -> Vec<Arc<dyn Tool>>;

    /// Whether a new member, of this role if it has one, is offered the tool. What a session is
    /// offered is decided once, when it is made.
    fn offers(&self, tool: &str, member: &MemberName, role: Option<&str>) -> bool {
        let _everybody = (tool, member, role);
        true
    }

    /// Stands in for a tool that a session's log offers and that [`open`](Self::open) does not give
    /// now. `None` when no tool of this box can have had that name.
    fn absent(&self, offered: &ToolSpec) -> Option<Arc<dyn Tool>> {
        let _unknown = offered;
        None
    }
}

/// Gives members git worktrees of their own.
#[async_trait]
pub trait Worktrees: Send + Sync + std::fmt::Debug {
    /// Makes a member's worktree from the commit that is checked out in the workspace. One that is
    /// there already, at the member's path and on its branch, is taken as it is: a spawn that was cut
    /// off had made it.
    ///
    /// # Cancel safety
    /// When `cancel` comes, or the future is dropped, git is ended.
    ///
    /// # Errors
    /// [`WorktreeRefused`]; then there is no worktree that was not there before.
    async fn provide(
        &self,
        wanted: WantedWorktree,
        cancel: CancellationToken,
    ) -> Result<GivenWorktree, WorktreeRefused>;
}

/// Whose worktree it is to be, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedWorktree {
    /// The session of the member's Lead.
    pub lead: SessionId,
    /// The member.
    pub member: MemberName,
    /// The Lead's workspace: a directory of the shared checkout.
    pub workspace: PathBuf,
}

/// A member's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenWorktree {
    /// Where it is.
    pub worktree: Worktree,
    /// The member's workspace: the directory in it that the Lead's workspace is in the checkout.
    pub cwd: String,
    /// How many files or directories of the shared checkout have changes that are not committed: the
    /// worktree is without them.
    pub uncommitted: usize,
}

/// Says why there is no worktree, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeRefused {
    /// This deployment gives none.
    #[error("this program gives no worktrees; use isolation \"shared\"")]
    NotOffered,
    /// There is no repository.
    #[error(
        "{workspace} is in no git repository; make one with a commit there, or use isolation \"shared\""
    )]
    NoRepository {
        /// The Lead's workspace.
        workspace: String,
    },
    /// The workspace is in a repository, but not in a checkout of it.
    #[error("{workspace} is no checkout but inside a repository's own directory")]
    NoCheckout {
        /// The Lead's workspace.
        workspace: String,
    },
    /// There is nothing to begin from.
    #[error("the git repository {root} has no commit yet; commit there first")]
    NoCommit {
        /// The checkout's root.
        root: String,
    },
    /// The workspace is not part of what the worktree would have.
    #[error("the directory {directory} is not in the commit {base}; commit files of it first")]
    NotCommitted {
        /// The Lead's workspace, as a path in the repository.
        directory: String,
        /// The commit that is checked out.
        base: String,
    },
    /// There is no git.
    #[error("there is no git program on the PATH; install git, or use isolation \"shared\"")]
    GitMissing,
    /// Somebody has the branch.
    #[error("there is a branch {branch} already; rename or delete it, or choose another name")]
    BranchTaken {
        /// The member's branch.
        branch: String,
    },
    /// Something else is where the worktree would be.
    #[error("there is something else at {path} already; move it away, or choose another name")]
    PathTaken {
        /// The worktree's place.
        path: String,
    },
    /// A git that was cut off, or is still at it, has begun the worktree.
    #[error(
        "git has begun a worktree at {path} and not finished it; when no git runs there any more, \
         `git worktree remove --force --force {path}` and `git branch -d {branch}` clear it away"
    )]
    HalfMade {
        /// The worktree's place.
        path: String,
        /// The member's branch.
        branch: String,
    },
    /// git knows a worktree that is not there.
    #[error("git knows a worktree at {path} that is gone; `git worktree prune` makes it forget it")]
    Gone {
        /// The worktree's place.
        path: String,
    },
    /// Worktrees would be where the other members see them.
    #[error(
        "worktrees are kept beside the store, and {place} is inside the checkout {root}; keep the store elsewhere"
    )]
    InsideCheckout {
        /// Where worktrees are kept.
        place: String,
        /// The checkout's root.
        root: String,
    },
    /// Worktrees cannot be kept where they are to be kept.
    #[error("the directory {place} cannot be made: {cause}")]
    Place {
        /// Where worktrees are kept.
        place: String,
        /// What the system said.
        cause: String,
    },
    /// git could not do it.
    #[error("`git {doing}` failed: {said}")]
    Git {
        /// What it was to do.
        doing: String,
        /// What it said.
        said: String,
    },
    /// git took too long.
    #[error("`git {doing}` did not end within {seconds} s and was ended")]
    TimedOut {
        /// What it was to do.
        doing: String,
        /// How long it had.
        seconds: u64,
    },
    /// Whoever wanted it was stopped.
    #[error("it was interrupted")]
    Interrupted,
}

/// Gives no worktrees.
#[derive(Debug)]
pub struct NoWorktrees;

#[async_trait]
impl Worktrees for NoWorktrees {
    async fn provide(
        &self,
        _: WantedWorktree,
        _: CancellationToken,
    ) -> Result<GivenWorktree, WorktreeRefused> {
        Err(WorktreeRefused::NotOffered)
    }
}

/// Finds models by the names the configuration gives them.
pub trait Models: Send + Sync + std::fmt::Debug {
    /// The model of that name.
    ///
    /// # Errors
    /// [`ModelMissing`] when the configuration has none, or not enough to reach it.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelMissing>;
}

/// Says why there is no such model, and what to set.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the model {name:?} cannot be used: {reason}")]
pub struct ModelMissing {
    /// What was asked for.
    pub name: String,
    /// Why not, and what to do.
    pub reason: String,
}

/// Describes a tool whose arguments are `A`, for [`Tool::spec`].
#[must_use]
pub fn describe_tool<A: schemars::JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(A).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

/// Reads a call's arguments, for [`Tool::call`].
///
/// # Errors
/// The outcome that tells the model what is wrong with them.
pub fn parse_arguments<A: serde::de::DeserializeOwned>(
    name: &str,
    arguments: serde_json::Value,
) -> Result<A, ToolOutcome> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolOutcome::error(format!("invalid arguments for {name}: {error}")))
}
