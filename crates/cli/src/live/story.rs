//! Which events are worth a line, and the line.

use crate::report::one_line;
use longboat_core::id::{MemberName, MessageId};
use longboat_core::log::{ActivityChange, Event, MemberChange, Record, TurnOutcome};

/// The line for a record, if it is worth one.
pub(super) fn headline(member: &MemberName, record: &Record) -> Option<String> {
    match &record.event {
        Event::TeamMember { member, change, .. } => match change {
            MemberChange::Provisioning { description, isolation, .. } => {
                let on = isolation.as_ref().map(|worktree| &worktree.branch);
                let on = on.map(|branch| format!(" on {}", one_line(branch))).unwrap_or_default();
                Some(format!("lead makes {member}{on}: {}", one_line(description)))
            }
            MemberChange::Failed { reason } => {
                Some(format!("{member} could not be made: {}", one_line(reason)))
            }
            MemberChange::Active => None,
        },
        Event::TeamActivity { member, change, .. } => match change {
            ActivityChange::TurnEnded { outcome, .. } => Some(match outcome {
                TurnOutcome::Completed => format!("{member} ended its turn"),
                TurnOutcome::Interrupted { by } => format!("{member} was interrupted by {by}"),
                TurnOutcome::Failed { reason } => {
                    format!("{member}'s turn failed: {}", one_line(reason))
                }
            }),
            ActivityChange::Resumed => Some(format!("{member} is back")),
            ActivityChange::TurnStarted { .. }
            | ActivityChange::Released
            | ActivityChange::Unreachable { .. } => None,
        },
        Event::TeamTask { by, task, .. } => {
            let owner = task.state.owner().map(|owner| format!(", {owner}")).unwrap_or_default();
            let (status, subject) = (task.state.status().word(), one_line(&task.subject));
            Some(format!("{by}: task {} is {status}{owner}: {subject}", task.id))
        }
        Event::TeamMessageQueued { message, from, to, .. } => {
            Some(format!("{from} → {to}: {message} queued"))
        }
        Event::TeamMessageDelivered { message, to, .. } => {
            Some(format!("{to}: {message} accepted"))
        }
        Event::InboxClaimed { items, .. } => {
            let read: Vec<&str> = items
                .iter()
                .filter_map(|item| item.as_str().rsplit_once('/'))
                .map(|(_, message)| message)
                .filter(|message| MessageId::new(*message).is_ok())
                .collect();
            (!read.is_empty()).then(|| format!("{member}: {} read", read.join(", ")))
        }
        Event::ContextCompacted { kept, .. } => Some(format!(
            "{member}: its conversation was summed up; the newest {kept} messages stay"
        )),
        Event::PermissionAsked { .. }
        | Event::PermissionAnswered { .. }
        | Event::TeamPermission { .. } => permission(member, &record.event),
        Event::SessionCreated { .. }
        | Event::SessionConfigured { .. }
        | Event::InboxInserted { .. }
        | Event::InboxDiscarded { .. }
        | Event::TurnStarted { .. }
        | Event::TurnEnded { .. }
        | Event::StepStarted { .. }
        | Event::StepEnded { .. }
        | Event::AssistantMessage { .. }
        | Event::ToolStarted { .. }
        | Event::ToolResult { .. }
        | Event::Ignored { .. } => None,
    }
}

fn permission(member: &MemberName, event: &Event) -> Option<String> {
    match event {
        Event::PermissionAsked { step, index, .. } => {
            Some(format!("{member} waits for permission: {member}.{step}.{index}"))
        }
        Event::PermissionAnswered { step, index, answer, by, .. } => {
            let (by, answer) = (by.words(), answer.word());
            Some(format!("{member}.{step}.{index}: {by} said {answer}"))
        }
        Event::TeamPermission { grant, .. } => {
            Some(format!("permitted from now on: {}", one_line(&grant.to_string())))
        }
        _ => None,
    }
}
