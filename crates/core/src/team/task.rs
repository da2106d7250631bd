//! Tasks: what they are, who may change them, and the compare-and-set that keeps changes apart.

use super::task_board::TaskBoard;
use super::task_graph::cycle;
use super::task_refused::{TaskRefused, TaskWarning};
use super::task_scopes::Scopes;
use crate::id::{MemberName, Revision, TaskId};
use crate::limits::{self, Limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One task of the board, whole, as of one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its id, never reused.
    pub id: TaskId,
    /// Counted from 1; every change makes the next.
    pub revision: Revision,
    /// One line.
    pub subject: String,
    /// What is to be done, and when it is done.
    pub description: String,
    /// Where it stands, and who has it.
    pub state: TaskState,
    /// Tasks that must be completed before this can be claimed.
    pub blocked_by: Vec<TaskId>,
    /// Paths the owner means to write: a warning to others, never a lock.
    pub write_scopes: Vec<String>,
    /// Who created it.
    pub created_by: MemberName,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskState {
    /// Nobody has it.
    Open,
    /// Somebody works on it.
    InProgress {
        /// Who.
        owner: MemberName,
    },
    /// It is done.
    Completed {
        /// Who had it.
        owner: Option<MemberName>,
    },
    /// A tombstone: the id stays taken.
    Deleted,
}

/// What a member wants of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCommand {
    /// A new task.
    Create {
        /// One line.
        subject: String,
        /// What is to be done, and when it is done.
        description: String,
        /// Tasks that come first.
        blocked_by: Vec<TaskId>,
        /// Paths it means to write.
        write_scopes: Vec<String>,
    },
    /// A change to a task, as the caller last saw it.
    Update {
        /// Which.
        task: TaskId,
        /// The revision the caller saw.
        expected_revision: Revision,
        /// What to change.
        action: TaskAction,
    },
}

/// One change to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAction {
    /// Take a ready task that nobody has.
    Claim,
    /// Give it back.
    Release,
    /// Change its texts.
    Edit {
        /// The new subject, if it changes.
        subject: Option<String>,
        /// The new description, if it changes.
        description: Option<String>,
        /// The new write scopes, if they change.
        write_scopes: Option<Vec<String>>,
    },
    /// Change what comes first.
    SetDependencies {
        /// All of it.
        blocked_by: Vec<TaskId>,
    },
    /// Say it is done.
    Complete,
    /// Say it is not done after all; it goes back to whoever had it.
    Reopen,
    /// Give it to a member; the Lead only.
    Reassign {
        /// Who is to have it.
        owner: MemberName,
    },
    /// Take it off the board, for good.
    Delete,
}

/// What a decision makes of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The whole task after the change.
    pub task: Task,
    /// What the caller should know.
    pub warnings: Vec<TaskWarning>,
}

/// Decides what a command makes of the board. `has_member` says whether a teammate of that name can
/// have tasks.
///
/// # Errors
/// [`TaskRefused`].
pub fn decide_task(
    board: &TaskBoard,
    by: &MemberName,
    has_member: &dyn Fn(&MemberName) -> bool,
    limits: &Limits,
    command: TaskCommand,
) -> Result<Decided, TaskRefused> {
    let (was, task) = match command {
        TaskCommand::Create { subject, description, blocked_by, write_scopes } => {
            let (current, limit) = (board.live_len(), limits.live_tasks);
            if current >= limit {
                return Err(TaskRefused::BoardFull { current, limit });
            }
            let id = board.next_id();
            let task = Task {
                blocked_by: blockers(board, &id, blocked_by)?,
                id,
                revision: Revision(1),
                subject,
                description,
                state: TaskState::Open,
                write_scopes,
                created_by: by.clone(),
            };
            (None, task)
        }
        TaskCommand::Update { task, expected_revision, action } => {
            let task = current(board, &task, expected_revision)?;
            let mut changed = change(board, by, has_member, task, action)?;
            changed.revision = task.revision.next();
            (Some(task), changed)
        }
    };
    check_texts(&task)?;
    let warnings = warnings(board, by, was, &task);
    Ok(Decided { task, warnings })
}

// P15: compare, then set.
fn current<'a>(
    board: &'a TaskBoard,
    id: &TaskId,
    expected: Revision,
) -> Result<&'a Arc<Task>, TaskRefused> {
    let task = board.get(id).ok_or_else(|| TaskRefused::UnknownTask { task: id.clone() })?;
    if task.state == TaskState::Deleted {
        return Err(TaskRefused::Deleted { task: id.clone() });
    }
    if task.revision != expected {
        let (task, current) = (id.clone(), task.revision);
        return Err(TaskRefused::StaleRevision { task, expected, current });
    }
    Ok(task)
}

