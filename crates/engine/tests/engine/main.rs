//! The engine's promises, through its public surface: real files, real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod compaction;
mod delivery;
mod people;
mod permissions;
mod recovery;
mod roster;
mod simulation;
mod subagents;
mod tools;
mod turns;
mod waits;
