//! Why the board does not change, and what one should know when it does.

use crate::id::{MemberName, Revision, TaskId};

/// Something that does not stand in the way but should be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskWarning {
    /// The caller took it from its owner.
    #[error("{owner} had it and is not told of this; tell {owner}")]
    TakenFrom {
        /// Who had it.
        owner: MemberName,
    },
    /// Two tasks in progress mean to write the same paths.
    #[error(
        "{scope:?} overlaps with {other_scope:?} of {other}, which {owner} works on; agree with {owner} before you write there"
    )]
    ScopesOverlap {
        /// This task's scope.
        scope: String,
        /// The other task.
        other: TaskId,
        /// Its scope.
        other_scope: String,
        /// Who works on it.
        owner: MemberName,
    },
    /// Somebody works on what rests on this.
    #[error("{dependent} rests on this and {owner} works on it; tell {owner}")]
    DependentInProgress {
        /// The task that rests on this.
        dependent: TaskId,
        /// Who works on it.
        owner: MemberName,
    },
    /// There are more than are shown.
    #[error(
        "{count} more tasks in progress rest on this or overlap with it; team_task_list with status in_progress shows them"
    )]
    More {
        /// How many are left out.
        count: usize,
    },
}

/// Says why the board does not change. Nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskRefused {
    /// There is no such task.
    #[error("there is no task {task}; team_task_list shows what there is")]
    UnknownTask {
        /// What was asked for.
        task: TaskId,
    },
    /// The task is a tombstone.
    #[error("{task} was deleted; create a new task instead")]
    Deleted {
        /// Which.
        task: TaskId,
    },
    /// The caller saw an older state.
    #[error(
        "{task} is at revision {current} now, not {expected}; look at it again and decide anew"
    )]
    StaleRevision {
        /// Which.
        task: TaskId,
        /// What the caller saw.
        expected: Revision,
        /// What it is.
        current: Revision,
    },
    /// The task has an owner.
    #[error(
        "{owner} has {task}; only {owner} or lead can change it: send them a message if it must change"
    )]
    OwnedByOther {
        /// Which.
        task: TaskId,
        /// Who has it.
        owner: MemberName,
    },
    /// Nobody has it, and the caller did not create it.
    #[error("nobody has {task}: claim it first, or ask {creator}, who created it, or lead")]
    NotYours {
        /// Which.
        task: TaskId,
        /// Who created it.
        creator: MemberName,
    },
    /// Only the Lead may do this.
    #[error("only lead assigns tasks to others; claim a ready one for yourself")]
    NotLead,
    /// The state does not allow it.
    #[error("{task} is {status} and cannot be changed like that; {hint}")]
    WrongState {
        /// Which.
        task: TaskId,
        /// What it is.
        status: &'static str,
        /// What would do.
        hint: &'static str,
    },
    /// Its blockers are not completed.
    #[error("{task} is not ready: it is blocked by {}, which must be completed first; team_task_list with ready true shows what can be done now", list(.blockers))]
    NotReady {
        /// Which.
        task: TaskId,
        /// What is not completed.
        blockers: Vec<TaskId>,
    },
    /// A blocker does not exist or is deleted.
    #[error(
        "{blocker} cannot block a task: there is no such live task; team_task_list shows those there are"
    )]
    UnknownBlocker {
        /// What was named.
        blocker: TaskId,
    },
    /// The dependencies would form a cycle.
    #[error("that would be a cycle, each blocked by the next: {}; leave one of them out", chain(.cycle))]
    Cycle {
        /// The tasks of the cycle, the first again at the end.
        cycle: Vec<TaskId>,
    },
    /// Others rest on it.
    #[error("{task} cannot be deleted while others rest on it: {}; delete those first, or change their dependencies", list(.dependents))]
    HasDependents {
        /// Which.
        task: TaskId,
        /// What rests on it.
        dependents: Vec<TaskId>,
    },
    /// There is no such member.
    #[error("{member} is not a member who can have tasks; list_agents shows the members")]
    UnknownMember {
        /// Who was named.
        member: MemberName,
    },
    /// The board is full.
    #[error(
        "the board has {current} live tasks and the limit (live_tasks) is {limit}; delete some that are done, or ask lead to"
    )]
    BoardFull {
        /// How many there are.
        current: usize,
        /// The limit.
        limit: usize,
    },
    /// A text is empty or too long.
    #[error(
        "{field} has {bytes} bytes and the limit is {limit}; send it again with {least} to {limit}"
    )]
    TextLength {
        /// Which argument.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// The least it must have.
        least: usize,
        /// The most it may have.
        limit: usize,
    },
    /// A text that is shown on one line is not one.
    #[error("{field} must be one line without control characters; send it again as such")]
    NotOneLine {
        /// Which argument.
        field: &'static str,
    },
    /// Too many blockers or scopes.
    #[error("{field} names {count} and the limit is {limit}; name fewer, or split the task")]
    TooMany {
        /// Which argument.
        field: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

fn list(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

fn chain(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → ")
}

impl TaskRefused {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTask { .. } => "unknown_task",
            Self::Deleted { .. } => "task_deleted",
            Self::StaleRevision { .. } => "stale_revision",
            Self::OwnedByOther { .. } => "owned_by_other",
            Self::NotYours { .. } => "not_yours",
            Self::NotLead => "not_lead",
            Self::WrongState { .. } => "wrong_state",
            Self::NotReady { .. } => "not_ready",
            Self::UnknownBlocker { .. } => "unknown_blocker",
            Self::Cycle { .. } => "dependency_cycle",
            Self::HasDependents { .. } => "has_dependents",
            Self::UnknownMember { .. } => "unknown_member",
            Self::BoardFull { .. } => "board_full",
            Self::TextLength { .. } => "text_length",
            Self::NotOneLine { .. } => "not_one_line",
            Self::TooMany { .. } => "too_many",
        }
    }
}
