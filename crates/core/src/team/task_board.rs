//! The board: every task as it is now, folded from whole snapshots.

use super::task::{Task, TaskState};
use crate::id::{MemberName, Revision, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All tasks of a team. Deleted ones stay as tombstones, so that their ids stay taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskBoard {
    tasks: BTreeMap<u64, Arc<Task>>,
    live: usize,
}

/// Says why a snapshot cannot follow the board it meets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardContradiction {
    /// A new task is not the next one.
    #[error("task {task} is new but {expected} is the next")]
    NotNext {
        /// The snapshot's.
        task: TaskId,
        /// What it had to be.
        expected: TaskId,
    },
    /// A change skips or repeats a revision.
    #[error("task {task} goes from revision {from} to {to}")]
    RevisionSkipped {
        /// Which.
        task: TaskId,
        /// What it was.
        from: Revision,
        /// What the snapshot says.
        to: Revision,
    },
    /// A deleted task changes.
    #[error("task {task} is deleted and changes")]
    ChangedAfterDeletion {
        /// Which.
        task: TaskId,
    },
    /// A blocker is unknown.
    #[error("task {task} is blocked by {blocker}, which does not exist")]
    UnknownBlocker {
        /// Which.
        task: TaskId,
        /// What it names.
        blocker: TaskId,
    },
}

impl TaskBoard {
    /// Takes the next snapshot of a task.
    ///
    /// # Errors
    /// [`BoardContradiction`] when it cannot follow what is here.
    pub fn apply(&mut self, task: Arc<Task>) -> Result<(), BoardContradiction> {
        let unknown = task
            .blocked_by
            .iter()
            .find(|blocker| **blocker == task.id || !self.tasks.contains_key(&blocker.number()));
        if let (Some(blocker), false) = (unknown, task.state == TaskState::Deleted) {
            let (task, blocker) = (task.id.clone(), blocker.clone());
            return Err(BoardContradiction::UnknownBlocker { task, blocker });
        }
        match self.tasks.get(&task.id.number()) {
            None => self.check_next(&task)?,
            Some(was) if was.state == TaskState::Deleted => {
                return Err(BoardContradiction::ChangedAfterDeletion { task: task.id.clone() });
            }
            Some(was) if task.revision != was.revision.next() => {
                let (from, to) = (was.revision, task.revision);
                let task = task.id.clone();
                return Err(BoardContradiction::RevisionSkipped { task, from, to });
            }
            Some(_) => {}
        }
        if task.revision == Revision(1) {
            self.live += 1;
        }
        if task.state == TaskState::Deleted {
            self.live -= 1;
        }
        self.tasks.insert(task.id.number(), task);
        Ok(())
    }

    fn check_next(&self, task: &Task) -> Result<(), BoardContradiction> {
        let expected = self.next_id();
        if task.id != expected {
            return Err(BoardContradiction::NotNext { task: task.id.clone(), expected });
        }
        if task.revision != Revision(1) {
            let (task, from, to) = (task.id.clone(), Revision(0), task.revision);
            return Err(BoardContradiction::RevisionSkipped { task, from, to });
        }
        Ok(())
    }

    /// The id of the next task.
    #[must_use]
    pub fn next_id(&self) -> TaskId {
        TaskId::nth(self.tasks.len() as u64 + 1)
    }

    /// A task, deleted ones included.
    #[must_use]
    pub fn get(&self, id: &TaskId) -> Option<&Arc<Task>> {
        self.tasks.get(&id.number())
    }

    /// All tasks in created order, deleted ones included.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.tasks.values()
    }

    /// The tasks that are not deleted, in created order.
    pub fn live(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.iter().filter(|task| task.state != TaskState::Deleted)
    }

    /// How many tasks are not deleted.
    #[must_use]
    pub fn live_len(&self) -> usize {
        self.live
    }

    /// The blockers of a task that are not completed.
    #[must_use]
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        let open = |blocker: &&TaskId| {
            let state = self.get(blocker).map(|task| &task.state);
            !matches!(state, Some(TaskState::Completed { .. } | TaskState::Deleted))
        };
        task.blocked_by.iter().filter(open).cloned().collect()
    }

    /// Says whether a task can be claimed: nobody has it, and its blockers are completed.
    #[must_use]
    pub fn is_ready(&self, task: &Task) -> bool {
        task.state == TaskState::Open && self.open_blockers(task).is_empty()
    }

    /// One page of the live tasks that fit a filter, and where the next page begins.
    #[must_use]
    pub fn page(&self, filter: &TaskFilter) -> (Vec<Arc<Task>>, Option<TaskId>) {
        let fits = |task: &&Arc<Task>| {
            filter.after.as_ref().is_none_or(|after| task.id.number() > after.number())
                && filter.status.is_none_or(|status| status == task.state.status())
                && filter.owner.as_ref().is_none_or(|owner| task.state.owner() == Some(owner))
                && filter.ready.is_none_or(|ready| ready == self.is_ready(task))
        };
        let mut page: Vec<Arc<Task>> =
            self.live().filter(fits).take(filter.limit + 1).cloned().collect();
        let more = page.len() > filter.limit;
        page.truncate(filter.limit);
        let next = if more { page.last().map(|task| task.id.clone()) } else { None };
        (page, next)
    }
}

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only those with this status.
    pub status: Option<TaskStatus>,
    /// Only those that this member has or had.
    pub owner: Option<MemberName>,
    /// Only those that can, or cannot, be claimed.
    pub ready: Option<bool>,
    /// Only those created after this one.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: usize,
}

/// A task's state without its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// Nobody has it.
    Open,
    /// Somebody works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It is a tombstone.
    Deleted,
}

impl TaskState {
    /// The state without its owner.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Open => TaskStatus::Open,
            Self::InProgress { .. } => TaskStatus::InProgress,
            Self::Completed { .. } => TaskStatus::Completed,
            Self::Deleted => TaskStatus::Deleted,
        }
    }

    /// Who has it, or had it when it was completed.
    #[must_use]
    pub fn owner(&self) -> Option<&MemberName> {
        match self {
            Self::InProgress { owner } => Some(owner),
            Self::Completed { owner } => owner.as_ref(),
            Self::Open | Self::Deleted => None,
        }
    }
}

impl TaskStatus {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }
}
