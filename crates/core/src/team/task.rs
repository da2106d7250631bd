//! Tasks: what they are, who may change them, and the compare-and-set that keeps changes apart.

use crate::id::{MemberName, Revision, TaskId};
use serde::{Deserialize, Serialize};

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

/// x
#[derive(Debug, Clone, Default)]
pub struct TaskBoard;
impl TaskBoard {
    pub(super) fn apply(&mut self, _t: std::sync::Arc<Task>) -> Result<(), std::fmt::Error> {
        Ok(())
    }
}
/// s
#[derive(Debug, Clone)]
pub enum TaskCommand {
    /// x
    X,
}
/// s
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("x")]
pub struct TaskRefused;
/// s
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWarning;
/// s
#[derive(Debug, Clone)]
pub struct Decided {
    /// x
    pub task: Task,
    /// x
    pub warnings: Vec<TaskWarning>,
}
/// s
/// # Errors
/// x
pub fn decide_task(
    _: &TaskBoard,
    _: &MemberName,
    _: &dyn Fn(&MemberName) -> bool,
    _: &crate::limits::Limits,
    _: TaskCommand,
) -> Result<Decided, TaskRefused> {
    Err(TaskRefused)
}
