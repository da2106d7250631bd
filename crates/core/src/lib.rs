//! The rules of a team of agents, as pure values and functions.
//!
//! Everything here is computed from its arguments: there is no runtime, no clock, no file and no
//! randomness. A decision takes a state and a command and returns events; a fold takes a state and a
//! record and returns the next state. The engine performs what is decided here, after it is durable.
//!
//! Reading order: [`id`] and [`content`] are the words, [`log`] is what a session remembers,
//! [`session`] is one agent's conversation, [`team`] is what the Lead's log says about the team.

pub mod content;
pub mod id;
pub mod limits;
pub mod log;
pub mod permission;
pub mod price;
pub mod session;
pub mod time;

pub mod team;
