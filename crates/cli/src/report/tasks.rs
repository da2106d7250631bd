//! The task board as the Lead's log has it.

use super::log::SessionLog;
use super::page::{Ink, Page, line};
use super::plain::{left, one_line};
use longboat_core::id::{MemberName, TaskId, TeamId};
use longboat_core::log::Event;
use longboat_core::team::{Task, TaskState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tasks, each as of its last change, by number. Tombstones are among them.
pub(crate) fn board(lead: &SessionLog) -> Vec<Arc<Task>> {
    let of = TeamId::of(lead.session.clone());
    let mut tasks = BTreeMap::new();
    for record in &lead.records {
        if let Event::TeamTask { team, task, .. } = &record.event
            && *team == of
        {
            tasks.insert(task.id.number(), Arc::clone(task));
        }
    }
    tasks.into_values().collect()
}

/// Writes the table of tasks that are not deleted.
pub(crate) fn write(page: &Page, out: &mut String, tasks: &[Arc<Task>]) {
    let live: Vec<&Arc<Task>> =
        tasks.iter().filter(|task| task.state != TaskState::Deleted).collect();
    let deleted = tasks.len() - live.len();
    let more = if deleted > 0 { format!(" ({deleted} deleted)") } else { String::new() };
    page.heading(out, &format!("Tasks{more}"));
    if live.is_empty() {
        line(out, &page.ink(Ink::Dim, "  none"));
        return;
    }
    let owners = live.iter().map(|task| owner(task).map_or(1, |owner| owner.as_str().len()));
    let owner_columns = owners.max().unwrap_or(0).clamp(5, 20);
    let blockers = live.iter().map(|task| blocked_by(task).len()).max().unwrap_or(0).clamp(10, 16);
    let before = 2 + 5 + 2 + 11 + 2 + owner_columns + 2 + blockers + 2;
    let head = format!(
        "  {}  {}  {}  {}  subject",
        left("id", 5),
        left("status", 11),
        left("owner", owner_columns),
        left("blocked by", blockers)
    );
    line(out, &page.ink(Ink::Dim, &head));
    for task in live {
        let (status, ink) = status(task, tasks);
        let owner = owner(task).map_or("-", MemberName::as_str);
        let shown = format!(
            "  {}  {}  {}  {}  {}",
            left(task.id.as_str(), 5),
            page.ink(ink, &left(status, 11)),
            page.ink(Ink::Name, &left(owner, owner_columns)),
            left(&blocked_by(task), blockers),
            super::plain::fit(&one_line(&task.subject), page.width.saturating_sub(before).max(16)),
        );
        line(out, &shown);
    }
}

fn owner(task: &Task) -> Option<&MemberName> {
    match &task.state {
        TaskState::InProgress { owner } => Some(owner),
        TaskState::Completed { owner } => owner.as_ref(),
        TaskState::Open | TaskState::Deleted => None,
    }
}

fn blocked_by(task: &Task) -> String {
    match task.blocked_by.as_slice() {
        [] => "-".to_owned(),
        some => some.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(","),
    }
}

/// An open task is blocked while one of its blockers is not completed, and else ready.
fn status(task: &Task, all: &[Arc<Task>]) -> (&'static str, Ink) {
    match &task.state {
        TaskState::Completed { .. } => ("completed", Ink::Good),
        TaskState::InProgress { .. } => ("in progress", Ink::Open),
        TaskState::Deleted => ("deleted", Ink::Dim),
        TaskState::Open => {
            let done = |task: &Task| matches!(task.state, TaskState::Completed { .. });
            let completed = |id: &TaskId| all.iter().any(|task| task.id == *id && done(task));
            if task.blocked_by.iter().all(completed) {
                ("ready", Ink::Open)
            } else {
                ("blocked", Ink::Dim)
            }
        }
    }
}
