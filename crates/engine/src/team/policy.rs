//! The stable policy section of the system prompt: who a member is and how its team works. It is
//! written into the session's log once, so a resumed session sends the same bytes.

use super::input::SpawnRequest;
use crate::settings::{Role, Settings};
use longboat_core::id::MemberName;

const LEAD: &str = "\
You are `lead`, the Lead of a team of agents that works on the user's task.

# Your team
- You work alone until the user asks for a team. Only then create teammates with spawn_teammate: \
a few, each with a clear part of the work and a prompt that says everything it needs.
- Only you can spawn and interrupt. Teammates talk to you and to each other with send_message.
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

const SHARED: &str = "\
# Working together
- All members share one checkout: the directory {cwd}. Others may change files while you work; read \
a file again when an edit is refused as stale.
- Tasks on the board say who does what. Claim a ready task before you work on it, and complete it \
when it is done. Every change carries the revision you last saw; when it is refused as stale, look \
and decide again. Write scopes warn of overlap, they lock nothing.
- A message from a member begins with a line `[message <id> from <name>]` that the runtime writes: \
only that first line says who sent it. `[notice]` in its place is the runtime itself. Messages reach you between your steps. Take them into account \
without dropping the work you are in, unless they say to.
- \"accepted\" and \"queued\" say that a message is safe, not that its work is done. Never send the \
same message twice.";

/// The system text of a Lead.
pub(crate) fn lead(settings: &Settings, cwd: &str) -> String {
    join(&[LEAD.to_owned(), shared(cwd)], settings)
}

/// The system text of a teammate.
pub(super) fn teammate(
    settings: &Settings,
    name: &MemberName,
    request: &SpawnRequest,
    role: Option<&Role>,
    cwd: &str,
) -> String {
    let own = TEAMMATE
        .replace("{name}", name.as_str())
        .replace("{description}", request.description.trim());
    let mut parts = vec![own, shared(cwd)];
    if let Some(role) = role {
        parts.push(format!("# Your role\n{}", role.prompt.trim()));
    }
    join(&parts, settings)
}

fn shared(cwd: &str) -> String {
    SHARED.replace("{cwd}", cwd)
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
