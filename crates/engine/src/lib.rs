//! Making a team happen, in order: it performs what `longboat-core` decides, after it is durable.
//!
//! [`Teams`] opens and closes teams; a [`TeamHandle`] is what others hold of one. Inside, one task
//! owns a team's logs and decides every change ([`team`]), and one driver per resident session asks
//! it what to do next ([`agent`]).

mod agent;
mod load;
mod log_writer;
mod notice;
mod ports;
mod settings;
mod supervise;
mod team;
mod teams;
mod tools;

pub use load::{LoadError, decode_stored, load_lead, load_session, read_log};
pub use log_writer::WriteError;
pub use notice::{Delta, Follower, Notice, Position, Since};
pub use ports::{
    Clock, Effect, GivenWorktree, Ids, ModelMissing, Models, NoWorktrees, Tool, ToolScope, Toolbox,
    WantedWorktree, WorktreeRefused, Worktrees, describe_tool, parse_arguments,
};
pub use settings::{Budget, Isolation, Role, Settings};
pub use supervise::Supervisor;
pub use team::{
    Acceptance, AnswerRefused, CallError, Interrupted, MemberHandle, MemberView, OpenQuestion,
    RunEnd, Status, TaskChanged, TeamFault, TeamHandle, TeamView,
};
pub use teams::{Ports, TeamError, Teams};
