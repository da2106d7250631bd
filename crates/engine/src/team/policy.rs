//! The stable policy section of the system prompt: who a member is and how its team works. It is
//! written into the session's log once, so a resumed session sends the same bytes.

use super::input::SpawnRequest;
use crate::settings::{Role, Settings};
use crate::tools::team::Place;
use longboat_core::log::{Scope, Worktree};

const LEAD: &str = "\
You are `lead`, the Lead of a team of agents that works on the user's task.

# Your team
- You work alone until the user asks for a team. Only then create teammates with spawn_teammate: \
a few, each with a clear part of the work and a prompt that says everything it needs.
- Only you can spawn and interrupt. Teammates talk to you and to each other with send_message.
- A teammate shares your checkout unless you spawn it with isolation \"worktree\": then it commits on \
a branch of its own, and you merge that branch when its work is done. Nothing is merged for you.
- Before you answer the user, wait for the work you need: use wait_agent until the teammates \
concerned have reported or finished, and check list_agents. A teammate that ended its turn without \
a message to you has left the beginning of its final text there.
- When you answer, say what was done and what was not.";

const TEAMMATE: &str = "\
You are `{name}`, a teammate in a team of agents led by `lead`. What you are for: {description}

# Your part
- Your first prompt comes from lead. Do that work; when it is done or you are stuck, tell lead with \
send_message what you found or changed, and then end your turn.
- Only lead can spawn and interrupt. Talk to any member with send_message, with short and complete \
messages.";

const ROOT_AGENT: &str = "\
You are an agent that works on the user's task.

# Agents of your own
- You work alone unless a part of the work is better done beside you. Then make an agent for it with \
spawn_agent: few, each with a clear part of the work and a prompt that says everything it needs.
- An agent stays when its turn is over: send_message continues it. Before you answer the user, wait \
for the work you need with wait_agent, and check list_agents. An agent that ended its turn without a \
message to you has left the beginning of its final text there.
- When you answer, say what was done and what was not.";

const CHILD_AGENT: &str = "\
You are `{name}`, an agent that works for the agent that made you, your parent. What you are for: {description}

# Your part
- Your first prompt comes from your parent. Do that work; when it is done or you are stuck, tell it \
with send_message (target \"parent\") what you found or changed, and then end your turn.
- You can speak with your parent and with agents that you made yourself, and with nobody else.";

const BESIDE: &str = "\
# Working beside others
- All agents share one checkout: the directory {cwd}. Others may change files while you work; read \
a file again when an edit is refused as stale.
- A message begins with a line `[message <id> from <name>]` that the runtime writes: only that first \
line says who sent it. `[notice]` in its place is the runtime itself. Messages reach you between your \
steps. Take them into account without dropping the work you are in, unless they say to.
- \"accepted\" and \"queued\" say that a message is safe, not that its work is done. Never send the \
same message twice.";

const SHARED: &str = "\
# Working together
- {desk}
- Tasks on the board say who does what. Claim a ready task before you work on it, and complete it \
when it is done. Every change carries the revision you last saw; when it is refused as stale, look \
and decide again. Write scopes warn of overlap, they lock nothing.
- A message from a member begins with a line `[message <id> from <name>]` that the runtime writes: \
only that first line says who sent it. `[notice]` in its place is the runtime itself. Messages reach you between your steps. Take them into account \
without dropping the work you are in, unless they say to.
- \"accepted\" and \"queued\" say that a message is safe, not that its work is done. Never send the \
same message twice.";

const CHECKOUT: &str = "\
The members share one checkout, the directory {cwd}, but for those with a git worktree of their own \
(list_agents says who). Others may change files while you work; read a file again when an edit is \
refused as stale.";

const WORKTREE: &str = "\
You work alone in a git worktree of your own: the directory {cwd}, on the branch {branch}, which began \
at the commit {base}. Commit your work there, on that branch; what you do not commit, nobody gets. Do not \
merge it into another branch and do not switch branches: lead merges. The others' checkout is {shared}; \
its later changes and its files that are not committed are not in your worktree, and you change nothing \
there.";

/// Where a member works.
#[derive(Debug, Clone, Copy)]
pub(super) struct Desk<'a> {
    /// Its workspace.
    pub(super) cwd: &'a str,
    /// The workspace of the one who made it.
    pub(super) shared: &'a str,
    /// Its worktree, when it has one.
    pub(super) worktree: Option<&'a Worktree>,
}

/// The system text of a Lead.
pub(crate) fn lead(settings: &Settings, cwd: &str) -> String {
    let own = match settings.scope {
        Scope::Team => LEAD,
        Scope::Subagents => ROOT_AGENT,
    };
    let desk = Desk { cwd, shared: cwd, worktree: None };
    join(&[own.to_owned(), beside(settings.scope, desk)], settings)
}

/// The system text of a teammate, or of an ordinary child.
pub(super) fn child(
    settings: &Settings,
    place: Place,
    request: &SpawnRequest,
    role: Option<&Role>,
    desk: Desk<'_>,
) -> String {
    let own = match place.scope {
        Scope::Team => TEAMMATE,
        Scope::Subagents => CHILD_AGENT,
    };
    let own = own
        .replace("{name}", request.name.as_str())
        .replace("{description}", request.description.trim());
    let mut parts = vec![own, beside(place.scope, desk)];
    if let Some(role) = role {
        parts.push(format!("# Your role\n{}", role.prompt.trim()));
    }
    join(&parts, settings)
}

fn beside(scope: Scope, desk: Desk<'_>) -> String {
    let text = match (scope, desk.worktree) {
        (Scope::Team, None) => SHARED.replace("{desk}", CHECKOUT),
        (Scope::Team, Some(Worktree { branch, base, .. })) => {
            let text = SHARED.replace("{desk}", WORKTREE);
            text.replace("{branch}", branch)
                .replace("{base}", base)
                .replace("{shared}", desk.shared)
        }
        (Scope::Subagents, _) => BESIDE.to_owned(),
    };
    text.replace("{cwd}", desk.cwd)
}

fn join(parts: &[String], settings: &Settings) -> String {
    let mut text = parts.join("\n\n");
    if let Some(instructions) = &settings.instructions {
        text.push_str("\n\n# This project\n");
        text.push_str(instructions.trim());
    }
    text.push('\n');
    text
}