fn change(
    board: &TaskBoard,
    by: &MemberName,
    has_member: &dyn Fn(&MemberName) -> bool,
    task: &Task,
    action: TaskAction,
) -> Result<Task, TaskRefused> {
    let mut changed = task.clone();
    match action {
        TaskAction::Claim => changed.state = claimed(board, by, task)?,
        TaskAction::Reassign { owner } => {
            changed.state = reassigned(board, by, has_member, task, owner)?;
        }
        TaskAction::Release => {
            may_change(by, task)?;
            require_in_progress(task, "only a task in progress can be released")?;
            changed.state = TaskState::Open;
        }
        TaskAction::Complete => {
            may_change(by, task)?;
            if let TaskState::Completed { .. } = task.state {
                return Err(wrong(task, "it is completed already"));
            }
            let blockers = board.open_blockers(task);
            if !blockers.is_empty() {
                return Err(TaskRefused::NotReady { task: task.id.clone(), blockers });
            }
            changed.state = TaskState::Completed { owner: task.state.owner().cloned() };
        }
        TaskAction::Reopen => {
            may_change(by, task)?;
            let TaskState::Completed { owner } = &task.state else {
                return Err(wrong(task, "only a completed task can be reopened"));
            };
            // Ownership is never released silently: it goes back to whoever had it.
            changed.state = match owner {
                Some(owner) => TaskState::InProgress { owner: owner.clone() },
                None => TaskState::Open,
            };
        }
        TaskAction::Edit { subject, description, write_scopes } => {
            may_change(by, task)?;
            changed.subject = subject.unwrap_or(changed.subject);
            changed.description = description.unwrap_or(changed.description);
            changed.write_scopes = write_scopes.unwrap_or(changed.write_scopes);
        }
        TaskAction::SetDependencies { blocked_by } => {
            may_change(by, task)?;
            if let TaskState::Completed { .. } = task.state {
                return Err(wrong(task, "reopen it before you change what comes first"));
            }
            changed.blocked_by = blockers(board, &task.id, blocked_by)?;
        }
        TaskAction::Delete => {
            may_change(by, task)?;
            let rest = board.dependents(&task.id);
            let dependents: Vec<TaskId> = rest.map(|other| other.id.clone()).collect();
            if !dependents.is_empty() {
                return Err(TaskRefused::HasDependents { task: task.id.clone(), dependents });
            }
            changed.state = TaskState::Deleted;
        }
    }
    Ok(changed)
}

fn claimed(board: &TaskBoard, by: &MemberName, task: &Task) -> Result<TaskState, TaskRefused> {
    match &task.state {
        TaskState::Open => {}
        TaskState::InProgress { owner } if owner == by => {
            return Err(wrong(task, "you have it already"));
        }
        TaskState::InProgress { owner } => {
            return Err(TaskRefused::OwnedByOther { task: task.id.clone(), owner: owner.clone() });
        }
        TaskState::Completed { .. } | TaskState::Deleted => {
            return Err(wrong(task, "reopen it if it is not done after all"));
        }
    }
    let blockers = board.open_blockers(task);
    if !blockers.is_empty() {
        return Err(TaskRefused::NotReady { task: task.id.clone(), blockers });
    }
    Ok(TaskState::InProgress { owner: by.clone() })
}

fn reassigned(
    board: &TaskBoard,
    by: &MemberName,
    has_member: &dyn Fn(&MemberName) -> bool,
    task: &Task,
    owner: MemberName,
) -> Result<TaskState, TaskRefused> {
    if !decides_all(by) {
        return Err(TaskRefused::NotLead);
    }
    if !owner.is_lead() && !has_member(&owner) {
        return Err(TaskRefused::UnknownMember { member: owner });
    }
    if let TaskState::Completed { .. } = task.state {
        return Err(wrong(task, "reopen it before you give it to somebody"));
    }
    let blockers = board.open_blockers(task);
    if !blockers.is_empty() {
        return Err(TaskRefused::NotReady { task: task.id.clone(), blockers });
    }
    Ok(TaskState::InProgress { owner })
}

/// The Lead, and the person the team works for.
fn decides_all(by: &MemberName) -> bool {
    by.is_lead() || by.is_human()
}

/// The owner or the Lead; while nobody has it, its creator or the Lead.
fn may_change(by: &MemberName, task: &Task) -> Result<(), TaskRefused> {
    if decides_all(by) {
        return Ok(());
    }
    match task.state.owner() {
        Some(owner) if owner == by => Ok(()),
        Some(owner) => {
            Err(TaskRefused::OwnedByOther { task: task.id.clone(), owner: owner.clone() })
        }
        None if task.created_by == *by => Ok(()),
        None => {
            let creator = task.created_by.clone();
            Err(TaskRefused::NotYours { task: task.id.clone(), creator })
        }
    }
}

fn require_in_progress(task: &Task, hint: &'static str) -> Result<(), TaskRefused> {
    match task.state {
        TaskState::InProgress { .. } => Ok(()),
        TaskState::Open | TaskState::Completed { .. } | TaskState::Deleted => {
            Err(wrong(task, hint))
        }
    }
}

