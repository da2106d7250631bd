//! The team's nine tools, as a model sees them: one file each, with its schema and its text; and the
//! five that agents outside a team have instead.

mod adjacent;
mod interrupt_agent;
mod list_agents;
mod send_message;
mod spawn_teammate;
mod task_create;
mod task_get;
mod task_list;
mod task_update;
mod tasks;
mod wait_agent;

use crate::ports::{Effect as ToolEffect, Tool, ToolScope, describe_tool, parse_arguments};
use crate::team::{By, Caller, Effect, TeamHandle};
use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::limits::AGENT_DEPTH;
use longboat_core::log::Scope;
use longboat_core::permission::Reach;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// One of the team's tools. It is a name for what the team is asked; the rules are the team's.
#[async_trait]
trait TeamTool: std::fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EFFECT: ToolEffect;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Self::Arguments) -> ToolOutcome;
}

#[derive(Debug)]
struct Bound<T> {
    team: TeamHandle,
    tool: PhantomData<T>,
}

#[async_trait]
impl<T: TeamTool> Tool for Bound<T> {
    fn spec(&self) -> ToolSpec {
        spec::<T>()
    }

    fn effect(&self) -> ToolEffect {
        T::EFFECT
    }

    fn reach(&self) -> Reach {
        Reach::Team
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        let cancel = scope.cancel.clone();
        match parse_arguments(T::NAME, arguments) {
            Ok(arguments) => tokio::select! {
                biased;
                () = cancel.cancelled() => ToolOutcome::error("interrupted"),
                outcome = T::run(&self.team, scope, arguments) => outcome,
            },
            Err(outcome) => outcome,
        }
    }
}

fn spec<T: TeamTool>() -> ToolSpec {
    describe_tool::<T::Arguments>(T::NAME, T::DESCRIPTION)
}

/// Where a member stands: what it is offered follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// What the children of its root are.
    pub(crate) scope: Scope,
    /// Whether it is the root itself.
    pub(crate) root: bool,
    /// How many agents stand above it.
    pub(crate) depth: usize,
}

impl Place {
    pub(crate) fn root(scope: Scope) -> Self {
        Self { scope, root: true, depth: 0 }
    }

    /// P13: in a team, the Lead alone; outside of one, everybody but the deepest.
    fn spawns(self) -> bool {
        match self.scope {
            Scope::Team => self.root,
            Scope::Subagents => self.depth < AGENT_DEPTH,
        }
    }
}

/// Names the tools once; what is for those who spawn stands apart. In a team and outside of one the
/// same names mean different operations: nobody is ever offered both.
macro_rules! scopes {
    ($($scope:path => { all: [$($all:ty),* $(,)?], spawning: [$($spawning:ty),* $(,)?] }),* $(,)?) => {
        /// The specifications of a member's team tools.
        pub(crate) fn specs(place: Place) -> Vec<ToolSpec> {
            let mut specs = Vec::new();
            match place.scope {
                $($scope => {
                    if place.spawns() {
                        $(specs.push(spec::<$spawning>());)*
                    }
                    $(specs.push(spec::<$all>());)*
                })*
            }
            specs
        }

        /// A member's team tools.
        pub(crate) fn tools(place: Place, team: TeamHandle) -> Vec<Arc<dyn Tool>> {
            let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
            match place.scope {
                $($scope => {
                    if place.spawns() {
                        $(tools.push(Arc::new(Bound::<$spawning> {
                            team: team.clone(),
                            tool: PhantomData,
                        }));)*
                    }
                    $(tools.push(Arc::new(Bound::<$all> {
                        team: team.clone(),
                        tool: PhantomData,
                    }));)*
                })*
            }
            tools
        }

        /// Says whether a name is one of theirs.
        pub(crate) fn is_team_tool(name: &str) -> bool {
            [$($(<$spawning>::NAME,)* $(<$all>::NAME,)*)*].contains(&name)
        }
    };
}

scopes! {
    Scope::Team => {
        all: [
            send_message::SendMessage,
            list_agents::ListAgents,
            wait_agent::WaitAgent,
            task_create::TaskCreate,
            task_list::TaskList,
            task_get::TaskGet,
            task_update::TaskUpdate,
        ],
        spawning: [spawn_teammate::SpawnTeammate, interrupt_agent::InterruptAgent]
    },
    Scope::Subagents => {
        all: [adjacent::SendMessage],
        spawning: [
            adjacent::SpawnAgent,
            adjacent::ListAgents,
            adjacent::WaitAgent,
            adjacent::InterruptAgent,
        ]
    },
}

/// The result of a call that was cut off after it had its effect.
pub(crate) fn recalled(effect: &Effect) -> ToolOutcome {
    match effect {
        Effect::Message(message, to) => send_message::recalled(message, to),
        Effect::Task(task) => tasks::changed(task, &[]),
        Effect::Member(name) => spawn_teammate::recalled(name),
    }
}

/// Who makes this call.
// P9: taken from the scope that the host made, never from the arguments.
fn caller(scope: &ToolScope) -> Caller {
    Caller { name: scope.member.clone(), by: By::Call(scope.origin.clone()) }
}

/// A result as compact JSON.
fn json(value: &impl Serialize) -> ToolOutcome {
    match serde_json::to_string(value) {
        Ok(text) => ToolOutcome::ok(text),
        Err(error) => ToolOutcome::error(format!("the result cannot be shown: {error}")),
    }
}
