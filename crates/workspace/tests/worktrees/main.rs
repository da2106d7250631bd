//! Git worktrees for members, by a real git in real repositories.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic, in what it sets up with too"
)]

mod crash;
mod given;
mod gone;
mod refused;
mod repository;
mod roles;
mod team;
