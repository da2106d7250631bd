//! `spawn_teammate`: a named child of the Lead.

use super::list_agents::Branch;
use super::{TeamTool, caller, json};
use crate::ports::GivenWorktree;
use crate::ports::{Effect, ToolScope};
use crate::settings::Isolation;
use crate::team::{SpawnRequest, TeamHandle};
use async_trait::async_trait;
use longboat_core::content::ToolOutcome;
use longboat_core::id::{MemberName, Revision, SessionId};
use longboat_core::log::{MemberContext, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(super) struct SpawnTeammate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Its name: lowercase kebab-case, at most 64 characters, starting with a letter. A name is
    /// used once and for ever.
    name: String,
    /// What it is for, in one line, for the other members.
    description: String,
    /// What it is to do: everything it needs to know to begin.
    prompt: String,
    /// What it starts with: nothing ("fresh", the default) or a copy of your completed turns
    /// ("fork").
    #[serde(default)]
    context: Context,
    /// A reusable definition to make it from.
    #[serde(default)]
    role: Option<String>,
    /// Where it works: in the checkout that all share ("shared"), or in a git worktree and on a
    /// branch of its own, from the commit you are at ("worktree"). The role's if not given, and
    /// else "shared".
    #[serde(default)]
    isolation: Option<Where>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Where {
    Shared,
    Worktree,
}

// What an agent outside a team says of a child. It is told nothing of worktrees: they are the team's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChildArguments {
    /// Its name: lowercase kebab-case, at most 64 characters, starting with a letter. A name is
    /// used once and for ever.
    name: String,
    /// What it is for, in one line, for the other members.
    description: String,
    /// What it is to do: everything it needs to know to begin.
    prompt: String,
    /// What it starts with: nothing ("fresh", the default) or a copy of your completed turns
    /// ("fork").
    #[serde(default)]
    context: Context,
    /// A reusable definition to make it from.
    #[serde(default)]
    role: Option<String>,
}

impl From<ChildArguments> for Arguments {
    fn from(child: ChildArguments) -> Self {
        let ChildArguments { name, description, prompt, context, role } = child;
        Self { name, description, prompt, context, role, isolation: None }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Context {
    #[default]
    Fresh,
    Fork,
}

#[derive(Serialize)]
struct Made<'a> {
    name: &'a MemberName,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<Branch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[async_trait]
impl TeamTool for SpawnTeammate {
    const NAME: &'static str = "spawn_teammate";
    const DESCRIPTION: &'static str = "Create a named teammate that works beside you, in the same checkout or, with isolation \"worktree\", in a git worktree of its own. Do this only when the user asks for a team. It starts at once with the prompt and knows nothing else unless context is \"fork\". Use send_message for everything that follows and wait_agent to wait for it.";
    const EFFECT: Effect = Effect::Ordered;
    type Arguments = Arguments;

    async fn run(team: &TeamHandle, scope: ToolScope, arguments: Arguments) -> ToolOutcome {
        let Arguments { name, description, prompt, context, role, isolation } = arguments;
        let name = match MemberName::new(name) {
            Ok(name) => name,
            Err(invalid) => return ToolOutcome::error(invalid.to_string()),
        };
        let context = match context {
            Context::Fresh => MemberContext::Fresh,
            Context::Fork => MemberContext::Fork,
        };
        let isolation = isolation.map(|isolation| match isolation {
            Where::Shared => Isolation::Shared,
            Where::Worktree => Isolation::Worktree,
        });
        let caller = caller(&scope);
        let request = SpawnRequest { caller, name, description, prompt, context, role, isolation };
        match team.spawn(request).await {
            Ok(spawned) => match &spawned.failed {
                None => json(&Made {
                    name: &spawned.name,
                    status: "running",
                    session: Some(&spawned.session),
                    revision: Some(spawned.revision),
                    worktree: spawned.worktree.clone().map(|given| given.worktree.into()),
                    note: spawned.worktree.as_ref().and_then(note).as_deref(),
                }),
                Some(reason) => {
                    let left = spawned.worktree.map(|given| given.worktree);
                    let left =
                        left.map_or_else(String::new, |Worktree { path, branch, .. }| {
                            format!("; its worktree {path} on {branch} is left")
                        });
                    ToolOutcome::error(format!(
                        "{} could not be made and its name stays taken: {reason}{left}",
                        spawned.name
                    ))
                }
            },
            Err(error) => ToolOutcome::error(error.to_string()),
        }
    }
}

/// What the Lead must know of a worktree besides where it is.
fn note(given: &GivenWorktree) -> Option<String> {
    let changes = match given.uncommitted {
        0 => return None,
        1 => "1 change that is".to_owned(),
        many => format!("{many} changes that are"),
    };
    Some(format!(
        "the shared checkout has {changes} not committed, and the worktree is without them; \
         if the teammate needs them, commit them and tell it to take them over with git merge"
    ))
}

pub(super) fn recalled(name: &MemberName) -> ToolOutcome {
    let note = "the call was cut off after the name was taken; list_agents says how it stands";
    json(&Made {
        name,
        status: "provisioning",
        session: None,
        revision: None,
        worktree: None,
        note: Some(note),
    })
}
