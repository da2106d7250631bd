//! Looking back: what logs say, as text for people and as JSON for programs. The commands that only
//! read call it, and the end of a demo. It writes to no store and prints nothing itself.

mod export;
mod json;
mod log;
mod mailbox;
mod members;
mod page;
mod plain;
mod sessions;
mod tasks;
mod team;
mod transcript;
mod when;

pub(crate) use export::export_session;
pub(crate) use json::json_line;
pub(crate) use log::{
    LookError, TeamLogs, find_session, lead_and_model, read_roster, read_team, sessions_of_team,
};
pub(crate) use mailbox::MessageState;
pub(crate) use members::LoggedStatus;
pub(crate) use page::Page;
pub(crate) use plain::{one_line, plain};
pub(crate) use sessions::list_sessions;
pub(crate) use tasks::{board, write as write_board};
pub(crate) use team::TeamStory;
pub(crate) use transcript::{Detail, Transcript};

#[cfg(test)]
mod tests;
