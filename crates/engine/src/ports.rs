//! What the engine needs from outside, besides a store and models. It makes no time and no ids.

use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::id::{MemberName, Origin, SessionId};
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
