//! Runs of the real binary against the scripted model: what it prints, what it ends with, and that
//! it goes on after anything.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod kills;
mod mcp;
mod permissions;
mod place;
mod refusals;
mod runs;
mod serve;
mod stops;
mod worktrees;
