//! The rules, as a specification: one test binary, one module per noun.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod mailbox;
mod price;
mod roster;
mod session;
mod task;
