//! What the Lead's log says about the team: the roster, the mailbox and the task board.

mod framing;
mod mailbox;
mod roster;
mod state;
mod task;

pub use framing::{frame, framed};
pub use mailbox::{Mailbox, OwedMessage, SendRefused, decide_send};
pub use roster::{Activity, EndedTurn, Member, Roster, SpawnRefused, Standing, decide_spawn};
pub use state::TeamState;
pub use task::{Task, TaskBoard, TaskState};