fn wrong(task: &Task, hint: &'static str) -> TaskRefused {
    TaskRefused::WrongState { task: task.id.clone(), status: task.state.status().word(), hint }
}

/// Checks what a task is to be blocked by: live tasks, no cycle, each once.
fn blockers(
    board: &TaskBoard,
    id: &TaskId,
    wanted: Vec<TaskId>,
) -> Result<Vec<TaskId>, TaskRefused> {
    let mut seen = BTreeSet::new();
    let wanted: Vec<TaskId> =
        wanted.into_iter().filter(|blocker| seen.insert(blocker.clone())).collect();
    // P11: counted before the graph is searched, which takes time for each.
    count("blocked_by", wanted.len())?;
    for blocker in &wanted {
        if blocker != id && !board.is_live(blocker) {
            return Err(TaskRefused::UnknownBlocker { blocker: blocker.clone() });
        }
    }
    match cycle(board, id, &wanted) {
        Some(cycle) => Err(TaskRefused::Cycle { cycle }),
        None => Ok(wanted),
    }
}

fn check_texts(task: &Task) -> Result<(), TaskRefused> {
    length("subject", &task.subject, 1, limits::TASK_SUBJECT_BYTES)?;
    one_line("subject", &task.subject)?;
    length("description", &task.description, 0, limits::TASK_DESCRIPTION_BYTES)?;
    count("blocked_by", task.blocked_by.len())?;
    count("write_scopes", task.write_scopes.len())?;
    for scope in &task.write_scopes {
        length("write_scopes", scope, 1, limits::WRITE_SCOPE_BYTES)?;
        one_line("write_scopes", scope)?;
    }
    Ok(())
}

fn length(field: &'static str, text: &str, least: usize, limit: usize) -> Result<(), TaskRefused> {
    // Blanks alone say nothing, where something must be said.
    let blank = least > 0 && text.trim().is_empty();
    let bytes = if blank { 0 } else { text.len() };
    if !(least..=limit).contains(&bytes) {
        return Err(TaskRefused::TextLength { field, bytes, least, limit });
    }
    Ok(())
}

/// What is shown on one line can neither begin another nor steer a terminal.
fn one_line(field: &'static str, text: &str) -> Result<(), TaskRefused> {
    if text.chars().any(char::is_control) {
        return Err(TaskRefused::NotOneLine { field });
    }
    Ok(())
}

fn count(field: &'static str, count: usize) -> Result<(), TaskRefused> {
    let limit = limits::TASK_LINKS;
    if count > limit {
        return Err(TaskRefused::TooMany { field, count, limit });
    }
    Ok(())
}

/// What the caller should know, in this order: who lost the task, who works on what rests on it, and
/// whose write scopes it meets, one warning for each other task.
fn warnings(
    board: &TaskBoard,
    by: &MemberName,
    was: Option<&Arc<Task>>,
    task: &Task,
) -> Vec<TaskWarning> {
    let mut warnings = Vec::new();
    // P15: ownership is never released silently.
    if let Some(TaskState::InProgress { owner }) = was.map(|was| &was.state)
        && owner != by
        && task.state.owner() != Some(owner)
    {
        warnings.push(TaskWarning::TakenFrom { owner: owner.clone() });
    }
    if !matches!(task.state, TaskState::Completed { .. }) {
        warnings.extend(board.dependents(&task.id).filter_map(|other| {
            let TaskState::InProgress { owner } = &other.state else { return None };
            let (dependent, owner) = (other.id.clone(), owner.clone());
            Some(TaskWarning::DependentInProgress { dependent, owner })
        }));
    }
    // P15: write scopes warn on overlap and never lock.
    if matches!(task.state, TaskState::InProgress { .. } | TaskState::Open) {
        let scopes = Scopes::new(&task.write_scopes);
        let others = board.live().filter(|other| other.id != task.id);
        warnings.extend(others.filter_map(|other| overlap(task, &scopes, other)));
    }
    if warnings.len() > limits::TASK_WARNINGS {
        let count = warnings.len() - limits::TASK_WARNINGS;
        warnings.truncate(limits::TASK_WARNINGS);
        warnings.push(TaskWarning::More { count });
    }
    warnings
}

/// Where a task meets one that somebody else works on.
fn overlap(task: &Task, scopes: &Scopes<'_>, other: &Task) -> Option<TaskWarning> {
    let TaskState::InProgress { owner } = &other.state else { return None };
    if task.state.owner() == Some(owner) {
        return None;
    }
    let (scope, other_scope) = scopes.meet(&Scopes::new(&other.write_scopes))?;
    Some(TaskWarning::ScopesOverlap {
        scope: scope.to_owned(),
        other: other.id.clone(),
        other_scope: other_scope.to_owned(),
        owner: owner.clone(),
    })
}
