//! What the Lead's log says about the team: the roster, the mailbox and the task board.

mod task;

pub use task::{Task, TaskState};
