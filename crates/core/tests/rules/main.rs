//! The rules, as a specification: one test binary, one module per noun.

mod mailbox;
mod roster;
mod session;
mod task;
