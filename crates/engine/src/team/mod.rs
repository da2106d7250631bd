//! The team in motion: one task owns a team's logs and decides everything that happens to it.

mod actor;
mod handle;
mod input;
mod mailbox;
mod policy;
mod residency;
mod roster;
mod task;
mod view;
mod watch;

pub(crate) use actor::{Effect, TeamActor};
pub(crate) use handle::Caller;
pub use handle::{CallError, TeamFault, TeamHandle};
pub(crate) use input::{Acceptance, Order, Report, SpawnRequest, TaskChanged};
pub use input::{Interrupted, RunEnd};
pub(crate) use policy::lead as lead_system;
pub(crate) use residency::runnable;
pub(crate) use roster::completed_turns;
pub use view::{MemberView, Status, TeamView};
pub(crate) use watch::WaitEnd;
