//! One file a command.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod fork;
pub(crate) mod look;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod scripted_model;
pub(crate) mod sessions;
pub(crate) mod show;
