//! The team in motion: one task owns a team's logs and decides everything that happens to it.

mod actor;
mod budget;
mod compaction;
mod cut_off;
mod handle;
mod input;
mod isolation;
mod mailbox;
mod outage;
mod permission;
mod policy;
mod repeats;
mod residency;
mod roster;
mod task;
mod view;
mod watch;

pub(crate) use actor::{Effect, TeamActor};
pub(crate) use handle::{By, Caller};
pub use handle::{CallError, MemberHandle, TeamFault, TeamHandle};
pub use input::{Acceptance, Interrupted, RunEnd, TaskChanged};
pub(crate) use input::{Begun, Order, Report, SpawnRequest, Summary};
pub use permission::AnswerRefused;
pub(crate) use policy::lead as lead_system;
pub(crate) use residency::runnable;
pub(crate) use roster::completed_turns;
pub use view::{MemberView, OpenQuestion, Status, TeamView};
pub(crate) use watch::WaitEnd;
