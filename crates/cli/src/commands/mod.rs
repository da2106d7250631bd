//! One file a command.

pub(crate) mod answer;
mod asking;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod fork;
pub(crate) mod interrupt;
pub(crate) mod look;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod scripted_model;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod tasks;
pub(crate) mod watch;
