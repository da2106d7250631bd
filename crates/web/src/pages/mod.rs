//! What is seen: one file for each thing. Each gives the page at first, and the regions of it that
//! change.

mod compose;
mod frame;
mod icon;
mod mail;
mod questions;
mod roster;
mod sessions;
mod step;
mod tasks;
mod team;
mod tool;
mod transcript;

pub use mail::{MAIL_PAGE, mail_page, message_page};
pub use sessions::{SessionRow, SessionState, sessions_page, sessions_regions};
pub use step::Amount;
pub use team::{Presence, team_page, team_regions};
pub use transcript::{
    Conversation, GROUPS, step_item, step_page, transcript_page, transcript_regions,
};

pub use frame::problem_page;
