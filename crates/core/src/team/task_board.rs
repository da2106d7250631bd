//! The board: every task as it is now, folded from whole snapshots. The team's fold calls it for what
//! is decided and for what is read back alike; it never decides.

use super::task::{Task, TaskState};
use super::task_graph::cycle;
use crate::id::{MemberName, Revision, TaskId};
use crate::limits::TASK_PAGE;
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
    /// A new task is not open.
    #[error("task {task} is new and not open")]
    NewNotOpen {
        /// Which.
        task: TaskId,
    },
    /// A task changes its creator.
    #[error("task {task} was created by {from} and now by {to}")]
    CreatorChanged {
        /// Which.
        task: TaskId,
        /// Who it was.
        from: MemberName,
        /// Who the snapshot says it was.
        to: MemberName,
    },
    /// A task is deleted while another rests on it.
    #[error("task {task} is deleted and {dependent} rests on it")]
    DependentLeft {
        /// Which.
        task: TaskId,
        /// What rests on it.
        dependent: TaskId,
    },
    /// The dependencies form a cycle.
    #[error("task {task} is in a cycle of dependencies")]
    Cycle {
        /// Which.
        task: TaskId,
    },
    /// A blocker is unknown or deleted.
    #[error("task {task} is blocked by {blocker}, which is not a live task")]
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
        let was = self.tasks.get(&task.id.number());
        match was {
            None => self.check_new(&task)?,
            Some(was) => check_change(was, &task)?,
        }
        if task.state == TaskState::Deleted {
            self.check_nothing_rests_on(&task)?;
        } else if was.is_none_or(|was| was.blocked_by != task.blocked_by) {
            self.check_blockers(&task)?;
        }
        if was.is_none() {
            self.live += 1;
        }
        if task.state == TaskState::Deleted {
            self.live -= 1;
        }
        self.tasks.insert(task.id.number(), task);
        Ok(())
    }

    fn check_new(&self, task: &Task) -> Result<(), BoardContradiction> {
        let expected = self.next_id();
        if task.id != expected {
            return Err(BoardContradiction::NotNext { task: task.id.clone(), expected });
        }
        if task.revision != Revision(1) {
            let (task, from, to) = (task.id.clone(), Revision(0), task.revision);
            return Err(BoardContradiction::RevisionSkipped { task, from, to });
        }
        if task.state != TaskState::Open {
            return Err(BoardContradiction::NewNotOpen { task: task.id.clone() });
        }
        Ok(())
    }

    fn check_blockers(&self, task: &Task) -> Result<(), BoardContradiction> {
        let dead = |blocker: &&TaskId| **blocker != task.id && !self.is_live(blocker);
        if let Some(blocker) = task.blocked_by.iter().find(dead) {
            let (task, blocker) = (task.id.clone(), blocker.clone());
            return Err(BoardContradiction::UnknownBlocker { task, blocker });
        }
        if cycle(self, &task.id, &task.blocked_by).is_some() {
            return Err(BoardContradiction::Cycle { task: task.id.clone() });
        }
        Ok(())
    }

    fn check_nothing_rests_on(&self, task: &Task) -> Result<(), BoardContradiction> {
        match self.dependents(&task.id).next() {
            None => Ok(()),
            Some(dependent) => {
                let (task, dependent) = (task.id.clone(), dependent.id.clone());
                Err(BoardContradiction::DependentLeft { task, dependent })
            }
        }
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

    /// Says whether there is such a task and it is not deleted.
    #[must_use]
    pub fn is_live(&self, id: &TaskId) -> bool {
        self.get(id).is_some_and(|task| task.state != TaskState::Deleted)
    }

    /// The live tasks that name this one as a blocker, in created order.
    pub fn dependents(&self, id: &TaskId) -> impl Iterator<Item = &Arc<Task>> {
        self.live().filter(move |task| task.blocked_by.contains(id))
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
        let limit = filter.limit.clamp(1, TASK_PAGE);
        let mut page: Vec<Arc<Task>> = self.live().filter(fits).take(limit + 1).cloned().collect();
        let more = page.len() > limit;
        page.truncate(limit);
        let next = if more { page.last().map(|task| task.id.clone()) } else { None };
        (page, next)
    }
}

/// Checks that a snapshot can follow the one before.
fn check_change(was: &Task, task: &Task) -> Result<(), BoardContradiction> {
    let id = task.id.clone();
    if was.state == TaskState::Deleted {
        return Err(BoardContradiction::ChangedAfterDeletion { task: id });
    }
    if task.revision != was.revision.next() {
        let (from, to) = (was.revision, task.revision);
        return Err(BoardContradiction::RevisionSkipped { task: id, from, to });
    }
    if task.created_by != was.created_by {
        let (from, to) = (was.created_by.clone(), task.created_by.clone());
        return Err(BoardContradiction::CreatorChanged { task: id, from, to });
    }
    Ok(())
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
    /// At most so many: 1 to [`TASK_PAGE`]; what is outside counts as the nearest of these.
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
