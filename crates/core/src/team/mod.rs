//! What the Lead's log says about the team: the roster, the mailbox and the task board.

mod framing;
mod mailbox;
mod roster;
mod state;
mod task;
mod task_board;
mod task_graph;
mod task_refused;
mod task_scopes;

pub use framing::{frame, framed};
pub use mailbox::{Mailbox, OwedMessage, SendRefused, decide_send};
pub use roster::{
    Activity, EndedTurn, InterruptRefused, Member, Roster, SpawnRefused, Standing,
    decide_interrupt, decide_spawn,
};
pub use state::TeamState;
pub use task::{Decided, Task, TaskAction, TaskCommand, TaskState, decide_task};
pub use task_board::{BoardContradiction, TaskBoard, TaskFilter, TaskStatus};
pub use task_refused::{TaskRefused, TaskWarning};
